import type { RunAgentInput } from "@ag-ui/client";
import { useAgent, useCopilotKit } from "@copilotkit/react-core/v2";
import { useCallback, useEffect, useState } from "react";
import { newId } from "../thread";

/** What the last run took, as the server counted it. */
export interface RunUsage {
  seconds: number;
  input: number;
  output: number;
}

interface Listeners {
  onSend: () => void;
  onSettled: () => void;
  /** A stream ended without the event that ends a run (`began`), or without any; CopilotKit takes that for success. */
  onCut: (began: boolean) => void;
}

/** Whether a run says something that wants an answer. */
function asks({ messages, resume }: RunAgentInput): boolean {
  const last = messages.at(-1)?.role;
  return Boolean(resume?.length) || last === "user" || last === "tool";
}

/** What the page does with the conversation besides showing it. */
export function useConversation({ onSend, onSettled, onCut }: Listeners) {
  const { agent } = useAgent({ updates: [] });
  const { copilotkit } = useCopilotKit();
  const [usage, setUsage] = useState<RunUsage | null>(null);

  useEffect(() => {
    let started = 0;
    let open: "asked" | "begun" | null = null;
    const close = () => {
      open = null;
    };
    const { unsubscribe } = agent.subscribe({
      onRunInitialized: ({ input }) => {
        open = asks(input) ? "asked" : null; // nothing need come of a mere connect
        started = performance.now();
        setUsage(null);
        onSend();
      },
      onRunStartedEvent: () => {
        open = "begun";
      },
      onRunErrorEvent: close,
      onRunFailed: close,
      onRunFinishedEvent: ({ event }) => {
        close();
        const entries = event.usage ?? [];
        const sum = (key: "inputTokens" | "outputTokens") => entries.reduce((total, entry) => total + (entry[key] ?? 0), 0);
        if (entries.length > 0) setUsage({ seconds: (performance.now() - started) / 1000, input: sum("inputTokens"), output: sum("outputTokens") });
      },
      onRunFinalized: () => {
        if (open) onCut(open === "begun");
        close();
        onSettled();
      },
    });
    return unsubscribe;
  }, [agent, onSend, onSettled, onCut]);

  /** Ask the last question again: the answer and what led to it are taken back. */
  const regenerate = useCallback(() => {
    if (agent.isRunning) return;
    const last = agent.messages.findLastIndex(({ role }) => role === "user");
    agent.setMessages(agent.messages.slice(0, last + 1));
    void copilotkit.runAgent({ agent });
  }, [agent, copilotkit]);

  const say = useCallback(
    (text: string) => {
      agent.addMessage({ id: newId(), role: "user", content: text });
      void copilotkit.runAgent({ agent });
    },
    [agent, copilotkit],
  );

  /** Send again what got no answer; false if there is nothing of that kind. */
  const again = useCallback(() => {
    const last = agent.messages.at(-1)?.role;
    if (agent.isRunning || (last !== "user" && last !== "tool")) return false;
    void copilotkit.runAgent({ agent });
    return true;
  }, [agent, copilotkit]);

  /** Take back the message that had no answer: as long as it is part of the conversation, it is sent along. */
  const takeBack = useCallback(() => {
    if (agent.messages.at(-1)?.role === "user") agent.setMessages(agent.messages.slice(0, -1));
  }, [agent]);

  return { regenerate, say, again, takeBack, usage };
}
