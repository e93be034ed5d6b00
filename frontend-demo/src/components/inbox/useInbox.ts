import { useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { lookOut } from "../confirm-card/lookOut";
import { useOver } from "../confirm-card/useOver";
import { follow } from "./follow";
import { InboxStore, waits } from "./store";

interface Source {
  /** Where the server is, with a slash at the end. */
  server: string;
  headers?: Record<string, string>;
}

const SOON = 1500; // ms between looks while nothing tells of what is new and the inbox is shown
const SELDOM = 10_000; // ms between looks else

/**
 * What waits for the person in any chat, while the page is visible: read when the server's stream of events tells of
 * something new, and again and again while there is no stream. `count`: how many can be answered.
 */
export function useInbox({ server, headers }: Source) {
  const [store] = useState(() => new InboxStore());
  const [isShown, setShown] = useState(false);
  const [isAway, setAway] = useState(false);
  const [isTold, setTold] = useState(false);
  const entries = useSyncExternalStore(store.subscribe, store.entries);
  const reload = useCallback(async () => {
    const isThere = await store.look();
    setAway(!isThere);
    return isThere ? ("on" as const) : ("away" as const);
  }, [store]);
  useEffect(() => {
    Object.assign(store, { server, headers, isShown });
    if (!isShown) store.forgetClosed();
    void reload();
  }, [store, server, headers, isShown, reload]);
  useEffect(() => {
    const onEvent = (name: string) => {
      if (name === "waiting") setTold(true); // from here on, all that is new
      void reload();
    };
    return follow({ url: new URL("approvals/events", server), headers, onEvent, onAway: () => setTold(false) });
  }, [server, headers, reload]);
  useEffect(() => {
    if (!isTold || isAway) return lookOut(isShown ? SOON : SELDOM, reload);
  }, [isTold, isAway, isShown, reload]);
  const waiting = entries.filter(waits);
  const over = useOver(waiting.map(({ record }) => record.expires_at ?? undefined));
  const count = waiting.filter((_, at) => !over[at]).length;
  return { store, entries, count, hasMore: store.hasMore(), isAway, isShown, show: setShown, reload };
}
