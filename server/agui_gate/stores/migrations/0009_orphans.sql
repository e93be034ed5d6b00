-- What is at work, and what ended without anybody knowing how: of all that was asked, a few.
CREATE INDEX approvals_unsettled ON approvals (tenant, state, principal, seq)
    WHERE state IN ('claimed', 'passed', 'given_back', 'unknown');
