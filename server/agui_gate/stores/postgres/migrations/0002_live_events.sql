-- What runs say, for readers at other replicas, for a while. Without a log: after a crash of PostgreSQL it is gone, and
-- what stands is in the tables of the store. See `agui_gate.bus.postgres`.

-- Runs of which frames are kept. ``address`` is that of the replica that runs it, ``next`` the number of its next frame.
CREATE UNLOGGED TABLE run_heads (
    tenant text NOT NULL DEFAULT '',
    run_key text NOT NULL,
    principal text NOT NULL,
    thread_id text NOT NULL,
    run_id text NOT NULL,
    address text NOT NULL,
    next bigint NOT NULL,
    ended smallint NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (tenant, run_key)
) WITH (fillfactor = 70);

CREATE INDEX run_heads_by_thread ON run_heads (tenant, principal, thread_id);

-- Frames, as they were sent together: those from ``first`` up to ``next``, which is not one of them.
CREATE UNLOGGED TABLE run_events (
    tenant text NOT NULL DEFAULT '',
    run_key text NOT NULL,
    next bigint NOT NULL,
    first bigint NOT NULL,
    frames text NOT NULL,
    PRIMARY KEY (tenant, run_key, next)
);

-- What somebody who joins a run is told first.
CREATE UNLOGGED TABLE run_openings (
    tenant text NOT NULL DEFAULT '',
    run_key text NOT NULL,
    seq bigint NOT NULL,
    opening text NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (tenant, run_key)
);
