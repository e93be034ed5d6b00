-- An approval is for one tool, as it was; and it stays when the answer that it belongs to is replaced.

ALTER TABLE approvals ADD COLUMN source TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN schema_digest TEXT;
ALTER TABLE approvals ADD COLUMN replaced INTEGER NOT NULL DEFAULT 0;

-- How many bytes are kept of a thread: journal, state, and what was asked and came of it. So a thread that is too large
-- is known without reading it.
ALTER TABLE threads ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;

UPDATE threads SET bytes = coalesce(length(CAST(state AS BLOB)), 0)
    + coalesce((SELECT sum(length(body)) FROM journal WHERE thread = threads.key), 0)
    + coalesce((SELECT sum(length(CAST(arguments AS BLOB)) + coalesce(length(CAST(output AS BLOB)), 0))
        FROM approvals WHERE thread = threads.key), 0);
-- For the lists of what was decided, newest first (what waits has an index of its own).
CREATE INDEX approvals_of ON approvals (principal, seq);
