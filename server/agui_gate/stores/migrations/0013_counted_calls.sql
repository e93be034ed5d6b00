-- Calls that were claimed lately, for rules that ask for sums: whose (an owner's, a person's, a tenant's), and the
-- arguments that are numbers (JSON). They stay when their threads are deleted.
CREATE TABLE counted_calls (
    tenant TEXT NOT NULL DEFAULT '',
    whose TEXT NOT NULL,
    place TEXT NOT NULL,
    tool TEXT NOT NULL,
    at INTEGER NOT NULL,
    approval_id TEXT NOT NULL,
    numbers TEXT NOT NULL,
    PRIMARY KEY (tenant, whose, place, tool, at, approval_id)
) WITHOUT ROWID;
CREATE INDEX counted_calls_old ON counted_calls (tenant, at);
