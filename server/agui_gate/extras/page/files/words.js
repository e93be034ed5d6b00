/** Who decided, when, which way, in words. Pure; times are shown in the reader's own time zone. */

import { humanize, shorten, showValue, withUnit } from "./fields.js";
import { bothArguments, changedNames } from "./records.js";

const WAYS = {
  card: "in the chat",
  resume: "in the chat",
  message: "in the chat",
  http: "outside the chat",
  shell: "in the shell",
};
const ALONE = "local"; // the one person of a server that asks nobody who they are

/** What a call is at. */
export const LABELS = {
  sending: "Sending",
  running: "Running",
  approved: "Approved",
  waiting: "Waiting for you",
  done: "Done",
  error: "Failed",
  unknown: "Not known whether it took effect",
  rejected: "Rejected",
  superseded: "Superseded",
  expired: "Expired",
  stopped: "Stopped",
  deleted: "Deleted",
};

const HOURS = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

const isSameDay = (time, now) => new Date(time).toDateString() === new Date(now).toDateString();

/** `12:03`; with the date if that was another day. */
export function clock(time, now = Date.now()) {
  if (Number.isNaN(new Date(time).getTime())) return "";
  const hours = HOURS.format(new Date(time));
  return isSameDay(time, now) ? hours : `${hours} on ${DATE.format(new Date(time))}`;
}

/** The same where there is little room: `12:03`, `22 Nov`. */
export function shortClock(time, now = Date.now()) {
  if (Number.isNaN(new Date(time).getTime())) return "";
  return (isSameDay(time, now) ? HOURS : DAY).format(new Date(time));
}

/** `Approved by alice at 12:03, in the chat`; `already`: an answer came too late for it. Null where nobody decided. */
export function decisionLine(record, { already = false, now } = {}) {
  const { decision, state } = record;
  if (!decision) return already ? closedLine(state) : null;
  const by = decision.by && decision.by !== ALONE ? ` by ${decision.by}` : "";
  const at = decision.at ? ` at ${clock(decision.at, now)}` : "";
  const verb = decision.approved ? "approved" : state === "cancelled" ? "cancelled" : "rejected";
  const said = already ? `Already ${verb}` : capital(verb);
  return `${said}${by}${at}${WAYS[decision.way] ? `, ${WAYS[decision.way]}` : ""}`;
}

function closedLine(state) {
  if (state === "expired") return "It expired before the answer came";
  return state === "cancelled" ? "It was cancelled before the answer came" : "It was closed before the answer came";
}

/** What a person changed: `Amount 20 € → 12.5 €`, one for each argument. */
export function changesOf(record, args, unit) {
  const both = bothArguments(record, args);
  return changedNames(both).map((name) => {
    const values = [both.issued[name], both.ran[name]];
    if (values.some((value) => typeof value === "object" && value !== null)) return `${humanize(name)} changed`;
    return `${humanize(name)} ${values.map((value) => inShort(value, unit(name, value))).join(" → ")}`;
  });
}

function inShort(value, unit) {
  if (value === undefined || value === null || value === "") return "–";
  return typeof value === "string" ? `“${shorten(value, 60)}”` : shorten(withUnit(showValue(value), unit), 60);
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** How a call that ran came out, for a list of such calls. */
export function outcome({ state, decision }, now) {
  const at = decision?.at ? ` at ${clock(decision.at, now)}` : "";
  if (state === "failed") return `failed${at}`;
  return state === "unknown" ? `began${at}, and how it ended is not known` : `ran${at}`;
}
