import type { AbstractAgent } from "@ag-ui/client";
import { parseObject } from "./values";

/** The gated calls that this page shows as open: by cards without an answer, and by interrupts. */
export function openCalls({ messages, pendingInterrupts }: Pick<AbstractAgent, "messages" | "pendingInterrupts">): string[] {
  const answered = new Set(messages.map((message) => (message.role === "tool" ? message.toolCallId : null)));
  const calls = messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  const cards = calls.filter(({ id, function: { name } }) => name === "confirm_changes" && !answered.has(id));
  const carded = cards.map(({ function: card }) => parseObject(card.arguments)?.function_call_id);
  return [...carded, ...pendingInterrupts.map(({ toolCallId }) => toolCallId)].filter((id) => typeof id === "string");
}
