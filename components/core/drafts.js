/** What was typed into the fields of a card that is not answered, for this tab: a reload keeps it. Works without storage too. */

const PREFIX = "agui-gate.edit.";

/**
 * The texts by the fields' names, or null.
 * @param {string} key an ask's
 * @returns {Record<string, string> | null}
 */
export function readDraft(key) {
  try {
    const kept = JSON.parse(sessionStorage.getItem(PREFIX + key) ?? "null");
    return typeof kept === "object" ? kept : null;
  } catch {
    return null;
  }
}

/**
 * Keep the texts; null forgets them.
 * @param {string} key
 * @param {Record<string, string> | null} texts
 */
export function writeDraft(key, texts) {
  try {
    if (texts === null) sessionStorage.removeItem(PREFIX + key);
    else sessionStorage.setItem(PREFIX + key, JSON.stringify(texts));
  } catch {
    // full or switched off: a reload forgets it
  }
}
