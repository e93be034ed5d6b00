/**
 * Every word that the elements say, in one table. A page may give its own for some of them; what it doesn't give is said
 * in the element's language, and what that hasn't either, in English.
 */

/** @import { Strings } from "./types.js" */

/** @type {Strings} */
export const ENGLISH = {
  locale: "en-GB", // for times and dates
  theAssistant: "The assistant",
  question: "Question",
  approvalNeeded: "Approval needed: {title}",
  asks: "{agent} asks",
  asksFor: "{agent} asks: {title}",
  wantsThis: "{who} wants to do this. Nothing happens until you decide.",
  asksYou: "{who} asks you something.",
  changeThenApprove: "Change the arguments, then approve.",
  wontRun: "It won't run. The assistant reads your reason and continues without it.",
  over: "Nobody decided in time, so it did not run. Send a message to continue.",
  approve: "Approve",
  approveWithChanges: "Approve with changes",
  edit: "Edit",
  reject: "Reject",
  back: "Back",
  send: "Send",
  decline: "Decline",
  change: "Change",
  reason: "Reason (optional)",
  noArguments: "No arguments.",
  none: "None",
  emptyText: "Empty",
  emptyList: "Empty list",
  emptyObject: "Empty object",
  yes: "Yes",
  no: "No",
  was: "was",
  changed: "{name} changed",
  onePerLine: "One per line.",
  really: "Really:",
  cantShow: "This can't be shown as it is: it needs a newer page. Nothing happens until it is decided.",
  isNeeded: "{label} is needed.",
  isNumber: "{label} must be a number.",
  isWhole: "{label} must be a whole number.",
  isLeast: "{label} must be at least {limit}.",
  isMore: "{label} must be more than {limit}.",
  isMost: "{label} must be at most {limit}.",
  isJson: "{label} must be valid JSON.",
  expired: "Expired",
  expiresIn: "Expires in {left}",
  alreadyRan: "Already ran in this chat:",
  alreadyTried: "Already tried in this chat:",
  sameRan: "The very same already ran in this chat:",
  sameTried: "The very same already tried in this chat:",
  moreOfIt: "and {count} more about the same",
  ran: "ran{at}",
  failed: "failed{at}",
  isRunning: "is running{at}",
  notKnown: "began{at}, and how it ended is not known",
  wasReplaced: ", in an answer that was replaced",
  willApprove: "Will approve",
  willReject: "Will reject",
  willAnswer: "Will answer",
  willDecline: "Will decline",
  yourAnswer: "Your answer: {answer}",
  toApprove: "approve",
  toReject: "reject",
  toAnswer: "answered",
  toDecline: "declined",
  sending: "Sending",
  askedBy: "asked by {agent}",
  approved: "Approved",
  rejected: "Rejected",
  cancelled: "Cancelled",
  alreadyApproved: "Already approved",
  alreadyRejected: "Already rejected",
  alreadyCancelled: "Already cancelled",
  by: " by {name}",
  at: " at {time}",
  clockOn: "{clock} on {date}",
  inChat: ", in the chat",
  outsideChat: ", outside the chat",
  inShell: ", in the shell",
  supersededState: "Not decided, as the chat went on without an answer",
  cancelledState: "Not decided, as it was stopped",
  expiredState: "Expired before it was decided",
  expiredBefore: "It expired before the answer came",
  cancelledBefore: "It was cancelled before the answer came",
  closedBefore: "It was closed before the answer came",
  itIsRunning: "it is running",
  itFailed: "it failed",
  itIsNotKnown: "it is not known whether it ran",
  nothingAtWork: "nothing is at work on it",
  answerTooLate: "Your answer came too late and changed nothing.",
  answerNotSent: "What you were about to answer was not sent.",
  goneChat: "Not decided, as this chat was deleted",
};

/** @type {Strings} */
export const GERMAN = {
  locale: "de-DE",
  theAssistant: "Der Assistent",
  question: "Frage",
  approvalNeeded: "Freigabe nötig: {title}",
  asks: "{agent} fragt",
  asksFor: "{agent} fragt: {title}",
  wantsThis: "{who} möchte das tun. Es geschieht nichts, bis Sie entscheiden.",
  asksYou: "{who} fragt Sie etwas.",
  changeThenApprove: "Ändern Sie die Angaben und geben Sie sie dann frei.",
  wontRun: "Es wird nicht ausgeführt. Der Assistent liest Ihre Begründung und macht ohne das weiter.",
  over: "Niemand hat rechtzeitig entschieden, darum wurde es nicht ausgeführt. Schreiben Sie eine Nachricht, um weiterzumachen.",
  approve: "Freigeben",
  approveWithChanges: "Mit Änderungen freigeben",
  edit: "Bearbeiten",
  reject: "Ablehnen",
  back: "Zurück",
  send: "Senden",
  decline: "Nicht antworten",
  change: "Ändern",
  reason: "Begründung (freiwillig)",
  noArguments: "Keine Angaben.",
  none: "Nichts",
  emptyText: "Leer",
  emptyList: "Leere Liste",
  emptyObject: "Leeres Objekt",
  yes: "Ja",
  no: "Nein",
  was: "vorher",
  changed: "{name} geändert",
  onePerLine: "Eines pro Zeile.",
  really: "In Wahrheit:",
  cantShow: "Das lässt sich so nicht zeigen: dafür braucht es eine neuere Seite. Es geschieht nichts, bis entschieden ist.",
  isNeeded: "{label} wird gebraucht.",
  isNumber: "{label} muss eine Zahl sein.",
  isWhole: "{label} muss eine ganze Zahl sein.",
  isLeast: "{label} muss mindestens {limit} sein.",
  isMore: "{label} muss größer als {limit} sein.",
  isMost: "{label} darf höchstens {limit} sein.",
  isJson: "{label} muss gültiges JSON sein.",
  expired: "Abgelaufen",
  expiresIn: "Läuft ab in {left}",
  alreadyRan: "Lief in diesem Chat schon:",
  alreadyTried: "Wurde in diesem Chat schon versucht:",
  sameRan: "Genau dasselbe lief in diesem Chat schon:",
  sameTried: "Genau dasselbe wurde in diesem Chat schon versucht:",
  moreOfIt: "und {count} weitere dazu",
  ran: "ausgeführt{at}",
  failed: "fehlgeschlagen{at}",
  isRunning: "läuft gerade{at}",
  notKnown: "begonnen{at}, und wie es ausging, ist nicht bekannt",
  wasReplaced: ", in einer Antwort, die ersetzt wurde",
  willApprove: "Wird freigegeben:",
  willReject: "Wird abgelehnt:",
  willAnswer: "Wird beantwortet:",
  willDecline: "Wird nicht beantwortet:",
  yourAnswer: "Ihre Antwort: {answer}",
  toApprove: "freigeben",
  toReject: "ablehnen",
  toAnswer: "beantwortet",
  toDecline: "nicht beantwortet",
  sending: "Wird gesendet",
  askedBy: "gefragt von {agent}",
  approved: "Freigegeben",
  rejected: "Abgelehnt",
  cancelled: "Abgebrochen",
  alreadyApproved: "Bereits freigegeben",
  alreadyRejected: "Bereits abgelehnt",
  alreadyCancelled: "Bereits abgebrochen",
  by: " von {name}",
  at: " um {time}",
  clockOn: "{clock} am {date}",
  inChat: ", im Chat",
  outsideChat: ", außerhalb des Chats",
  inShell: ", in der Kommandozeile",
  supersededState: "Nicht entschieden, weil der Chat ohne Antwort weiterging",
  cancelledState: "Nicht entschieden, weil es angehalten wurde",
  expiredState: "Abgelaufen, bevor entschieden wurde",
  expiredBefore: "Es war abgelaufen, bevor die Antwort kam",
  cancelledBefore: "Es war abgebrochen, bevor die Antwort kam",
  closedBefore: "Es war geschlossen, bevor die Antwort kam",
  itIsRunning: "es läuft",
  itFailed: "es ist fehlgeschlagen",
  itIsNotKnown: "ob es lief, ist nicht bekannt",
  nothingAtWork: "niemand arbeitet daran",
  answerTooLate: "Ihre Antwort kam zu spät und hat nichts geändert.",
  answerNotSent: "Was Sie antworten wollten, wurde nicht gesendet.",
  goneChat: "Nicht entschieden, weil dieser Chat gelöscht wurde",
};

/** @type {Record<string, Strings>} */
const TABLES = { en: ENGLISH, de: GERMAN };

/** @type {WeakMap<Strings, Map<string, Strings>>} */
const merged = new WeakMap();

/**
 * The words of a language (`de`, `de-AT`, …), where `own` has none; the same object for the same two.
 * @param {string | null} [lang]
 * @param {Strings | null} [own]
 * @returns {Strings}
 */
export function stringsFor(lang, own) {
  const name = (lang ?? "").toLowerCase().split("-")[0] ?? "";
  const table = TABLES[name] ?? ENGLISH;
  if (!own) return table;
  const known = merged.get(own) ?? new Map();
  merged.set(own, known);
  if (!known.has(name)) known.set(name, { ...ENGLISH, ...table, ...own });
  return known.get(name) ?? table;
}

/**
 * What the table says for `key`, with its blanks filled in.
 * @param {Strings} strings
 * @param {string} key
 * @param {Record<string, string | number>} [blanks]
 */
export function fill(strings, key, blanks = {}) {
  const text = strings[key] ?? ENGLISH[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) => String(blanks[name] ?? ""));
}
