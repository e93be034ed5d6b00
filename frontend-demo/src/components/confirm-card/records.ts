/** The server's record of a gated call, and what there is to say about it. Pure. */

import { reveal } from "./invisible";
import { noUnit, unitsFor, type Unit } from "./units";
import { humanize, shorten, showValue, summary, withUnit, type Json } from "./values";

/** How a call stands, by the server's word. */
export type State = "pending" | "claimed" | "done" | "failed" | "unknown" | "rejected" | "superseded" | "cancelled" | "expired";

/** One of `calls` in `GET /threads/{id}`; `GET /approvals/{id}` answers the same. */
export interface CallRecord {
  /** The approval's id, which is the interrupt's too. */
  id: string;
  call_id: string;
  tool: string;
  /** The agent that called it. */
  agent: string;
  /** As they were issued. */
  arguments: Json;
  /** As they ran, or would run. */
  effective_arguments: Json;
  state: State;
  decision: { approved: boolean; by: string; at: string | null; way: string | null; reason?: string } | null;
  /** What the gate asks, with the arguments as they were issued. */
  message: string | null;
  result: string | null;
  /** The answer that it belongs to was regenerated or edited away. */
  replaced: boolean;
}

const RAN: ReadonlySet<State> = new Set(["claimed", "done", "failed", "unknown"]);
const LONGEST = 60; // characters of a value

/** Somebody decided it, it expired, or the chat went on without it: nobody can answer it any more. */
export const isClosed = (record: Pick<CallRecord, "state"> | undefined): boolean => record !== undefined && record.state !== "pending";

/** Whether it ran, or may have: what nobody can take back by going back in the conversation. */
export const ran = ({ state }: Pick<CallRecord, "state">): boolean => RAN.has(state);

/** `Approved by alice at 12:03, in the chat`; for one that waits, nothing. */
export function verdict(record: CallRecord): string {
  if (record.decision) return `${decided(record)}${by(record)}${time(record.decision.at)}${way(record.decision.way)}`;
  return UNDECIDED[record.state] ?? "";
}

/** What somebody left behind by saying something else was not rejected. */
const decided = ({ decision, state }: CallRecord): string => (decision?.approved ? "Approved" : state === "cancelled" ? "Cancelled" : "Rejected");

const UNDECIDED: Partial<Record<State, string>> = {
  superseded: "Not decided, as the chat went on without an answer",
  cancelled: "Not decided, as it was stopped",
  expired: "Expired before it was decided",
};

/** What came of a decision, where that isn't what one expects of it. */
export function outcome({ state }: Pick<CallRecord, "state">): string {
  return { claimed: "it is running", failed: "it failed", unknown: "it is not known whether it ran" }[state as string] ?? "";
}

/** `Refund · 1003 · 12.50 €` */
export const callText = (tool: string, values: Json, unit: Unit = noUnit): string =>
  [reveal(humanize(tool)), summary(values, { to: LONGEST, unit })].filter(Boolean).join(" · ");

/** The units of a record's numbers. */
export const unitsOf = (record: CallRecord): Unit => unitsFor(record.arguments, { message: record.message });

/** `Amount 20 € → 12.5 €` for each value that a person changed. */
export function changes(before: Json, after: Json | undefined, unit: Unit = noUnit): string[] {
  const names = Object.keys({ ...before, ...after }).filter((name) => after && JSON.stringify(after[name]) !== JSON.stringify(before[name]));
  return names.map((name) => `${reveal(humanize(name))} ${change(name, [before[name], after?.[name]], unit)}`);
}

function change(name: string, values: unknown[], unit: Unit): string {
  if (values.some((value) => typeof value === "object" && value !== null)) return "changed";
  return values.map((value) => shorten(withUnit(reveal(showValue(value ?? "–")), unit(name, value)), LONGEST)).join(" → ");
}

/** Nobody is named where everybody is "local": a server without auth, which this machine alone reaches. */
const by = ({ decision }: CallRecord): string => (decision?.by && decision.by !== "local" ? ` by ${shorten(reveal(decision.by), LONGEST)}` : "");

const IN_CHAT = ", in the chat";
const WAYS: Record<string, string> = { card: IN_CHAT, resume: IN_CHAT, message: IN_CHAT, http: ", outside the chat", shell: ", in the shell" };

const way = (name: string | null): string => WAYS[name ?? ""] ?? "";

/** ` at 14:03`, with the day if it is another one. */
export function time(at: string | null, now = new Date()): string {
  const then = new Date(at ?? Number.NaN);
  if (Number.isNaN(then.getTime())) return "";
  const clock = then.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
  const isToday = then.toDateString() === now.toDateString();
  return isToday ? ` at ${clock}` : ` on ${then.toLocaleDateString([], { day: "numeric", month: "short" })} at ${clock}`;
}
