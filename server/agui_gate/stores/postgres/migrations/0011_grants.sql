-- Standing grants: what people said yes to beforehand. Whose calls, who gave it (keys, with the tenant), until when, and
-- all of it as JSON. Who claims a call by one locks its row.
CREATE TABLE grants (
    tenant text NOT NULL DEFAULT '',
    id text NOT NULL,
    of_tenant text NOT NULL,
    owner text NOT NULL,
    giver text NOT NULL,
    until bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX grants_of_owner ON grants (tenant, owner, until);
CREATE INDEX grants_of_giver ON grants (tenant, giver, until);
CREATE INDEX grants_of_tenant ON grants (tenant, of_tenant, until);
CREATE INDEX grants_old ON grants (tenant, until);
