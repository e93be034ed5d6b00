-- Rows say which tenant they belong to, and every key and index begins with it. A key of a table can't be changed, so
-- the tables are made anew. (The migration runs with foreign keys off: dropping a table deletes nothing elsewhere.)

CREATE TABLE new_threads (
    key INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL DEFAULT '',
    principal TEXT NOT NULL,
    id TEXT NOT NULL,
    agent TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    entries INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    run_key TEXT,
    run_status TEXT,
    lease_owner TEXT,
    lease_until INTEGER NOT NULL DEFAULT 0,
    title TEXT,
    archived INTEGER NOT NULL DEFAULT 0,
    alias TEXT,
    ref TEXT,
    stop TEXT,
    state TEXT,
    UNIQUE (tenant, key),
    UNIQUE (tenant, principal, id)
);

INSERT INTO new_threads (key, principal, id, agent, created_at, updated_at, entries, bytes, run_key, run_status,
    lease_owner, lease_until, title, archived, alias, ref, stop, state)
SELECT key, principal, id, agent, created_at, updated_at, entries, bytes, run_key, run_status,
    lease_owner, lease_until, title, archived, alias, ref, stop, state
FROM threads;

CREATE TABLE new_journal (
    tenant TEXT NOT NULL DEFAULT '',
    thread INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    count INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (tenant, thread, seq),
    FOREIGN KEY (tenant, thread) REFERENCES threads (tenant, key) ON DELETE CASCADE
);

INSERT INTO new_journal (thread, seq, count, body) SELECT thread, seq, count, body FROM journal;

-- was: the id under which it was asked before this store was put back from a backup; '' for most.
CREATE TABLE new_approvals (
    seq INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    thread INTEGER NOT NULL,
    principal TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    run_key TEXT NOT NULL,
    run_id TEXT NOT NULL DEFAULT '',
    turn_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    source TEXT NOT NULL DEFAULT '',
    schema_digest TEXT,
    arguments TEXT NOT NULL,
    runner TEXT NOT NULL DEFAULT 'here',
    style TEXT NOT NULL,
    protocol_version TEXT,
    provider_ref TEXT,
    editable TEXT NOT NULL,
    message TEXT,
    asked_at INTEGER NOT NULL,
    expires_at INTEGER,
    state TEXT NOT NULL,
    decision TEXT,
    decided_at INTEGER,
    replaced INTEGER NOT NULL DEFAULT 0,
    was TEXT NOT NULL DEFAULT '',
    output TEXT,
    UNIQUE (tenant, id),
    UNIQUE (tenant, thread, call_id),
    FOREIGN KEY (tenant, thread) REFERENCES threads (tenant, key) ON DELETE CASCADE
);

INSERT INTO new_approvals (seq, id, thread, principal, thread_id, agent, run_key, run_id, turn_id, call_id, tool,
    source, schema_digest, arguments, runner, style, protocol_version, provider_ref, editable, message, asked_at,
    expires_at, state, decision, decided_at, replaced, output)
SELECT seq, id, thread, principal, thread_id, agent, run_key, run_id, turn_id, call_id, tool,
    source, schema_digest, arguments, runner, style, protocol_version, provider_ref, editable, message, asked_at,
    expires_at, state, decision, decided_at, replaced, output
FROM approvals;

CREATE TABLE new_tombstones (
    tenant TEXT NOT NULL DEFAULT '',
    id TEXT NOT NULL,
    principal TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    tool TEXT NOT NULL,
    source TEXT NOT NULL,
    state TEXT NOT NULL,
    arguments_digest TEXT NOT NULL,
    output_digest TEXT,
    approved INTEGER,
    decided_by TEXT,
    way TEXT,
    asked_at INTEGER NOT NULL,
    decided_at INTEGER,
    deleted_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;

INSERT INTO new_tombstones (id, principal, thread_id, agent, tool, source, state, arguments_digest, output_digest,
    approved, decided_by, way, asked_at, decided_at, deleted_at)
SELECT id, principal, thread_id, agent, tool, source, state, arguments_digest, output_digest,
    approved, decided_by, way, asked_at, decided_at, deleted_at
FROM tombstones;

DROP TABLE journal;
DROP TABLE approvals;
DROP TABLE threads;
DROP TABLE tombstones;
ALTER TABLE new_threads RENAME TO threads;
ALTER TABLE new_journal RENAME TO journal;
ALTER TABLE new_approvals RENAME TO approvals;
ALTER TABLE new_tombstones RENAME TO tombstones;

CREATE INDEX threads_by_alias ON threads (tenant, principal, alias) WHERE alias IS NOT NULL;
CREATE INDEX threads_running ON threads (tenant, run_key) WHERE run_status = 'running';
CREATE INDEX threads_listed ON threads (tenant, principal, archived, updated_at);
CREATE INDEX approvals_pending ON approvals (tenant, principal, seq) WHERE state = 'pending';
CREATE INDEX approvals_decided ON approvals (tenant, principal, seq) WHERE state <> 'pending';
CREATE INDEX approvals_asked_again ON approvals (tenant, was) WHERE was <> '';
CREATE INDEX approvals_waiting ON approvals (tenant, thread) WHERE state = 'pending';
CREATE INDEX tombstones_by_thread ON tombstones (tenant, principal, deleted_at);

-- What happened to each approval, by whom and which way: only added to, and one chain of hashes a thread
-- (core/audit.py). It outlives its thread, and holds nothing that was said.
CREATE TABLE approval_events (
    tenant TEXT NOT NULL DEFAULT '',
    thread INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    principal TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    approval_id TEXT NOT NULL,
    run_key TEXT NOT NULL,
    by TEXT NOT NULL,
    way TEXT NOT NULL,
    body TEXT NOT NULL,
    prev TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (tenant, thread, seq)
) WITHOUT ROWID;

CREATE INDEX approval_events_by_thread ON approval_events (tenant, principal, thread_id);

-- What others are to be told, until they were told. Ids are never used again.
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL DEFAULT '',
    principal TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    about TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL
);

-- Who tells them just now, and until when it is left alone with that.
CREATE TABLE outbox_taker (
    tenant TEXT PRIMARY KEY,
    taker TEXT NOT NULL,
    until INTEGER NOT NULL
) WITHOUT ROWID;

-- Counts how often this store was put back from a backup: what was decided before that is not carried out after it.
CREATE TABLE epoch (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    number INTEGER NOT NULL
);

INSERT INTO epoch (one, number) VALUES (1, 1);
