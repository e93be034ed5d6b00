-- What expires next, whosever it is.
CREATE INDEX approvals_expiring ON approvals (tenant, expires_at, seq)
    WHERE state = 'pending' AND expires_at IS NOT NULL;
