-- The same index, said otherwise: for each row that is written, SQLite made a table of a list of more than two.
DROP INDEX approvals_unsettled;
CREATE INDEX approvals_unsettled ON approvals (tenant, state, principal, seq)
    WHERE state = 'claimed' OR state = 'passed' OR state = 'given_back' OR state = 'unknown';
