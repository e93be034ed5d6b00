import { CopilotChat, useAgent, UseAgentUpdate } from "@copilotkit/react-core/v2";
import { useCallback, useEffect, useMemo, type ReactNode, type RefObject } from "react";
import type { AgentInfo } from "../agents";
import { ConfirmCard, Ledger, useLedger } from "../components/confirm-card";
import { Interrupts } from "../components/interrupt";
import { SharedState } from "../components/shared-state";
import { TeamCall, TeamMessage, TeamProvider, TeamReasoning } from "../components/team";
import { ToolChips } from "../components/tool-chips";
import { SERVER, type Choice } from "../connection";
import type { Problem } from "../problems";
import { EditMessage } from "./EditMessage";
import { GoBack } from "./GoBack";
import { ThemeTool } from "./ThemeTool";
import { Usage } from "./Usage";
import { useConversation } from "./useConversation";
import { CutOff, useCutOff } from "./useCutOff";
import { useLeave } from "./useLeave";
import { Welcome } from "./Welcome";

interface Props {
  agent: AgentInfo;
  /** Agents by the tools that delegate to them. */
  delegates: Readonly<Record<string, string>>;
  thread: string;
  choice: Choice;
  headers: Record<string, string>;
  /** The server has it. */
  isListed: boolean;
  onSend: () => void;
  /** After every run: titles and marks in the list may have changed. */
  onRunOver: () => void;
  /** The answer broke off, or never began. */
  onCut: (began: boolean) => void;
  /** A limit stopped the run. */
  onStopped: (problem: Problem) => void;
  /** Gets what can be done about a message that had no answer. */
  resend: RefObject<Resend>;
}

export type Resend = Pick<ReturnType<typeof useConversation>, "again" | "goOn" | "takeBack">;

/** The conversation. What is registered decides the style: with the confirm card the server shows cards, else interrupts. What was asked by interrupt before is so asked also where there are cards. */
export function Chat({ agent, delegates, thread, choice, headers, isListed, onSend, onRunOver, onCut, onStopped, resend }: Props) {
  const { store, isOpen, read } = useLedger({ server: SERVER, headers, hasRuntime: choice.via === "runtime", isListed });
  const { regenerate, undoing, edit, editing, say, usage, chat, learnUsed, again, goOn, takeBack } = useConversation({ isListed, onSend, onRunOver, onCut, onStopped, store, read });
  useEffect(() => {
    resend.current = { again, goOn, takeBack };
  }, [resend, again, goOn, takeBack]);
  useEscape();
  useLeave(store);
  const cut = useCutOff(headers, isListed, learnUsed);
  const onDecide = useCallback(() => void requestAnimationFrame(moveOn), []);
  const labels = useMemo(() => ({ chatInputPlaceholder: isOpen ? OPEN : "Message…", chatDisclaimerText: isOpen ? LEAVING : DISCLAIMER }), [isOpen]);
  const { isRunning } = useAgent({ updates: [UseAgentUpdate.OnRunStatusChanged] }).agent;
  return (
    <Ledger store={store}>
      {choice.style === "card" && <ConfirmCard onDecide={onDecide} />}
      <Interrupts onDecide={onDecide} />
      <ToolChips Chip={TeamCall} />
      <ThemeTool />
      <div className="conversation" data-agent={agent.name} data-open={isOpen}>
        <EmptyOnly>
          <Welcome agent={agent} onChoose={say} />
        </EmptyOnly>
        <SharedState />
        <CutOff value={cut}>
          <TeamProvider entry={agent.name} delegates={delegates} onRegenerate={regenerate}>
            <CopilotChat
              threadId={thread}
              labels={labels}
              input={{ sendButton: { "aria-label": isRunning ? "Stop" : "Send" }, textArea: { "aria-label": "Message" } }}
              scrollView={{ scrollToBottomButton: { "aria-label": "Go to the latest message" } }}
              messageView={{ userMessage: { onEditMessage: edit }, assistantMessage: TeamMessage, reasoningMessage: TeamReasoning }}
            />
          </TeamProvider>
        </CutOff>
        <Usage run={usage} chat={chat} />
      </div>
      {undoing && <GoBack {...undoing} />}
      {editing && <EditMessage {...editing} />}
    </Ledger>
  );
}

const DISCLAIMER = "Actions that need your approval never run without it.";
/** What a message means while approvals are open. */
const LEAVING = "A message cancels what is not decided above. It will not run.";
/** What can be done then. */
const OPEN = matchMedia("(hover: none), (max-width: 700px)").matches ? "Decide above, or write…" : "Decide above (Esc), or write…";

const OPEN_CARD = ".conversation agui-confirm-card:is([mode=view], [mode=edit], [mode=reject], [mode=question])";

/** Escape, where it means nothing else, leads to the open card, where letters decide. */
function useEscape() {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const card = document.querySelector<HTMLElement>(OPEN_CARD);
      const isTaken = document.querySelector('dialog[open], .sidebar[data-open="true"]');
      if (event.key !== "Escape" || event.defaultPrevented || isTaken || !card || card.contains(document.activeElement)) return;
      event.preventDefault();
      card.focus();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}

/** The card that had the focus is gone: on to the next one, else to where one types (on a touch screen that would open the keyboard). */
function moveOn() {
  const focused = document.activeElement;
  if (focused !== document.body && !focused?.matches(`agui-confirm-card:not(${OPEN_CARD})`)) return;
  const next = document.querySelector<HTMLElement>(OPEN_CARD);
  if (next) next.focus();
  else if (!matchMedia("(pointer: coarse)").matches) document.querySelector<HTMLElement>('[data-testid="copilot-chat-textarea"]')?.focus();
}

/** Its children, while the thread has no message. */
function EmptyOnly({ children }: { children: ReactNode }) {
  const { agent } = useAgent({ updates: [UseAgentUpdate.OnMessagesChanged, UseAgentUpdate.OnRunStatusChanged] });
  return agent.messages.length === 0 && !agent.isRunning ? children : null;
}
