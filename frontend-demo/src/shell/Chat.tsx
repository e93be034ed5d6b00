import { CopilotChat, CopilotChatReasoningMessage, useAgent, UseAgentUpdate } from "@copilotkit/react-core/v2";
import { useEffect, type ReactNode, type RefObject } from "react";
import type { AgentInfo } from "../agents";
import { ConfirmCard } from "../components/confirm-card";
import { Interrupts } from "../components/interrupt";
import { ToolChips } from "../components/tool-chips";
import type { Choice } from "../connection";
import { ThemeTool } from "./ThemeTool";
import { Usage } from "./Usage";
import { useConversation } from "./useConversation";
import { useElsewhere } from "./useElsewhere";
import { Welcome } from "./Welcome";

interface Props {
  agent: AgentInfo;
  thread: string;
  choice: Choice;
  headers: Record<string, string>;
  onSend: () => void;
  /** After every run: titles and marks in the list may have changed. */
  onSettled: () => void;
  /** The answer broke off, or never began. */
  onCut: (began: boolean) => void;
  /** Gets what can be done about a message that had no answer. */
  resend: RefObject<Resend>;
}

export type Resend = Pick<ReturnType<typeof useConversation>, "again" | "takeBack">;

/** The conversation. What is registered decides the style: with the confirm card the server shows cards, else interrupts. */
export function Chat({ agent, thread, choice, headers, onSend, onSettled, onCut, resend }: Props) {
  const { regenerate, say, usage, again, takeBack } = useConversation({ onSend, onSettled, onCut });
  useEffect(() => {
    resend.current = { again, takeBack };
  }, [resend, again, takeBack]);
  const onDecide = useElsewhere({ via: choice.via, headers });
  const { isRunning } = useAgent({ updates: [UseAgentUpdate.OnRunStatusChanged] }).agent;
  return (
    <>
      {choice.style === "card" ? <ConfirmCard onDecide={onDecide} /> : <Interrupts onDecide={onDecide} />}
      <ToolChips />
      <ThemeTool />
      <div className="conversation">
        <EmptyOnly>
          <Welcome agent={agent} onChoose={say} />
        </EmptyOnly>
        <CopilotChat
          threadId={thread}
          labels={{ chatInputPlaceholder: "Message…", chatDisclaimerText: "Actions that need your approval never run without it." }}
          input={{ sendButton: { "aria-label": isRunning ? "Stop" : "Send" }, textArea: { "aria-label": "Message" } }}
          messageView={{ assistantMessage: { onRegenerate: regenerate }, reasoningMessage: CopilotChatReasoningMessage }}
        />
        <Usage usage={usage} />
      </div>
    </>
  );
}

/** Its children, while the thread has no message. */
function EmptyOnly({ children }: { children: ReactNode }) {
  const { agent } = useAgent({ updates: [UseAgentUpdate.OnMessagesChanged, UseAgentUpdate.OnRunStatusChanged] });
  return agent.messages.length === 0 && !agent.isRunning ? children : null;
}
