/** What this browser remembers: the threads it has seen, the theme, a token for this tab. Works without storage too. */

const THREADS = "agui-gate.threads";
const THEME = "agui-gate.theme";
const TOKEN = "agui-gate.token";
const MAX_THREADS = 100;

function read(store, key) {
  try {
    return window[store].getItem(key);
  } catch {
    return null; // Storage can be switched off; the page then simply forgets.
  }
}

function write(store, key, value) {
  try {
    if (value === null) window[store].removeItem(key);
    else window[store].setItem(key, value);
  } catch {
    // As above: full or switched off.
  }
}

/** The threads seen here, the latest first: `[{id, agent, title, updatedAt}]`. */
export function readThreads() {
  try {
    const threads = JSON.parse(read("localStorage", THREADS) ?? "[]");
    return Array.isArray(threads) ? threads.filter((thread) => typeof thread?.id === "string") : [];
  } catch {
    return [];
  }
}

/** Put a thread first in the list; a title once given stays. */
export function rememberThread({ id, agent, title, updatedAt }) {
  const threads = readThreads();
  const known = threads.find((thread) => thread.id === id);
  const entry = { id, agent, title: known?.title || title, updatedAt };
  const others = threads.filter((thread) => thread.id !== id);
  write("localStorage", THREADS, JSON.stringify([entry, ...others].slice(0, MAX_THREADS)));
}

/** Take a thread off this browser's list; the server keeps it. */
export function forgetThread(id) {
  write("localStorage", THREADS, JSON.stringify(readThreads().filter((thread) => thread.id !== id)));
}

export const writeTheme = (theme) => write("localStorage", THEME, theme);

// A token lives as long as the tab: it is a credential, not a preference.
export const readToken = () => read("sessionStorage", TOKEN);
export const writeToken = (token) => write("sessionStorage", TOKEN, token || null);
