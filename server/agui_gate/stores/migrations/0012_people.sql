-- Who has to agree to a call, and who has: JSON; NULL for gates that ask nobody in particular.
ALTER TABLE approvals ADD COLUMN people TEXT;
-- What waits for people who may not be its owner's, by the tenant in the owner's key.
CREATE INDEX approvals_of_people ON approvals (tenant, (
    CASE WHEN instr(principal, char(31)) > 0 THEN substr(principal, 1, instr(principal, char(31)) - 1) ELSE '' END
), seq) WHERE state = 'pending' AND people IS NOT NULL;
