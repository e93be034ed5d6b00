-- An approval is for one tool, as it was; and it stays when the answer that it belongs to is replaced.

ALTER TABLE approvals ADD COLUMN source TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN schema_digest TEXT;
ALTER TABLE approvals ADD COLUMN replaced INTEGER NOT NULL DEFAULT 0;

-- How many bytes are kept of a thread: journal, state, and what was asked and came of it. So a thread that is too large
-- is known without reading it.
ALTER TABLE threads ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;

UPDATE threads SET bytes = coalesce(length(CAST(state AS BLOB)), 0)
    + coalesce((SELECT sum(length(body)) FROM journal WHERE thread = threads.key), 0)
    + coalesce((SELECT sum(length(CAST(arguments AS BLOB)) + coalesce(length(CAST(output AS BLOB)), 0)
        + coalesce(length(CAST(decision AS BLOB)), 0))
        FROM approvals WHERE thread = threads.key), 0);
-- For the lists of what was decided, newest first (what waits has an index of its own).
CREATE INDEX approvals_decided ON approvals (principal, seq) WHERE state <> 'pending';

-- What somebody, who may be in another process, asks of the run that holds the lease (JSON of a StopRequest).
ALTER TABLE threads ADD COLUMN stop TEXT;

-- What outlives its thread: that a call was decided, or that it ran, by whom and when. Nothing that was said is in it:
-- of the arguments and the result there is a digest (SHA-256, in hexadecimal digits).
CREATE TABLE tombstones (
    id TEXT PRIMARY KEY,
    principal TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    tool TEXT NOT NULL,
    source TEXT NOT NULL,
    state TEXT NOT NULL,
    arguments_digest TEXT NOT NULL,
    output_digest TEXT,
    approved INTEGER,
    decided_by TEXT,
    way TEXT,
    asked_at INTEGER NOT NULL,
    decided_at INTEGER,
    deleted_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX tombstones_by_thread ON tombstones (principal, deleted_at);

-- What the store's clock is ahead of the clock that counts from the start of the machine (stores/clock.py), and when it
-- was read last.
CREATE TABLE clock (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    boot TEXT NOT NULL,
    ahead INTEGER NOT NULL,
    seen INTEGER NOT NULL
);

-- The processes that have this file open.
CREATE TABLE processes (
    owner TEXT PRIMARY KEY,
    started_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Leases go by that clock from now on. Those that were given by the wall clock are over: nobody runs an older version
-- on a file that a newer one has opened.
UPDATE threads SET lease_until = 0;
