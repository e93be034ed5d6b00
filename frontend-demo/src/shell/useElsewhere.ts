import { useAgent, useCopilotKit, UseAgentUpdate } from "@copilotkit/react-core/v2";
import { useCallback, useEffect, useRef } from "react";
import { parseObject } from "../components/confirm-card/values";
import { SERVER, type Via } from "../connection";

const SOON = 2000; // ms until the first look
const RARELY = 15_000; // ms between looks at most

interface Options {
  via: Via;
  headers: Record<string, string>;
}

/**
 * Notices that an open approval was decided elsewhere (in another tab, by another device, from a terminal) and reads
 * the conversation again. It looks only while the page is visible and something is open, less and less often, and at
 * once when the person comes back to the page.
 *
 * Returns whether something is open, and what to call when a decision is made here: as long as it waits for the last one
 * to go out with, nothing is read again, for that would undo it. The server settles an answer that comes too late, and
 * what runs then shows it.
 */
export function useElsewhere({ via, headers }: Options): { isOpen: boolean; decided: () => void } {
  const { agent } = useAgent({ updates: [UseAgentUpdate.OnRunStatusChanged] });
  const { copilotkit } = useCopilotKit();
  const open = agent.isRunning ? "" : openCalls(agent).join(" ");
  const readFor = useRef("");
  const hasUnsent = useRef(false);
  const decided = useCallback(() => {
    hasUnsent.current = true;
  }, []);
  useEffect(() => {
    if (agent.isRunning) hasUnsent.current = false; // they are on their way
  }, [agent.isRunning]);

  useEffect(() => {
    if (!open || open === readFor.current) return; // what reading again didn't settle, an answer will
    const read = () => {
      readFor.current = open;
      agent.pendingInterrupts = []; // else the client refuses to connect
      if (via === "runtime") agent.setMessages([]); // the runtime replays; on top of what is there, text would double
      void copilotkit.connectAgent({ agent });
    };
    return lookOut(async () => {
      if (hasUnsent.current) return null;
      const pending = await pendingCalls(agent.threadId, headers);
      const settled = pending !== null && !agent.isRunning && !hasUnsent.current && open.split(" ").some((id) => !pending.has(id));
      return settled ? read : null;
    });
  }, [agent, copilotkit, headers, open, via]);
  return { isOpen: open !== "", decided };
}

type Look = () => Promise<(() => void) | null>;

/** Looks until there is something to do, and does it. Returns what ends it. */
function lookOut(look: Look): () => void {
  let wait = SOON;
  let busy = false;
  let over = false;
  let timer = 0;
  const now = async () => {
    if (busy || document.visibilityState !== "visible") return; // coming back is what wakes it
    busy = true;
    clearTimeout(timer);
    const found = await look();
    busy = false;
    if (over) return;
    if (found) return found();
    timer = window.setTimeout(() => void now(), wait);
    wait = Math.min(wait * 1.5, RARELY);
  };
  const back = () => {
    wait = SOON;
    void now();
  };
  timer = window.setTimeout(() => void now(), wait);
  addEventListener("focus", back);
  document.addEventListener("visibilitychange", back);
  return () => {
    over = true;
    clearTimeout(timer);
    removeEventListener("focus", back);
    document.removeEventListener("visibilitychange", back);
  };
}

type Agent = ReturnType<typeof useAgent>["agent"];

/** The gated calls that this page shows as open: by cards without an answer, and by interrupts. */
function openCalls({ messages, pendingInterrupts }: Agent): string[] {
  const answered = new Set(messages.map((message) => (message.role === "tool" ? message.toolCallId : null)));
  const calls = messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  const cards = calls.filter(({ id, function: { name } }) => name === "confirm_changes" && !answered.has(id));
  const carded = cards.map(({ function: card }) => parseObject(card.arguments)?.function_call_id);
  return [...carded, ...pendingInterrupts.map(({ toolCallId }) => toolCallId)].filter((id) => typeof id === "string");
}

/** The calls for which the server waits in a thread; null if it doesn't say. */
async function pendingCalls(thread: string, headers: Record<string, string>): Promise<Set<string> | null> {
  try {
    const response = await fetch(new URL("approvals", SERVER), { headers });
    if (!response.ok) return null;
    const { approvals } = (await response.json()) as { approvals: { thread_id: string; call_id: string }[] };
    return new Set(approvals.filter(({ thread_id }) => thread_id === thread).map(({ call_id }) => call_id));
  } catch {
    return null; // away for the moment; what the person does next will say so
  }
}
