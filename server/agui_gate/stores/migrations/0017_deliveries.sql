-- Notices that are to be delivered to an endpoint, until they were; with dead = 1, those that could not be. The rows of
-- an approval are due in their order: none before the one that was added before it.
CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL DEFAULT '',
    endpoint TEXT NOT NULL,
    notice TEXT NOT NULL,
    approval TEXT NOT NULL,
    body TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    gives_up_at INTEGER NOT NULL,
    dead INTEGER NOT NULL DEFAULT 0,
    error TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX deliveries_once ON deliveries (tenant, endpoint, notice);
CREATE INDEX deliveries_due ON deliveries (tenant, endpoint, dead, due_at, id);
CREATE INDEX deliveries_of_approval ON deliveries (tenant, approval, endpoint, dead, due_at);
CREATE INDEX deliveries_dead ON deliveries (tenant, id) WHERE dead = 1;
CREATE INDEX deliveries_old ON deliveries (tenant, gives_up_at);

-- Who delivers to an endpoint just now, and until when it is left alone with that.
CREATE TABLE delivery_workers (
    tenant TEXT NOT NULL DEFAULT '',
    endpoint TEXT NOT NULL,
    worker TEXT NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (tenant, endpoint)
) WITHOUT ROWID;

-- What is to happen to a call that waits, and when: reminders and escalations; and which orphans were told.
CREATE TABLE approval_steps (
    tenant TEXT NOT NULL DEFAULT '',
    approval TEXT NOT NULL,
    kind TEXT NOT NULL,
    after INTEGER NOT NULL,
    who TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, approval, kind, after)
) WITHOUT ROWID;
CREATE INDEX approval_steps_due ON approval_steps (tenant, due_at, approval);
