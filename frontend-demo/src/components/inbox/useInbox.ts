import { useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { lookOut } from "../confirm-card/lookOut";
import { useOver } from "../confirm-card/useCountdown";
import { InboxStore, waits } from "./store";

interface Source {
  /** Where the server is, with a slash at the end. */
  server: string;
  headers?: Record<string, string>;
}

const SOON = 1500; // ms between looks while the inbox is shown
const SELDOM = 10_000; // ms between looks else

/** What waits for the person in any chat, read again and again while the page is visible. `count`: how many can be answered. */
export function useInbox({ server, headers }: Source) {
  const [store] = useState(() => new InboxStore());
  const [isShown, setShown] = useState(false);
  const [isAway, setAway] = useState(false);
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
    return lookOut(isShown ? SOON : SELDOM, reload);
  }, [store, server, headers, isShown, reload]);
  const waiting = entries.filter(waits);
  const over = useOver(waiting.map(({ record }) => record.expires_at ?? undefined));
  const count = waiting.filter((_, at) => !over[at]).length;
  return { store, entries, count, hasMore: store.hasMore(), isAway, isShown, show: setShown, reload };
}
