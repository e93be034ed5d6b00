-- Lists go along threads_by_agent, one agent after the other: one index less for each run to write.
DROP INDEX threads_listed;
