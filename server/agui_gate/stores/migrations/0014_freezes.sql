-- What is frozen: gated calls of a tool, an agent or a tenant (NULL: of all). Who claims one reads this first.
CREATE TABLE freezes (
    tenant TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    tool TEXT,
    agent TEXT,
    of_tenant TEXT,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
