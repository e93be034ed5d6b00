-- Who has to agree to a call, and who has: JSON; NULL for gates that ask nobody in particular.
ALTER TABLE approvals ADD COLUMN people TEXT;
-- What waits for people who may not be its owner's.
CREATE INDEX approvals_of_people ON approvals (tenant, seq) WHERE state = 'pending' AND people IS NOT NULL;
