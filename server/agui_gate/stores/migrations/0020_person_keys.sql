-- The keys by which reasons in the trail are encrypted, one of each person of a tenant (stores/sql/reasons.py). Erasing
-- a person removes the row. id: by what an event names it, which says nothing of the person. key: 64 hexadecimal digits.
CREATE TABLE person_keys (
    tenant TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    of_tenant TEXT NOT NULL,
    person TEXT NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX person_keys_of_person ON person_keys (tenant, of_tenant, person);
-- What vouches for an event in which names were replaced since (core/audit.py); '' for all others.
ALTER TABLE approval_events ADD COLUMN erased TEXT NOT NULL DEFAULT '';
