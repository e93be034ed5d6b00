-- A list of one agent's threads, newest first.
CREATE INDEX threads_by_agent ON threads (tenant, principal, agent, archived, updated_at, key);
-- Whether something of a principal is overdue, also while much of others is.
CREATE INDEX approvals_overdue ON approvals (tenant, principal, expires_at)
    WHERE state = 'pending' AND expires_at IS NOT NULL;
-- How much waits in a thread, and what of that is overdue.
DROP INDEX approvals_waiting;
CREATE INDEX approvals_waiting ON approvals (tenant, thread, expires_at) WHERE state = 'pending';
-- When the trail began.
CREATE INDEX approval_events_by_age ON approval_events (tenant, at);
-- What is left of one thread.
CREATE INDEX tombstones_by_name ON tombstones (tenant, principal, thread_id, deleted_at);
-- In the order of chains.
DROP INDEX approval_events_by_thread;
CREATE INDEX approval_events_by_thread ON approval_events (tenant, principal, thread_id, thread, seq);
-- Kinds of notices, and whether somebody reads them. One that is not here is written.
CREATE TABLE outbox_kinds (
    tenant text NOT NULL DEFAULT '',
    kind text NOT NULL,
    wanted smallint NOT NULL,
    PRIMARY KEY (tenant, kind)
);
-- Where there are threads, a process of the version before may read them.
INSERT INTO outbox_kinds (tenant, kind, wanted)
    SELECT '', 'run_ended', 1 WHERE EXISTS (SELECT 1 FROM threads);
