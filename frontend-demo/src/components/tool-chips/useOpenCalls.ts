import { useAgent, UseAgentUpdate } from "@copilotkit/react-core/v2";
import { parseObject } from "agui-gate-components/core/json.js";
import type { Json } from "agui-gate-components/core/types.js";

export const RUN = "run";

/** `run`, or between runs until when which call waits for a person, as JSON: the string changes only when they do. */
export function useOpenCalls(): string {
  const { agent } = useAgent({ updates: [UseAgentUpdate.OnRunStatusChanged] });
  if (agent.isRunning) return RUN;
  const carded = cardsIn(agent.messages).map((card) => [card.function_call_id, card.expires_at ?? ""]);
  const interrupts = agent.pendingInterrupts.map(({ toolCallId, metadata }) => [toolCallId, metadata?.expires_at ?? ""]);
  return JSON.stringify(Object.fromEntries([...carded, ...interrupts]));
}

/** The calls that wait for a person, by what `useOpenCalls` returns between runs. */
export const waitingIn = (open: string): string[] => Object.keys(parseObject(open) ?? {});

/** What the confirm cards in these messages say. */
export function cardsIn(messages: ReturnType<typeof useAgent>["agent"]["messages"]): Json[] {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  const cards = calls.filter(({ function: { name } }) => name === "confirm_changes");
  return cards.map(({ function: card }) => parseObject(card.arguments) ?? {});
}

