-- An approval is for one tool, as it was; and it stays when the answer that it belongs to is replaced.

ALTER TABLE approvals ADD COLUMN source TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN schema_digest TEXT;
ALTER TABLE approvals ADD COLUMN replaced INTEGER NOT NULL DEFAULT 0;
