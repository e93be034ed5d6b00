import type { Message } from "@ag-ui/client";
import type { CallRecord } from "./records";

/**
 * Whether the assistant hasn't been told what became of a gated call: that is the last thing that was said, or a task goes on
 * from there. Not as long as something waits or is being carried out. Pure.
 */
export function isUnread(messages: readonly Message[], records: ReadonlyMap<string, CallRecord>): boolean {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  const cards = new Set(calls.filter((call) => call.function.name === "confirm_changes").map(({ id }) => id));
  const last = messages.findLast((message) => !isCard(message, cards));
  const record = last?.role === "tool" ? records.get(last.toolCallId) : undefined;
  const isOpen = [...records.values()].some(({ state }) => state === "pending" || state === "claimed");
  return !isOpen && ((record !== undefined && !record.replaced) || goesOn(messages, records));
}

/** Whether a call was decided inside a task that has no result yet. */
function goesOn(messages: readonly Message[], records: ReadonlyMap<string, CallRecord>): boolean {
  const done = new Set(messages.map((message) => (message.role === "tool" ? message.toolCallId : "")));
  const inside = messages.flatMap((message) => (message.role === "assistant" && message.subagentRunId && !done.has(message.subagentRunId) ? (message.toolCalls ?? []) : []));
  return inside.some(({ id }) => done.has(id) && records.get(id)?.decision && !records.get(id)?.replaced);
}

function isCard(message: Message, cards: ReadonlySet<string>): boolean {
  if (message.role === "tool") return cards.has(message.toolCallId);
  return message.role === "assistant" && !message.content && Boolean(message.toolCalls?.every(({ id }) => cards.has(id)));
}
