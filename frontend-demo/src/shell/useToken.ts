import { useCallback, useMemo, useState } from "react";

const KEY = "agui-gate.token";
const NOBODY: Record<string, string> = {};

function read(): string {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return ""; // Storage is switched off.
  }
}

/** The person's token, kept for this tab (it is a credential, not a preference), as request headers. */
export function useToken() {
  const [token, setToken] = useState(read);
  const headers = useMemo((): Record<string, string> => (token ? { authorization: `Bearer ${token}` } : NOBODY), [token]);
  const saveToken = useCallback((value: string) => {
    try {
      sessionStorage.setItem(KEY, value);
    } catch {
      // As above: it then lasts until the page is closed.
    }
    setToken(value);
  }, []);
  return { headers, saveToken };
}
