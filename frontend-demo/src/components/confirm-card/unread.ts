import type { Message } from "@ag-ui/client";
import type { CallRecord } from "./records";

/** Whether the last thing that was said is what became of a gated call, and nothing waits or is being carried out: the assistant hasn't been told. Pure. */
export function isUnread(messages: readonly Message[], records: ReadonlyMap<string, CallRecord>): boolean {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  const cards = new Set(calls.filter((call) => call.function.name === "confirm_changes").map(({ id }) => id));
  const last = messages.findLast((message) => !isCard(message, cards));
  const record = last?.role === "tool" ? records.get(last.toolCallId) : undefined;
  const isOpen = [...records.values()].some(({ state }) => state === "pending" || state === "claimed");
  return record !== undefined && !record.replaced && !isOpen;
}

function isCard(message: Message, cards: ReadonlySet<string>): boolean {
  if (message.role === "tool") return cards.has(message.toolCallId);
  return message.role === "assistant" && !message.content && Boolean(message.toolCalls?.every(({ id }) => cards.has(id)));
}
