/** What the page of the inbox says besides the elements, in English and German. */

const ENGLISH = {
  inbox: "Inbox", waiting: "Waiting", decided: "Decided", grants: "Grants", chat: "Chats", keys: "Keys", theme: "Light or dark",
  linked: "From the link", close: "Close", tool: "Tool", agent: "Agent", asker: "Asked by", whose: "Whose", all: "All",
  mine: "Mine", others: "For my roles", noFilter: "Show all",
  pickAll: "Choose all", pickNone: "Choose none", chosen: "{count} chosen", approveAll: "Approve {count} …", rejectAll: "Reject {count} …",
  approveTitle: "Approve these {count}?", rejectTitle: "Reject these {count}?", approve: "Approve", reject: "Reject", cancel: "Cancel", reason: "Reason (optional)",
  ended: "{done} done.", notDone: "{failed} not: their lines say why.", more: "Show more", loading: "Loading …", nothingDecided: "Nothing has been decided yet.",
  nothingGranted: "Nothing is granted. A grant is given with a yes, where the gate offers it.", failed: "This could not be loaded. {why}", again: "Try again",
  given: "by {by} at {at}, until {until}", used: "used {used} times", usedOf: "used {used} of {times} times", spent: "{spent} of {total} so far", revoke: "Revoke",
  revokeTitle: "Revoke this grant?", revokeText: "From then on each such call is asked about again.", revoked: "Revoked.",
  keysOf: [["j, k", "next line, the one before"], ["Enter", "open or close the line"], ["a, e, r", "approve, edit, reject what is open"], ["x", "choose the line, to decide several at once"], ["/", "search"], ["Esc", "back, out of what was typed"], ["?", "these keys"]],
  token: "This server requires a token", tokenText: "Enter the token you were given. It is kept for this tab only.", tokenLabel: "Token", go: "Continue",
};

const GERMAN = {
  inbox: "Eingang", waiting: "Wartet", decided: "Entschieden", grants: "Dauerfreigaben", chat: "Chats", keys: "Tasten", theme: "Hell oder dunkel",
  linked: "Aus dem Link", close: "Schließen", tool: "Werkzeug", agent: "Agent", asker: "Gefragt von", whose: "Wessen", all: "Alle",
  mine: "Meine", others: "Für meine Rollen", noFilter: "Alle zeigen",
  pickAll: "Alle auswählen", pickNone: "Keine auswählen", chosen: "{count} ausgewählt", approveAll: "{count} freigeben …", rejectAll: "{count} ablehnen …",
  approveTitle: "Diese {count} freigeben?", rejectTitle: "Diese {count} ablehnen?", approve: "Freigeben", reject: "Ablehnen", cancel: "Abbrechen", reason: "Begründung (freiwillig)",
  ended: "{done} erledigt.", notDone: "{failed} nicht: warum, steht bei ihnen.", more: "Mehr zeigen", loading: "Lädt …", nothingDecided: "Es wurde noch nichts entschieden.",
  nothingGranted: "Es gibt keine Dauerfreigaben. Sie entstehen mit einem Ja, wo das angeboten wird.", failed: "Das konnte nicht geladen werden. {why}", again: "Noch einmal",
  given: "von {by} um {at}, bis {until}", used: "{used}-mal benutzt", usedOf: "{used} von {times} Malen benutzt", spent: "bisher {spent} von {total}", revoke: "Widerrufen",
  revokeTitle: "Diese Dauerfreigabe widerrufen?", revokeText: "Danach wird jedes Mal wieder gefragt.", revoked: "Widerrufen.",
  keysOf: [["j, k", "nächste Zeile, vorige Zeile"], ["Enter", "die Zeile öffnen oder schließen"], ["a, e, r", "freigeben, bearbeiten, ablehnen, was offen ist"], ["x", "die Zeile auswählen, um mehrere zu entscheiden"], ["/", "suchen"], ["Esc", "zurück, aus dem Feld heraus"], ["?", "diese Tasten"]],
  token: "Dieser Server verlangt ein Token", tokenText: "Geben Sie Ihr Token ein. Es bleibt nur in diesem Tab.", tokenLabel: "Token", go: "Weiter",
};

export const wordsFor = (lang) => (lang === "de" ? GERMAN : ENGLISH);
