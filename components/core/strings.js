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
  choose: "Choose",
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
  personAsks: "Asked by {name}",
  editedBy: "Edited by {name}",
  somebodyElse: "another person",
  waitsFor: "Waits for {who}",
  waitsForMany: "Needs {count} persons: {who}",
  agreed: "Agreed: {names}",
  deputyFor: "You decide for {name}, who is away until {until}",
  handedTo: "Handed to {to} by {by}",
  deputyOf: ", as deputy of {name}",
  brokeGlass: ", in an emergency",
  youAgreed: "You agreed. It runs when everybody who is needed has.",
  notYours: "This is for somebody else to decide.",
  grant: "And from now on",
  grantNone: "Ask me each time",
  grantOffer: "Don't ask again: {what}",
  grantThread: "in this chat",
  grantSame: "same {names}",
  allArguments: "arguments",
  grantUpTo: "{name} up to {limit}",
  grantTotal: "{limit} in all",
  grantHours: "for {hours}",
  grantTimes: "{count} times",
  granted: ", and not asked again",
  byRule: ", by the gate's rule",
  byGrant: ", by a standing grant",
  byCode: ", by a program",
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
  gateAway: "The server can't be reached. It is tried again, and what you typed stays here.",
  gateUnauthorized: "You have to log in to see and decide this. What you typed stays here.",
  gateForeign: "At this address there is no agui-gate server.",
  gateMissing: "This was deleted, or it is nothing that you may decide.",
  gateOld: "The server is older than this page, so what already ran isn't shown.",
  gateRefused: "The server can't do that now. Try again in a moment.",
  gateBeside: "This is being answered elsewhere on this page.",
  notContinued: "The conversation doesn't continue yet. {note}",
  inboxTitle: "Waiting for you",
  inboxCount: "Waiting for you ({count})",
  waitsForOthers: "Waits for others",
  inboxNothing: "Nothing is waiting for you.",
  inboxNothingElse: "Nothing else is waiting for you.",
  inboxReading: "Loading …",
  inboxShowMore: "Show {count} more",
  inboxMore: "More are shown when these are decided.",
  inboxSearch: "Search",
  inboxNoMatch: "Nothing here matches.",
  inboxOpenChat: "Open chat",
  inboxPick: "Choose: {what}",
  inboxThisChat: "this chat",
  inboxNewChat: "New chat",
  inboxDeleted: "Deleted",
};

/** @type {Record<string, Strings>} */
const TABLES = { en: ENGLISH };

/** Languages that only a page in them reads: their words, and what the server says in them. */
const OTHERS = { de: () => import("./german.js").then(({ GERMAN, toGerman }) => [GERMAN, toGerman]) };

/** @type {Record<string, (message: string, code?: string) => string>} What the server says, by the locale of the words. */
const translations = {};

/**
 * A sentence of the server's in the language of `strings`; as it is where it isn't known in that.
 * @param {string} message
 * @param {string | undefined} code
 * @param {Strings} strings
 */
export const serverSaid = (message, code, { locale = "" }) => translations[locale]?.(message, code) ?? message;

/** @type {WeakMap<Strings, Map<Strings, Strings>>} */
const merged = new WeakMap();

/** @param {string | null} [lang] */
const languageOf = (lang) => (lang ?? "").toLowerCase().split("-")[0] ?? "";

/**
 * Read the words of a language. Null where they are there, or where there are none; else what settles once they are, or
 * can't be read: then it is said in English.
 * @param {string | null} [lang]
 * @returns {Promise<void> | null}
 */
export function loadStrings(lang) {
  const name = languageOf(lang);
  const load = TABLES[name] ? undefined : /** @type {Record<string, () => Promise<any>>} */ (OTHERS)[name];
  return load ? load().then(([table, toIt]) => void ((TABLES[name] = table), (translations[table.locale] = toIt)), () => {}) : null;
}

/**
 * The words of a language (`de`, `de-AT`, …) that was read, where `own` has none; the same object for the same two.
 * @param {string | null} [lang]
 * @param {Strings | null} [own]
 * @returns {Strings}
 */
export function stringsFor(lang, own) {
  const table = TABLES[languageOf(lang)] ?? ENGLISH;
  if (!own) return table;
  const known = merged.get(own) ?? new Map();
  merged.set(own, known);
  if (!known.has(table)) known.set(table, { ...ENGLISH, ...table, ...own });
  return known.get(table) ?? table;
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
