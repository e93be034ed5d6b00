-- Who decides in the place of whom: principals' ids in a tenant, from when until when, and all of it as JSON. Who claims
-- a call as a deputy locks the row.
CREATE TABLE deputies (
    tenant text NOT NULL DEFAULT '',
    id text NOT NULL,
    of_tenant text NOT NULL,
    absent text NOT NULL,
    deputy text NOT NULL,
    since bigint NOT NULL,
    until bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX deputies_of_tenant ON deputies (tenant, of_tenant, until);
CREATE INDEX deputies_of_absent ON deputies (tenant, of_tenant, absent, until);
CREATE INDEX deputies_of_deputy ON deputies (tenant, of_tenant, deputy, until);
CREATE INDEX deputies_old ON deputies (tenant, until);
-- What was decided in an emergency, for who is told of it.
CREATE INDEX approval_events_emergencies ON approval_events (tenant, at) WHERE kind = 'break_glass';
-- Who has to agree to what waits, for who follows it: by owner.
CREATE INDEX approvals_people ON approvals (tenant, principal, seq) WHERE state = 'pending' AND people IS NOT NULL;
