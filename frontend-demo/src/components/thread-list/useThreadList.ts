import { useCallback, useEffect, useState } from "react";

/** A thread as `GET /threads` shows it. `pending`: number of approvals that wait in it. */
export interface ThreadHead {
  id: string;
  title: string | null;
  updated_at: string;
  pending: number;
}

interface Source {
  /** Where the server is, with a slash at the end. */
  server: string;
  headers?: Record<string, string>;
}

/** The server's threads, newest first, and what to do with them. A failure leaves the list as it was. */
export function useThreadList({ server, headers }: Source) {
  const [threads, setThreads] = useState<ThreadHead[]>([]);
  const token = headers?.authorization;

  const call = useCallback(
    async (path: string, method = "GET") => {
      const response = await fetch(new URL(path, server), { method, headers: token ? { authorization: token } : {} });
      return response.ok ? response : null;
    },
    [server, token],
  );
  const reload = useCallback(async () => {
    const response = await call("threads?limit=50").catch(() => null);
    if (response) setThreads(((await response.json()) as { threads: ThreadHead[] }).threads);
  }, [call]);
  const remove = useCallback(
    async (id: string) => {
      await call(`threads/${encodeURIComponent(id)}`, "DELETE").catch(() => null);
      await reload();
    },
    [call, reload],
  );
  useEffect(() => void reload(), [reload]);
  return { threads, reload, remove };
}
