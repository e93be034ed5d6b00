-- Threads can be put away, and are listed newest first.

ALTER TABLE threads ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;

CREATE INDEX threads_listed ON threads (principal, archived, updated_at);

-- For counting what waits in each thread of a list, however many calls were decided before.
CREATE INDEX approvals_waiting ON approvals (thread) WHERE state = 'pending';
