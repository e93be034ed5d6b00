-- The client's id of the run in which a call was made: what its tool is told, whichever way it is approved.
ALTER TABLE approvals ADD COLUMN run_id TEXT NOT NULL DEFAULT '';
