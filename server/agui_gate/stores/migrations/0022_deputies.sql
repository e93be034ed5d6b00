-- Who decides in the place of whom: principals' ids in a tenant, from when until when, and all of it as JSON. Who claims
-- a call as a deputy locks the row.
CREATE TABLE deputies (
    tenant TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    of_tenant TEXT NOT NULL,
    absent TEXT NOT NULL,
    deputy TEXT NOT NULL,
    since INTEGER NOT NULL,
    until INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
CREATE INDEX deputies_of_tenant ON deputies (tenant, of_tenant, until);
CREATE INDEX deputies_of_absent ON deputies (tenant, of_tenant, absent, until);
CREATE INDEX deputies_of_deputy ON deputies (tenant, of_tenant, deputy, until);
CREATE INDEX deputies_old ON deputies (tenant, until);
-- What was decided in an emergency, for who is told of it.
CREATE INDEX approval_events_emergencies ON approval_events (tenant, at) WHERE kind = 'break_glass';
-- Who has to agree to what waits, for who follows it: by owner.
CREATE INDEX approvals_people ON approvals (tenant, principal, seq) WHERE state = 'pending' AND people IS NOT NULL;
