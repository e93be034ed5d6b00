-- What a tenant has, for limits: its threads, and its calls that wait.
CREATE INDEX threads_of_tenant ON threads (tenant, (
    CASE WHEN strpos(principal, chr(31)) > 0 THEN split_part(principal, chr(31), 1) ELSE '' END
));
CREATE INDEX approvals_pending_of_tenant ON approvals (tenant, (
    CASE WHEN strpos(principal, chr(31)) > 0 THEN split_part(principal, chr(31), 1) ELSE '' END
)) WHERE state = 'pending';
