-- What is frozen: gated calls of a tool, an agent or a tenant (NULL: of all). Who claims one reads this first.
CREATE TABLE freezes (
    tenant text NOT NULL DEFAULT '',
    id text NOT NULL,
    tool text,
    agent text,
    of_tenant text,
    reason text NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (tenant, id)
);
