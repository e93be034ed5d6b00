-- Calls that were claimed lately, for rules that ask for sums: whose (an owner's, a person's, a tenant's), and the
-- arguments that are numbers (JSON). They stay when their threads are deleted.
CREATE TABLE counted_calls (
    tenant text NOT NULL DEFAULT '',
    whose text NOT NULL,
    place text NOT NULL,
    tool text NOT NULL,
    at bigint NOT NULL,
    approval_id text NOT NULL,
    numbers text NOT NULL,
    PRIMARY KEY (tenant, whose, place, tool, at, approval_id)
);
CREATE INDEX counted_calls_old ON counted_calls (tenant, at);
