import type { Message } from "@ag-ui/client";
import { useAgent, UseAgentUpdate } from "@copilotkit/react-core/v2";
import { createContext, useContext, useEffect, useState } from "react";
import { ask } from "../components/confirm-card/ask";
import { SERVER } from "../connection";

/** The messages of the answers that were stopped or broke off, and the messages that were stopped before there was a word of an answer. */
export const CutOff = createContext<ReadonlySet<string>>(new Set());

const SOON = 500; // ms until the server is asked again, while the run that was stopped is still ending
const TRIES = 20;

/** What a chat has used, as `GET /threads/{id}` has it where usage is kept. */
export interface Used {
  input_tokens: number;
  output_tokens: number;
  cost: number | null;
}

interface Told {
  run: { status: string } | null;
  usage?: { total: Used };
  messages: (Message & { metadata?: { "agui-gate"?: { cut?: boolean } } })[];
}

/**
 * What was cut off in this chat. The client leaves out the metadata of texts, so the server is asked for the thread: when the chat
 * was opened, and after a run that had no good end. What such a run was saying is cut off at once. `onUsed` gets what the chat has used by then. `isListed`: the server has the chat.
 */
export function useCutOff(headers: Record<string, string>, isListed: boolean, onUsed: (used: Used) => void): ReadonlySet<string> {
  const { agent } = useAgent({ updates: [] });
  const [cut, setCut] = useState<ReadonlySet<string>>(new Set());
  const [wasListed] = useState(isListed);
  useEffect(() => {
    let [isRead, isBegun, isWhole, isSaying, isStopped, isThere, tries] = [false, false, false, false, false, wasListed, 0];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const add = (ids: string[]) => setCut((known) => (ids.every((id) => known.has(id)) ? known : new Set([...known, ...ids])));
    const read = async () => {
      const response = await ask(new URL(`threads/${encodeURIComponent(agent.threadId)}`, SERVER), { headers }).catch(() => null);
      const told = response?.ok ? ((await response.json()) as Told) : null;
      const messages = told?.messages ?? [];
      if (told?.usage && !agent.isRunning) onUsed(told.usage.total);
      add(messages.filter(({ metadata }) => metadata?.["agui-gate"]?.cut).map(({ id }) => id));
      const last = messages.at(-1);
      if (told?.run?.status === "cancelled" && last?.role === "user") add([last.id]);
      if (told?.run?.status === "running" && !agent.isRunning && (tries += 1) < TRIES) timer = setTimeout(read, SOON);
    };
    const stop = agent.abortRun.bind(agent);
    agent.abortRun = () => {
      isStopped = true;
      stop();
    };
    const { unsubscribe } = agent.subscribe({
      onRunInitialized: () => {
        [isBegun, isWhole, isSaying, isStopped, tries] = [false, false, false, false, 0];
        clearTimeout(timer);
      },
      onRunStartedEvent: () => {
        isBegun = true;
        if (isStopped) stop(); // it had overtaken its run, and found nothing to stop
      },
      onTextMessageStartEvent: () => {
        isSaying = true;
      },
      onReasoningMessageStartEvent: () => {
        isSaying = true;
      },
      onMessagesSnapshotEvent: ({ event }) => {
        [isSaying, isThere] = [false, wasListed || event.messages.length > 0]; // else the server need not have the chat
      },
      onRunFinishedEvent: ({ event }) => {
        isWhole = (event as { outcome?: { type?: string } }).outcome?.type !== "cancelled";
      },
      onRunFinalized: ({ messages }) => {
        const last = messages.at(-1);
        if (!isWhole && isSaying && (last?.role === "assistant" || last?.role === "reasoning") && last.content) add([last.id]);
        if (isStopped && !isBegun && last?.role === "user") add([last.id]); // so the server has nothing to say of it
        if ((isBegun && !isWhole && messages.length > 0) || (!isRead && isThere)) void read();
        isRead = true;
      },
    });
    return () => {
      clearTimeout(timer);
      unsubscribe();
      agent.abortRun = stop;
    };
  }, [agent, headers, wasListed, onUsed]);
  return cut;
}

/** Stands below such an answer. */
export function CutLine({ of }: { of: string }) {
  return useContext(CutOff).has(of) ? <p className="cut" data-testid="cut">This answer was cut off before it was complete.</p> : null;
}

/** Stands below such a message, as long as it is the last one. */
export function StoppedLine({ of }: { of: string }) {
  const { agent } = useAgent({ updates: [UseAgentUpdate.OnRunStatusChanged, UseAgentUpdate.OnMessagesChanged] });
  const isStopped = useContext(CutOff).has(of) && !agent.isRunning && agent.messages.at(-1)?.id === of;
  return isStopped ? <p className="cut" role="status" data-testid="cut">Stopped before there was an answer.</p> : null;
}
