/**
 * What the server's ledger says of gated calls, and the sentences for it. Pure; times are shown in the reader's own time
 * zone.
 */

import { ENGLISH, fill } from "./strings.js";
import { unitsFor } from "./units.js";
import { humanize, shorten, showValue, summary, withUnit } from "./values.js";
import { reveal } from "./reveal.js";

/** @import { CallRecord, Decision, Json, Strings, Unit } from "./types.js" */

const OPEN = ["pending", "claimed"];
const RAN = ["done", "failed", "unknown"];
const LONGEST = 60; // characters of a value
const ALONE = "local"; // the one person of a server that asks nobody who they are
/** @type {Record<string, string>} */
const WAYS = { card: "inChat", resume: "inChat", message: "inChat", http: "outsideChat", shell: "inShell", rule: "byRule", grant: "byGrant", code: "byCode" };

/**
 * Records merged into `known`: `entries` are `[callId, record]`. What is decided doesn't wait again.
 * @param {Record<string, CallRecord>} known
 * @param {[string | undefined, CallRecord | null | undefined][]} entries
 * @returns {Record<string, CallRecord>}
 */
export function learn(known, entries) {
  const next = { ...known };
  for (const [callId, record] of entries) {
    if (!callId || !record || isOlder(record, next[callId])) continue;
    const merged = { ...next[callId], frozen: undefined, ...record };
    if (JSON.stringify(merged) !== JSON.stringify(next[callId])) next[callId] = merged;
  }
  return next;
}

/**
 * @param {CallRecord} record
 * @param {CallRecord | undefined} known
 */
function isOlder(record, known) {
  if (!known) return false;
  /** @param {CallRecord} one */
  const place = ({ state }) => (OPEN.includes(state) ? OPEN.indexOf(state) : OPEN.length);
  return place(record) < place(known);
}

/**
 * Somebody decided, it expired or was closed: it can't be answered any more.
 * @param {Pick<CallRecord, "state"> | null} [record]
 */
export const isClosed = (record) => record !== undefined && record !== null && record.state !== "pending";

/**
 * A person agreed that a task begins: what came of that is the call's result, which the record doesn't have.
 * @param {CallRecord | null} [record]
 */
export const isBegun = (record) => record?.task === true && record.state === "done";

/**
 * It took effect, or may have.
 * @param {Pick<CallRecord, "state"> | null} [record]
 */
export const hasRun = (record) => record !== undefined && record !== null && RAN.includes(record.state);

/**
 * The arguments as they were issued and as they ran; `args` are those of the call in the conversation.
 * @param {CallRecord | null} [record]
 * @param {Json | null} [args]
 * @returns {{issued: Json, ran: Json}}
 */
export function bothArguments(record, args) {
  const issued = record?.arguments ?? args ?? {};
  return { issued, ran: record?.effective_arguments ?? args ?? issued };
}

/**
 * The names of the arguments that a person changed.
 * @param {{issued: Json, ran: Json}} both
 */
export function changedNames({ issued, ran }) {
  const names = [...new Set([...Object.keys(ran), ...Object.keys(issued)])];
  return names.filter((name) => JSON.stringify(ran[name]) !== JSON.stringify(issued[name]));
}

/** @type {Map<string, {hours: Intl.DateTimeFormat, day: Intl.DateTimeFormat, date: Intl.DateTimeFormat}>} */
const formats = new Map();

/** @param {Strings} strings */
function formatsFor({ locale = "en-GB" }) {
  const known = formats.get(locale) ?? {
    hours: new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit" }),
    day: new Intl.DateTimeFormat(locale, { day: "numeric", month: "short" }),
    date: new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", year: "numeric" }),
  };
  formats.set(locale, known);
  return known;
}

/**
 * @param {Date} time
 * @param {number} now
 */
const isSameDay = (time, now) => time.toDateString() === new Date(now).toDateString();

/**
 * `12:03`; with the date if that was another day. Empty for what is no time.
 * @param {string | number | null | undefined} time
 * @param {number} [now]
 * @param {Strings} [strings]
 */
export function clock(time, now = Date.now(), strings = ENGLISH) {
  const then = new Date(time ?? Number.NaN);
  if (Number.isNaN(then.getTime())) return "";
  const { hours, date } = formatsFor(strings);
  return isSameDay(then, now) ? hours.format(then) : fill(strings, "clockOn", { clock: hours.format(then), date: date.format(then) });
}

/**
 * The same where there is little room: `12:03`, `22 Nov`.
 * @param {string | number | null | undefined} time
 * @param {number} [now]
 * @param {Strings} [strings]
 */
export function shortClock(time, now = Date.now(), strings = ENGLISH) {
  const then = new Date(time ?? Number.NaN);
  if (Number.isNaN(then.getTime())) return "";
  const { hours, day } = formatsFor(strings);
  return (isSameDay(then, now) ? hours : day).format(then);
}

/**
 * ` at 12:03`, or nothing.
 * @param {string | null | undefined} time
 * @param {number} [now]
 * @param {Strings} [strings]
 */
export function atTime(time, now, strings = ENGLISH) {
  const said = clock(time, now, strings);
  return said && fill(strings, "at", { time: said });
}

/**
 * `Approved by alice at 12:03, in the chat`; `already`: an answer came too late for it. Null where nobody decided.
 * @param {CallRecord} record
 * @param {{already?: boolean, now?: number, strings?: Strings}} [options]
 * @returns {string | null}
 */
export function decisionLine(record, { already = false, now, strings = ENGLISH } = {}) {
  const { decision, state } = record;
  if (!decision) return already ? fill(strings, { expired: "expiredBefore", cancelled: "cancelledBefore" }[String(state)] ?? "closedBefore") : null;
  const verb = decision.approved ? "approved" : state === "cancelled" ? "cancelled" : "rejected";
  const said = fill(strings, already ? `already${verb.charAt(0).toUpperCase()}${verb.slice(1)}` : verb);
  const names = decision.approved && record.approvals && record.approvals.length > 1 ? record.approvals.map(({ by }) => by).join(", ") : decision.by;
  const by = names && names !== ALONE ? fill(strings, "by", { name: shorten(names, LONGEST) }) : "";
  const ways = [WAYS[decision.way ?? ""], decision.grant && decision.way !== "grant" && "granted"];
  const deputy = decision.deputy_of ? fill(strings, "deputyOf", { name: shorten(decision.deputy_of, LONGEST) }) : "";
  const alarm = decision.break_glass ? fill(strings, "brokeGlass") : "";
  return `${said}${by}${deputy}${atTime(decision.at, now, strings)}${alarm}${ways.map((way) => (way ? fill(strings, way) : "")).join("")}`;
}

/** @type {Record<string, string>} */
const UNDECIDED = { superseded: "supersededState", cancelled: "cancelledState", expired: "expiredState" };
/** @type {Record<string, string>} */
const UNUSUAL = { claimed: "itIsRunning", failed: "itFailed", unknown: "itIsNotKnown" };

/**
 * What became of a call that nobody decided; empty for one that waits.
 * @param {CallRecord} record
 * @param {Strings} [strings]
 */
export const undecided = ({ state }, strings = ENGLISH) => (UNDECIDED[state] ? fill(strings, UNDECIDED[state]) : "");

/**
 * What came of a decision, where that isn't what one expects of it; else empty.
 * @param {CallRecord} record
 * @param {Strings} [strings]
 */
export const unusual = ({ state }, strings = ENGLISH) => (UNUSUAL[state] ? fill(strings, UNUSUAL[state]) : "");

/**
 * What a person changed: `Amount 20 € → 12.5 €`, one for each argument.
 * @param {CallRecord} record
 * @param {Json | null} [args]
 * @param {Unit} [unit]
 * @param {Strings} [strings]
 */
export function changesOf(record, args, unit = () => null, strings = ENGLISH) {
  const both = bothArguments(record, args);
  return changedNames(both).map((name) => {
    const values = [both.issued[name], both.ran[name]];
    if (values.some((value) => typeof value === "object" && value !== null)) return fill(strings, "changed", { name: humanize(name) });
    return `${humanize(name)} ${values.map((value) => inShort(value, unit(name, value))).join(" → ")}`;
  });
}

/**
 * @param {unknown} value
 * @param {string | null} unit
 */
function inShort(value, unit) {
  if (value === undefined || value === null || value === "") return "–";
  return typeof value === "string" ? `“${shorten(value, LONGEST)}”` : shorten(withUnit(showValue(value), unit), LONGEST);
}

/**
 * `Refund · 1003 · 12.50 €`: which call it was.
 * @param {string} tool
 * @param {Json} values
 * @param {Unit} [unit]
 */
export const callText = (tool, values, unit) => [humanize(tool), summary(values, unit, LONGEST)].filter(Boolean).join(" · ");

/**
 * How a call that ran came out, for a list of such calls.
 * @param {{state: string, at?: string | null, decision?: CallRecord["decision"]}} call
 * @param {number} [now]
 * @param {Strings} [strings]
 */
export function outcome({ state, at, decision }, now, strings = ENGLISH) {
  const key = { failed: "failed", unknown: "notKnown", claimed: "isRunning" }[state] ?? "ran";
  return fill(strings, key, { at: atTime(at ?? decision?.at, now, strings) });
}

/**
 * Whether something else was decided than was answered here, where the arguments `shown` were seen: somebody may have
 * edited them before.
 * @param {CallRecord} record
 * @param {Decision | null} [mine]
 * @param {Json} [shown]
 */
export function isLate(record, mine, shown) {
  if (!mine || record.state === "pending") return false;
  if (record.decision?.approved !== mine.approved) return true;
  const { issued, ran } = bothArguments(record);
  const isEdited = changedNames({ issued: shown ?? issued, ran }).length > 0;
  return mine.approved && isEdited !== (mine.edits !== undefined);
}

/**
 * What a line says of a call: `Approved by alice at 12:03, in the chat · Refund · 1003 · Amount 20 € → 15 € · “as agreed”`,
 * and in `note` what became of the answer from here. Null where there is nothing to say.
 * @param {CallRecord} record
 * @param {{args?: Json | null, call?: string, unit?: Unit, late?: boolean, unsent?: boolean, isLeft?: boolean, now?: number, strings?: Strings}} [options]
 * `args`: of the call in the conversation; `call`: which call it is, where the line stands alone; `late`: an answer from here
 * came too late; `unsent`: somebody was about to answer here; `isLeft`: it was approved and nothing is at work on it.
 * @returns {{text: string, note: string | null} | null}
 */
export function recordText(record, { args, call = "", unit, late = false, unsent = false, isLeft = false, now, strings = ENGLISH } = {}) {
  const said = decisionLine(record, { already: late || (unsent && Boolean(record.decision)), now, strings }) ?? undecided(record, strings);
  if (!said) return null;
  const units = unit ?? unitsFor(bothArguments(record, args).issued, { message: record.message });
  const parts = [said, call, ...changesOf(record, args, units, strings)];
  if (record.decision?.reason) parts.push(`“${record.decision.reason}”`);
  if (call && record.decision?.approved) parts.push(isLeft ? fill(strings, "nothingAtWork") : unusual(record, strings));
  const note = late ? fill(strings, "answerTooLate") : unsent ? fill(strings, "answerNotSent") : null;
  return { text: parts.filter(Boolean).map(reveal).join(" · "), note };
}
