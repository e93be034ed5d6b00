import type { AbstractAgent, Message, ToolCall } from "@ag-ui/client";
import { parseObject } from "agui-gate-components/core/json.js";

/** The tool whose calls are cards. */
export const CARD = "confirm_changes";

/** The gated calls that this page shows as open: by cards without an answer, and by interrupts. */
export function openCalls({ messages, pendingInterrupts }: Pick<AbstractAgent, "messages" | "pendingInterrupts">): string[] {
  const carded = unanswered(messages).map(({ function: card }) => parseObject(card.arguments)?.function_call_id);
  return [...carded, ...pendingInterrupts.map(({ toolCallId }) => toolCallId)].filter((id) => typeof id === "string");
}

/** The cards without an answer since the last message of the person, by their own calls' ids, in the order in which they open. */
export const openCards = (messages: readonly Message[]): string[] => unanswered(messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1)).map(({ id }) => id);

function unanswered(messages: readonly Message[]): ToolCall[] {
  const answered = new Set(messages.map((message) => (message.role === "tool" ? message.toolCallId : null)));
  const calls = messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  return calls.filter(({ id, function: { name } }) => name === CARD && !answered.has(id));
}
