import { useCallback, useEffect, useState } from "react";

const inAddress = () => new URLSearchParams(location.hash.slice(1)).get("t");

/** An id for a thread or message. `randomUUID` needs a secure context, which plain HTTP on a local network is not. */
export function newId(): string {
  if (crypto.randomUUID) return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The thread on screen, kept in the address: a reload, the back button and a shared link all lead to it. */
export function useThread() {
  const [thread, setThread] = useState(() => inAddress() ?? newId());
  useEffect(() => {
    if (inAddress() !== thread) history.replaceState(null, "", `#t=${encodeURIComponent(thread)}`);
    const follow = () => setThread(inAddress() ?? newId());
    addEventListener("popstate", follow);
    return () => removeEventListener("popstate", follow);
  }, [thread]);
  const open = useCallback((id: string) => {
    history.pushState(null, "", `#t=${encodeURIComponent(id)}`);
    setThread(id);
  }, []);
  return { thread, open };
}
