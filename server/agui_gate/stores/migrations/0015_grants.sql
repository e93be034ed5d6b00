-- Standing grants: what people said yes to beforehand. Whose calls, who gave it (keys, with the tenant), until when, and
-- all of it as JSON. Who claims a call by one locks its row.
CREATE TABLE grants (
    tenant TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    of_tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    giver TEXT NOT NULL,
    until INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
CREATE INDEX grants_of_owner ON grants (tenant, owner, until);
CREATE INDEX grants_of_giver ON grants (tenant, giver, until);
CREATE INDEX grants_of_tenant ON grants (tenant, of_tenant, until);
CREATE INDEX grants_old ON grants (tenant, until);
