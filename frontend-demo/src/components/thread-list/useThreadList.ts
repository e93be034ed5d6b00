import { useCallback, useEffect, useRef, useState } from "react";

/** A thread as `GET /threads` shows it. `pending`: number of approvals that wait in it; expired ones don't. */
export interface ThreadHead {
  id: string;
  /** The agent that it began with. */
  agent: string;
  title: string | null;
  updated_at: string;
  pending: number;
  /** Tells it from older ones of the same title. */
  number?: number;
}

interface Source {
  /** Where the server is, with a slash at the end. */
  server: string;
  headers?: Record<string, string>;
}

const RARELY = 30_000; // ms between looks while the page is visible: what waits expires, and others write too

/** The server's threads, newest first, and what to do with them; `isRead`: the server was asked. A failure leaves the list as it was. */
export function useThreadList({ server, headers }: Source) {
  const [threads, setThreads] = useState<ThreadHead[]>([]);
  const [isRead, setRead] = useState(false);
  const token = headers?.authorization;

  const call = useCallback(
    async (path: string, method = "GET", body?: unknown) => {
      const sent: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
      if (token) sent.authorization = token;
      const init = { method, headers: sent, body: body === undefined ? undefined : JSON.stringify(body) };
      return fetch(new URL(path, server), init).catch(() => null);
    },
    [server, token],
  );
  const turns = useRef({ asked: 0, shown: 0 });
  const reload = useCallback(async () => {
    const turn = (turns.current.asked += 1);
    const response = await call("threads?limit=50");
    const listed = response?.ok ? ((await response.json()) as { threads: ThreadHead[] }).threads : null;
    if (listed && turn > turns.current.shown) {
      turns.current.shown = turn; // what was asked before it and comes later is older
      setThreads(listed);
    }
    setRead(true);
  }, [call]);
  const change = useCallback(
    async (id: string, method: string, body?: unknown): Promise<string | null> => {
      const response = await call(`threads/${encodeURIComponent(id)}`, method, body);
      await reload();
      return response?.ok || response?.status === 404 ? null : whyNot(response); // gone is gone
    },
    [call, reload],
  );
  const remove = useCallback((id: string) => change(id, "DELETE"), [change]);
  const rename = useCallback((id: string, title: string) => change(id, "PATCH", { title }), [change]);
  useEffect(() => void reload(), [reload]);
  useEffect(() => {
    const look = () => document.visibilityState === "visible" && void reload();
    const timer = setInterval(look, RARELY);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [reload]);
  return { threads, isRead, reload, remove, rename };
}

/** Why the server didn't do it, in its words. */
async function whyNot(response: Response | null): Promise<string> {
  const said = (await response?.json().catch(() => null)) as { error?: { message?: string } } | null;
  return said?.error?.message ?? "The server can't be reached. Try again in a moment.";
}
