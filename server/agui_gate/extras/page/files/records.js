/**
 * What the server's ledger says of the gated calls of a thread, by call id. Pure.
 *
 * A record is `{id, state, decision, arguments?, effective_arguments?, result?, replaced?, tool?, …}`. Whole ones come
 * with a thread; messages and results have the short ones that are in their metadata, which are merged into those.
 */

export const CARD_TOOL = "confirm_changes"; // shows a gated call to clients that know no interrupts

const KEY = "agui-gate";
const OPEN = ["pending", "claimed"];
const RAN = ["done", "failed", "unknown"];

/** What `message` or a call says in its metadata, or null. */
export const fromMetadata = (item) => item?.metadata?.[KEY] ?? null;

/** Records merged into `known`: `entries` are `[callId, record]`. What is decided doesn't wait again. */
export function learn(known, entries) {
  const next = { ...known };
  for (const [callId, record] of entries) {
    if (!callId || !record || isOlder(record, next[callId])) continue;
    const merged = { ...next[callId], ...record };
    if (JSON.stringify(merged) !== JSON.stringify(next[callId])) next[callId] = merged;
  }
  return next;
}

function isOlder(record, known) {
  if (!known) return false;
  const place = ({ state }) => (OPEN.includes(state) ? OPEN.indexOf(state) : OPEN.length);
  return place(record) < place(known);
}

/** The records in the metadata of messages and of their calls, as entries; those of cards are their calls'. */
export function fromMessages(messages) {
  const calls = messages.flatMap((message) => message.toolCalls ?? []);
  const cards = new Set(calls.filter((call) => call.function.name === CARD_TOOL).map((call) => call.id));
  const results = messages.filter((message) => message.role === "tool").map((message) => [message.toolCallId, fromMetadata(message)]);
  return [...calls.map((call) => [call.id, fromMetadata(call)]), ...results].filter(([callId]) => !cards.has(callId));
}

/** Whole records as entries. */
export const entriesOf = (calls) => calls.map((record) => [record.call_id, record]);

/** Somebody decided, it expired or was closed: it can't be answered any more. */
export const isClosed = (record) => record !== undefined && record.state !== "pending";

/** A person agreed that a task begins: what came of that is the call's result, which the record doesn't have. */
export const isBegun = (record) => record?.task === true && record.state === "done";

/** It took effect, or may have. */
export const hasRun = (record) => record !== undefined && RAN.includes(record.state);

/** The arguments as they were issued and as they ran; `args` are those of the call in the conversation. */
export function bothArguments(record, args) {
  const issued = record?.arguments ?? args ?? {};
  return { issued, ran: record?.effective_arguments ?? args ?? issued };
}

/** The names of the arguments that a person changed. */
export function changedNames({ issued, ran }) {
  const names = [...new Set([...Object.keys(ran), ...Object.keys(issued)])];
  return names.filter((name) => JSON.stringify(ran[name]) !== JSON.stringify(issued[name]));
}
