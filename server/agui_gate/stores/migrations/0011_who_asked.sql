-- Who asked, where that is known to be another one than the owner of the thread: JSON.
ALTER TABLE approvals ADD COLUMN asker TEXT;
