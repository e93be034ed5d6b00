/** What the page of the inbox says besides the elements, in English and German. */

import { clock } from "./components/core/records.js";
import { fill, stringsFor } from "./components/core/strings.js";
import { lang } from "./desk.js";

const ENGLISH = {
  inbox: "Inbox", waiting: "Waiting", decided: "Decided", grants: "Grants", chat: "Chats", trail: "Audit trail", keys: "Keys", theme: "Light or dark",
  linked: "From the link", close: "Close", tool: "Tool", agent: "Agent", asker: "Asked by", whose: "Whose", all: "All",
  mine: "Mine", others: "For my roles", noFilter: "Show all",
  pickAll: "Choose all", pickNone: "Choose none", chosen: "{count} chosen", approveAll: "Approve {count} …", rejectAll: "Reject {count} …",
  approveTitle: "Approve these {count}?", rejectTitle: "Reject these {count}?", approve: "Approve", reject: "Reject", cancel: "Cancel", reason: "Reason (optional)",
  ended: "{done} done.", notDone: "{failed} not: their lines say why.", more: "Show more", loading: "Loading …", nothingDecided: "Nothing that you asked for has been decided yet.",
  nothingGranted: "Nothing is granted. A grant is given with a yes, where the gate offers it.", failed: "This could not be loaded. {why}", again: "Try again",
  given: "by {by} at {at}, until {until}", used: "used {used}×", usedOf: "used {used} of {times} times", spent: "{spent} of {total} so far", revoke: "Revoke",
  revokeTitle: "Revoke this grant?", revokeText: "From then on each such call is asked about again.", revoked: "Revoked.",
  emergencies: "Emergencies", noEmergencies: "Nothing waits that you may decide in an emergency.", open: "Open",
  handOn: "Hand to a colleague …", handOnTitle: "Hand this to a colleague?", handOnText: "They are told, and shown as waited for. It gives nobody a right, and takes none away.", handOnYes: "Hand over", to: "Who (their id)", handedOn: "Handed to {to}.",
  breakGlass: "Approve in an emergency …", breakGlassTitle: "Approve this in an emergency?", breakGlassText: "You decide alone, in the place of all who have to agree. Everybody concerned is told, with your reason.", breakGlassYes: "Approve in an emergency", why: "Reason (everybody concerned reads it)", glassBroken: "Approved in an emergency. Everybody concerned is told.",
  breakNo: "Reject in an emergency …", breakNoTitle: "Reject this in an emergency?", breakNoYes: "Reject in an emergency", brokenNo: "Rejected in an emergency. Everybody concerned is told.",
  handed: "Handed to me", handedToYou: "Handed to you by colleagues: {count}.", youStandIn: "You decide in the place of {absent} until {until}.",
  othersDecided: "Of others, decided by you", noneOfOthers: "You have decided no call of somebody else yet.", approved: "Approved", agreed: "Agreed", rejected: "Rejected", inEmergency: "in an emergency", askedBy: "asked by {asker}", story: "What happened",
  deputies: "Deputies", noDeputies: "Nobody decides in your place, and you in nobody's.", standsIn: "{deputy} decides in the place of {absent}", fromUntil: "from {since} until {until}", withRoles: "as {roles}",
  addDeputy: "Name a deputy …", deputyTitle: "Who decides in your place?", deputyText: "They decide what you may approve now, never more. What you asked for yourself, they can't approve.", deputyWho: "Who (their id)", deputySince: "From (now, if empty)", deputyUntil: "Until (at most 92 days from now)", deputyYes: "Name them", deputyNamed: "{deputy} is named as deputy.",
  endDeputy: "End …", endTitle: "End this now?", endText: "From then on {deputy} decides nothing in the place of {absent}.", endYes: "End it", deputyEnded: "Ended.", countsNoMore: "Counts no more: the login by which it was given has been revoked.",
  keysOf: [["j, k", "next line, the one before"], ["Enter", "open or close the line"], ["a, e, r", "approve, edit, reject what is open"], ["h", "hand the line to a colleague"], ["x", "choose the line, to decide several at once"], ["/", "search"], ["Esc", "back, out of what was typed"], ["?", "these keys"]],
  token: "This server requires a token", tokenText: "Enter the token you were given. It is kept for this tab only.", tokenRefused: "The token was not accepted. Enter the one you were given. It is kept for this tab only.", tokenLabel: "Token", go: "Continue",
};

const GERMAN = {
  inbox: "Eingang", waiting: "Wartet", decided: "Entschieden", grants: "Dauerfreigaben", chat: "Chats", trail: "Protokoll", keys: "Tasten", theme: "Hell oder dunkel",
  linked: "Aus dem Link", close: "Schließen", tool: "Werkzeug", agent: "Agent", asker: "Gefragt von", whose: "Wessen", all: "Alle",
  mine: "Meine", others: "Für meine Rollen", noFilter: "Alle zeigen",
  pickAll: "Alle auswählen", pickNone: "Keine auswählen", chosen: "{count} ausgewählt", approveAll: "{count} freigeben …", rejectAll: "{count} ablehnen …",
  approveTitle: "Diese {count} freigeben?", rejectTitle: "Diese {count} ablehnen?", approve: "Freigeben", reject: "Ablehnen", cancel: "Abbrechen", reason: "Begründung (freiwillig)",
  ended: "{done} erledigt.", notDone: "{failed} nicht: warum, steht bei ihnen.", more: "Mehr zeigen", loading: "Lädt …", nothingDecided: "Von dem, was Sie angefragt haben, wurde noch nichts entschieden.",
  nothingGranted: "Es gibt keine Dauerfreigaben. Sie entstehen mit einem Ja, wo das angeboten wird.", failed: "Das konnte nicht geladen werden. {why}", again: "Noch einmal",
  given: "von {by} um {at}, bis {until}", used: "{used}-mal benutzt", usedOf: "{used} von {times} Malen benutzt", spent: "bisher {spent} von {total}", revoke: "Widerrufen",
  revokeTitle: "Diese Dauerfreigabe widerrufen?", revokeText: "Danach wird jedes Mal wieder gefragt.", revoked: "Widerrufen.",
  emergencies: "Notfälle", noEmergencies: "Es wartet nichts, was Sie im Notfall entscheiden dürfen.", open: "Öffnen",
  handOn: "Weitergeben …", handOnTitle: "An jemanden weitergeben?", handOnText: "Die Person wird benachrichtigt, und es steht da, dass auf sie gewartet wird. Niemand bekommt oder verliert dadurch ein Recht.", handOnYes: "Weitergeben", to: "An wen (die Kennung)", handedOn: "An {to} weitergegeben.",
  breakGlass: "Im Notfall freigeben …", breakGlassTitle: "Dies im Notfall freigeben?", breakGlassText: "Sie entscheiden allein, anstelle aller, die zustimmen müssen. Alle, die es betrifft, erfahren davon, mit Ihrer Begründung.", breakGlassYes: "Im Notfall freigeben", why: "Begründung (alle, die es betrifft, lesen sie)", glassBroken: "Im Notfall freigegeben. Alle, die es betrifft, erfahren davon.",
  breakNo: "Im Notfall ablehnen …", breakNoTitle: "Dies im Notfall ablehnen?", breakNoYes: "Im Notfall ablehnen", brokenNo: "Im Notfall abgelehnt. Alle, die es betrifft, erfahren davon.",
  handed: "An mich weitergegeben", handedToYou: "Von anderen an Sie weitergegeben: {count}.", youStandIn: "Sie vertreten {absent} bis {until}.",
  othersDecided: "Von anderen, durch Sie entschieden", noneOfOthers: "Sie haben noch nichts von anderen entschieden.", approved: "Freigegeben", agreed: "Zugestimmt", rejected: "Abgelehnt", inEmergency: "im Notfall", askedBy: "gefragt von {asker}", story: "Was geschah",
  deputies: "Vertretungen", noDeputies: "Niemand vertritt Sie, und Sie vertreten niemanden.", standsIn: "{deputy} vertritt {absent}", fromUntil: "von {since} bis {until}", withRoles: "als {roles}",
  addDeputy: "Vertretung eintragen …", deputyTitle: "Wer vertritt Sie?", deputyText: "Die Person entscheidet, was Sie jetzt freigeben dürfen, nie mehr. Was Sie selbst angefragt haben, kann sie nicht freigeben.", deputyWho: "Wer (die Kennung)", deputySince: "Von (leer: ab jetzt)", deputyUntil: "Bis (höchstens 92 Tage ab jetzt)", deputyYes: "Eintragen", deputyNamed: "{deputy} ist als Vertretung eingetragen.",
  endDeputy: "Beenden …", endTitle: "Jetzt beenden?", endText: "Danach entscheidet {deputy} nichts mehr anstelle von {absent}.", endYes: "Beenden", deputyEnded: "Beendet.", countsNoMore: "Zählt nicht mehr: Die Anmeldung, mit der es erteilt wurde, ist widerrufen.",
  keysOf: [["j, k", "nächste Zeile, vorige Zeile"], ["Enter", "die Zeile öffnen oder schließen"], ["a, e, r", "freigeben, bearbeiten, ablehnen, was offen ist"], ["h", "die Zeile weitergeben"], ["x", "die Zeile auswählen, um mehrere zu entscheiden"], ["/", "suchen"], ["Esc", "zurück, aus dem Feld heraus"], ["?", "diese Tasten"]],
  token: "Dieser Server verlangt ein Token", tokenText: "Geben Sie Ihr Token ein. Es bleibt nur in diesem Tab.", tokenRefused: "Das Token wurde nicht angenommen. Geben Sie Ihres ein. Es bleibt nur in diesem Tab.", tokenLabel: "Token", go: "Weiter",
};

export const wordsFor = (lang) => (lang === "de" ? GERMAN : ENGLISH);

/** The words in the person's language; one with its blanks filled in; and a time. */
export const words = wordsFor(lang);
export const say = (key, blanks) => fill(words, key, blanks);
export const at = (time) => clock(time, undefined, stringsFor(lang));
