-- A conversation that goes on without its page goes on by the rules of the client that was asked: NULL is one of 0.x.
ALTER TABLE approvals ADD COLUMN protocol_version TEXT;
