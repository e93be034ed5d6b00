import { useCallback, useState } from "react";
import { Outdated } from "../problems";

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

/** The token in such headers; "": none. */
export const tokenIn = ({ authorization = "" }: Record<string, string>) => authorization.replace("Bearer ", "");

let entered = 0; // tokens so far

/** All requests of the page go through this: CopilotKit's, too, which takes no other way to send them. */
const send = window.fetch.bind(window);
window.fetch = async (...request) => {
  const before = entered;
  const response = await send(...request);
  if (response.status === 401 && before !== entered) throw new Outdated("Another token was entered meanwhile.");
  return response;
};

/** The person's token, kept for this tab (it is a credential, not a preference), as request headers. */
export function useToken() {
  const [headers, setHeaders] = useState(() => toHeaders(read()));
  const saveToken = useCallback((value: string) => {
    try {
      sessionStorage.setItem(KEY, value);
    } catch {
      // As above: it then lasts until the page is closed.
    }
    entered += 1;
    setHeaders(toHeaders(value)); // a new object even for the same token: whoever enters it again wants another try
  }, []);
  return { headers, saveToken };
}
