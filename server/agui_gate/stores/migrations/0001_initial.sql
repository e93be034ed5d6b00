-- Threads, their journals, and the ledger of gated calls. All times are ms since the epoch.

CREATE TABLE threads (
    key INTEGER PRIMARY KEY,
    principal TEXT NOT NULL,
    id TEXT NOT NULL,
    agent TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    entries INTEGER NOT NULL DEFAULT 0,
    run_key TEXT,
    run_status TEXT,
    lease_owner TEXT,
    lease_until INTEGER NOT NULL DEFAULT 0,
    title TEXT,
    -- The provider's own id in ref: the other name under which the thread can be found.
    alias TEXT,
    -- JSON of a ConversationRef.
    ref TEXT,
    -- JSON of the shared state.
    state TEXT,
    UNIQUE (principal, id)
);

CREATE INDEX threads_by_alias ON threads (principal, alias) WHERE alias IS NOT NULL;

-- For prolonging leases: as small as the number of runs in flight.
CREATE INDEX threads_running ON threads (run_key) WHERE run_status = 'running';

-- One row a commit, so that importing a long history is one insert.
-- seq is the place of the row's first entry in the thread, body a JSON array of count entries.
CREATE TABLE journal (
    thread INTEGER NOT NULL REFERENCES threads (key) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    count INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (thread, seq)
);

-- One row a gated call; its state is moved by conditional updates alone (core/approvals.py).
CREATE TABLE approvals (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    thread INTEGER NOT NULL REFERENCES threads (key) ON DELETE CASCADE,
    principal TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    run_key TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    arguments TEXT NOT NULL,
    style TEXT NOT NULL,
    provider_ref TEXT,
    editable TEXT NOT NULL,
    message TEXT,
    asked_at INTEGER NOT NULL,
    expires_at INTEGER,
    state TEXT NOT NULL,
    decision TEXT,
    decided_at INTEGER,
    output TEXT,
    UNIQUE (thread, call_id)
);

CREATE INDEX approvals_pending ON approvals (principal, seq) WHERE state = 'pending';

-- Written by readiness checks, which must prove that a write works.
CREATE TABLE checks (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    checked_at INTEGER NOT NULL
);
