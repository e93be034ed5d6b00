import { useCallback, useState } from "react";

const KEY = "agui-gate.token";
const NOBODY: Record<string, string> = {};

function read(): string {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return ""; // Storage is switched off.
  }
}

const toHeaders = (token: string) => (token ? { authorization: `Bearer ${token}` } : NOBODY);

/** The person's token, kept for this tab (it is a credential, not a preference), as request headers. */
export function useToken() {
  const [headers, setHeaders] = useState(() => toHeaders(read()));
  const saveToken = useCallback((value: string) => {
    try {
      sessionStorage.setItem(KEY, value);
    } catch {
      // As above: it then lasts until the page is closed.
    }
    setHeaders(toHeaders(value)); // a new object even for the same token: whoever enters it again wants another try
  }, []);
  return { headers, saveToken };
}
