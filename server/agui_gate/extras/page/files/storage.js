/** What this browser remembers: the theme, a token for this tab. Works without storage too. */

const THEME = "agui-gate.theme";
const TOKEN = "agui-gate.token";
const NEW = "agui-gate.new";

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

export const writeTheme = (theme) => write("localStorage", THEME, theme);

// A token lives as long as the tab: it is a credential, not a preference.
export const readToken = () => read("sessionStorage", TOKEN);
export const writeToken = (token) => write("sessionStorage", TOKEN, token || null);

/** The ids of chats with something new in them. */
export function readNew() {
  try {
    const ids = JSON.parse(read("localStorage", NEW) ?? "[]");
    return Array.isArray(ids) ? ids : [];
  } catch {
    return [];
  }
}

export const writeNew = (ids) => write("localStorage", NEW, ids.length > 0 ? JSON.stringify(ids) : null);
