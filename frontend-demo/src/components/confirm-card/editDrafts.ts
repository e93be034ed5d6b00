/** What was typed into the fields of a card that is not answered, for this tab: a reload keeps it. Works without storage too. */

const PREFIX = "agui-gate.edit.";

export function readDraft(id: string): Record<string, string> | null {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(PREFIX + id) ?? "null");
    return typeof kept === "object" && kept !== null ? (kept as Record<string, string>) : null;
  } catch {
    return null;
  }
}

export function keepDraft(id: string, texts: Record<string, string>): void {
  try {
    sessionStorage.setItem(PREFIX + id, JSON.stringify(texts));
  } catch {
    // full or switched off: a reload forgets it
  }
}

export function dropDraft(id: string): void {
  try {
    sessionStorage.removeItem(PREFIX + id);
  } catch {
    // as above
  }
}
