-- The key by which an event of the trail is signed; '' for none (core/audit.py).
ALTER TABLE approval_events ADD COLUMN key_id TEXT NOT NULL DEFAULT '';
-- The trail as people read it, newest first: all of it, of a tenant, of an owner, and what somebody did.
DROP INDEX approval_events_by_age;
CREATE INDEX approval_events_by_age ON approval_events (tenant, at, thread, seq);
CREATE INDEX approval_events_of_tenant ON approval_events (tenant, (
    CASE WHEN instr(principal, char(31)) > 0 THEN substr(principal, 1, instr(principal, char(31)) - 1) ELSE '' END
), at, thread, seq);
CREATE INDEX approval_events_of_owner ON approval_events (tenant, principal, at, thread, seq);
CREATE INDEX approval_events_by_person ON approval_events (tenant, by, (
    CASE WHEN instr(principal, char(31)) > 0 THEN substr(principal, 1, instr(principal, char(31)) - 1) ELSE '' END
), at, thread, seq) WHERE by <> '';
