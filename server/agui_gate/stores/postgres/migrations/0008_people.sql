-- Who has to agree to a call, and who has: JSON; NULL for gates that ask nobody in particular.
ALTER TABLE approvals ADD COLUMN people text;
-- What waits for people who may not be its owner's, by the tenant in the owner's key.
CREATE INDEX approvals_of_people ON approvals (tenant, (
    CASE WHEN strpos(principal, chr(31)) > 0 THEN split_part(principal, chr(31), 1) ELSE '' END
), seq) WHERE state = 'pending' AND people IS NOT NULL;
