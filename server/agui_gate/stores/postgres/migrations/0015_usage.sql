-- Requests to models: whose, of which agent and model, what came of them, their tokens and what they cost (billionths of
-- a dollar). NULL: nobody said. They stay when their threads are deleted.
CREATE TABLE model_requests (
    tenant text NOT NULL DEFAULT '',
    id text NOT NULL,
    of_tenant text NOT NULL,
    owner text NOT NULL,
    principal text NOT NULL,
    thread_id text NOT NULL,
    run_key text NOT NULL,
    agent text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    at bigint NOT NULL,
    first_ms bigint,
    ms bigint NOT NULL,
    outcome text NOT NULL,
    input bigint,
    output bigint,
    cached_input bigint,
    cache_write_input bigint,
    reasoning bigint,
    cost bigint,
    priced text NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX model_requests_of_thread ON model_requests (tenant, thread_id, at, id);
CREATE INDEX model_requests_of_owner ON model_requests (tenant, owner, at, id);
CREATE INDEX model_requests_of_tenant ON model_requests (tenant, of_tenant, at, id);
-- The same, added up by day (UTC, since 1970).
CREATE TABLE usage_days (
    tenant text NOT NULL DEFAULT '',
    of_tenant text NOT NULL,
    day bigint NOT NULL,
    owner text NOT NULL,
    principal text NOT NULL,
    agent text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    requests bigint NOT NULL,
    failed bigint NOT NULL,
    unpriced bigint NOT NULL,
    input bigint NOT NULL,
    output bigint NOT NULL,
    cached_input bigint NOT NULL,
    cache_write_input bigint NOT NULL,
    reasoning bigint NOT NULL,
    cost bigint NOT NULL,
    PRIMARY KEY (tenant, of_tenant, day, owner, principal, agent, provider, model)
);
CREATE INDEX usage_days_of_owner ON usage_days (tenant, owner, day, principal, agent, provider, model);
-- What was spent of a budget, and is reserved: tokens, and billionths of a dollar. The id says of which, and the day.
CREATE TABLE budgets (
    tenant text NOT NULL DEFAULT '',
    id text NOT NULL,
    tokens bigint NOT NULL,
    cost bigint NOT NULL,
    PRIMARY KEY (tenant, id)
);
