-- Requests to models: whose, of which agent and model, what came of them, their tokens and what they cost (billionths of
-- a dollar). NULL: nobody said. They stay when their threads are deleted.
CREATE TABLE model_requests (
    tenant TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    of_tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    principal TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    run_key TEXT NOT NULL,
    agent TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    at INTEGER NOT NULL,
    first_ms INTEGER,
    ms INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    input INTEGER,
    output INTEGER,
    cached_input INTEGER,
    cache_write_input INTEGER,
    reasoning INTEGER,
    cost INTEGER,
    priced TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
CREATE INDEX model_requests_of_thread ON model_requests (tenant, thread_id, at, id);
CREATE INDEX model_requests_of_owner ON model_requests (tenant, owner, at, id);
CREATE INDEX model_requests_of_tenant ON model_requests (tenant, of_tenant, at, id);
-- The same, added up by day (UTC, since 1970).
CREATE TABLE usage_days (
    tenant TEXT NOT NULL DEFAULT '',
    of_tenant TEXT NOT NULL,
    day INTEGER NOT NULL,
    owner TEXT NOT NULL,
    principal TEXT NOT NULL,
    agent TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    requests INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    unpriced INTEGER NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cached_input INTEGER NOT NULL,
    cache_write_input INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    PRIMARY KEY (tenant, of_tenant, day, owner, principal, agent, provider, model)
) WITHOUT ROWID;
CREATE INDEX usage_days_of_owner ON usage_days (tenant, owner, day, principal, agent, provider, model);
-- What was spent of a budget, and is reserved: tokens, and billionths of a dollar. The id says of which, and the day.
CREATE TABLE budgets (
    tenant TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
