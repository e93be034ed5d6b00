import type { Message } from "@ag-ui/client";
import type { CallRecord } from "./elements";

/**
 * Whether the assistant hasn't been told what became of a gated call: that is the last thing that was said, or a task goes on
 * from there. Not as long as something waits or is being carried out. What was approved and isn't carried out (nothing
 * `isBusy` in the chat: the server was killed meanwhile) stays so until it goes on. Pure.
 */
export function isUnread(messages: readonly Message[], records: ReadonlyMap<string, CallRecord>, isBusy: boolean): boolean {
  const states = new Set([...records.values()].map(({ state }) => state));
  if (states.has("pending")) return false;
  if (states.has("claimed")) return !isBusy;
  const calls = messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  const cards = new Set(calls.filter((call) => call.function.name === "confirm_changes").map(({ id }) => id));
  const last = messages.findLast((message) => !isCard(message, cards));
  const record = last?.role === "tool" ? records.get(last.toolCallId) : undefined;
  const isStopped = record?.state === "cancelled" && !record.decision; // by the person: that is how it was meant to end
  return (record !== undefined && !record.replaced && !isStopped) || goesOn(messages, records);
}

/** Whether a task that has no result yet has got as far as calls that are all done, one of them by a decision. */
function goesOn(messages: readonly Message[], records: ReadonlyMap<string, CallRecord>): boolean {
  const done = new Set(messages.map((message) => (message.role === "tool" ? message.toolCallId : "")));
  const latest = new Map(messages.flatMap((message) => (message.subagentRunId && (message.role === "assistant" || message.role === "reasoning") ? [[message.subagentRunId, message]] : [])));
  return [...latest].some(([task, message]) => {
    const ids = message.role === "assistant" && !done.has(task) ? (message.toolCalls ?? []).map(({ id }) => id) : [];
    return ids.every((id) => done.has(id)) && ids.some((id) => records.get(id)?.decision && !records.get(id)?.replaced);
  });
}

function isCard(message: Message, cards: ReadonlySet<string>): boolean {
  if (message.role === "tool") return cards.has(message.toolCallId);
  return message.role === "assistant" && !message.content && Boolean(message.toolCalls?.every(({ id }) => cards.has(id)));
}
