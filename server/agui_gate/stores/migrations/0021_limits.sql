-- What a tenant has, for limits: its threads, and its calls that wait.
CREATE INDEX threads_of_tenant ON threads (tenant, (
    CASE WHEN instr(principal, char(31)) > 0 THEN substr(principal, 1, instr(principal, char(31)) - 1) ELSE '' END
));
CREATE INDEX approvals_pending_of_tenant ON approvals (tenant, (
    CASE WHEN instr(principal, char(31)) > 0 THEN substr(principal, 1, instr(principal, char(31)) - 1) ELSE '' END
)) WHERE state = 'pending';
