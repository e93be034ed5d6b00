import type { Message, RunAgentInput } from "@ag-ui/client";
import { useAgent, useCopilotKit } from "@copilotkit/react-core/v2";
import { useCallback, useEffect, useRef, useState } from "react";
import { hasRun } from "agui-gate-components/core/records.js";
import type { LedgerStore } from "../components/confirm-card/Ledger";
import { toStopped, type Problem } from "../problems";
import { newId } from "../thread";
import type { Editing } from "./EditMessage";
import type { Undoing } from "./GoBack";
import type { Used } from "./useCutOff";

/** What the last run took, as the server counted it. */
export interface RunUsage {
  seconds: number;
  input: number;
  output: number;
}

/** What the chat has used. `cost`: in dollars, as the server estimated it when the chat was read; null if it doesn't say. */
export interface ChatUsage {
  tokens: number;
  cost: number | null;
}

interface Options {
  /** The server has the chat already: what it has used is not known until the server says it. */
  isListed: boolean;
  store: LedgerStore;
  /** Reads its records now. */
  read: () => Promise<void>;
  onSend: () => void;
  onRunOver: () => void;
  /** A stream ended without the event that ends a run (`began`), or without any; CopilotKit takes that for success. */
  onCut: (began: boolean) => void;
  /** A limit stopped the run. */
  onStopped: (problem: Problem) => void;
}

/** Whether a run says something that wants an answer. */
function asks({ messages, resume }: RunAgentInput): boolean {
  const last = messages.at(-1)?.role;
  return Boolean(resume?.length) || last === "user" || last === "tool";
}

/** What the person said last, as far as there is no answer to it. */
const saidLast = (messages: readonly Message[]): Message[] => messages.slice(messages.findLastIndex(({ role }) => role !== "user") + 1);

/** The gated calls of these messages that took effect, by the server's word; not those that an earlier answer had left behind. */
function ranIn(messages: readonly Message[], store: LedgerStore) {
  const ids = messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : [])).map(({ id }) => id);
  return ids.flatMap((id) => store.records().get(id) ?? []).filter((record) => (hasRun(record) || record.state === "claimed") && !record.replaced);
}

/** What the page does with the conversation besides showing it. */
export function useConversation({ isListed, store, read, onSend, onRunOver, onCut, onStopped }: Options) {
  const { agent, isReady } = useAgent({ updates: [] });
  const { copilotkit } = useCopilotKit();
  const [usage, setUsage] = useState<RunUsage | null>(null);
  const [chat, setChat] = useState<ChatUsage | null>(isListed ? null : { tokens: 0, cost: null });
  const [undoing, setUndoing] = useState<Undoing | null>(null);
  const [editing, setEditing] = useState<Editing | null>(null);

  const next = useRef<(() => void) | null>(null); // what is to be done once the run that is on has ended
  const isHalf = useRef(false); // the last answer broke off
  const unsaid = useRef<Message[]>([]); // what the server may not have, as the run that was to tell it never began or broke off
  const early = useRef(""); // what was said before the agents were known: until then this is another agent, which goes

  useEffect(() => {
    let started = 0;
    let open: "asked" | "begun" | null = null;
    let said: Message[] = [];
    let isLost = false;
    const close = () => {
      open = null;
    };
    const fail = () => {
      isHalf.current = open === "begun";
      isLost = true;
      close();
    };
    /** The conversation was read again, from a server that doesn't have all that was said: that goes behind the rest, to be sent again. */
    const keep = () => {
      if (agent.isRunning) return;
      const known = new Set(agent.messages.map(({ id }) => id));
      unsaid.current = isLost ? said : said.filter(({ id }) => !known.has(id));
      if (isLost || unsaid.current.length === 0) return;
      agent.setMessages([...agent.messages, ...unsaid.current]);
      onCut(true);
    };
    const { unsubscribe } = agent.subscribe({
      onRunInitialized: ({ input }) => {
        open = asks(input) ? "asked" : null; // nothing need come of a mere connect
        next.current = null;
        isHalf.current = isLost = false;
        const asked = saidLast(input.messages);
        said = asked.length > 0 ? asked : unsaid.current;
        started = performance.now();
        setUsage(null);
        onSend();
      },
      onRunStartedEvent: () => {
        open = "begun";
      },
      onRunErrorEvent: close,
      onRunFailed: fail,
      onRunFinishedEvent: ({ event }) => {
        close();
        const stopped = toStopped(event);
        if (stopped) onStopped(stopped);
        const entries = event.usage ?? [];
        const sum = (key: "inputTokens" | "outputTokens") => entries.reduce((total, entry) => total + (entry[key] ?? 0), 0);
        if (entries.length === 0) return;
        const [input, output] = [sum("inputTokens"), sum("outputTokens")];
        setUsage({ seconds: (performance.now() - started) / 1000, input, output });
        setChat((used) => used && { tokens: used.tokens + input + output, cost: null });
      },
      onRunFinalized: () => {
        if (open) {
          onCut(open === "begun");
          fail();
        }
        onRunOver();
        setTimeout(next.current ?? keep); // the client isn't through with it yet
        next.current = null;
      },
    });
    return unsubscribe;
  }, [agent, onSend, onRunOver, onCut, onStopped]);

  const goOnFrom = useCallback(
    (messages: Message[]) => {
      setUndoing(null);
      setEditing(null);
      store.given.clear(); // what was decided in the part that goes
      agent.setMessages(messages);
      void copilotkit.runAgent({ agent });
    },
    [agent, copilotkit, store],
  );

  /** Ask the question again that a message answers: the answer, what led to it and all that came after are taken back. */
  const regenerate = useCallback(
    async ({ id }: Pick<Message, "id">) => {
      await read(); // what ran a moment ago is named too
      const at = agent.messages.findIndex((message) => message.id === id);
      const question = agent.messages.slice(0, at).findLastIndex(({ role }) => role === "user");
      if (agent.isRunning || question < 0) return;
      const go = () => goOnFrom(agent.messages.slice(0, question + 1));
      const records = ranIn(agent.messages.slice(question), store);
      if (records.length === 0) go();
      else setUndoing({ records, onConfirm: go, onClose: () => setUndoing(null) });
    },
    [agent, goOnFrom, read, store],
  );

  /** Say a message in other words, and go on from there. */
  const edit = useCallback(
    async ({ message }: { message: Message }) => {
      await read();
      const at = agent.messages.findIndex(({ id }) => id === message.id);
      if (agent.isRunning || message.role !== "user" || typeof message.content !== "string") return;
      const onSend = (content: string) => goOnFrom([...agent.messages.slice(0, at), { ...message, content }]);
      setEditing({ text: message.content, records: ranIn(agent.messages.slice(at), store), onSend, onClose: () => setEditing(null) });
    },
    [agent, goOnFrom, read, store],
  );

  const say = useCallback(
    (text: string) => {
      early.current = isReady ? "" : text;
      if (!isReady) return;
      agent.addMessage({ id: newId(), role: "user", content: text });
      void copilotkit.runAgent({ agent });
    },
    [agent, isReady, copilotkit],
  );
  useEffect(() => {
    if (isReady && early.current) say(early.current);
  }, [isReady, say]);

  /**
   * Send again what got no answer (`hasFailed`: not a whole one, so half of one is dropped). If there is nothing of that
   * kind, do what is given instead. As long as a run is on it waits for the end; but not for one that may never come.
   */
  const again = useCallback(
    (hasFailed = false, instead?: () => void) => {
      const send = () => {
        const last = agent.messages.findLastIndex(({ role }) => role === "user" || role === "tool");
        if (last < 0 || (!hasFailed && !isHalf.current && last < agent.messages.length - 1)) return instead?.();
        agent.setMessages(agent.messages.slice(0, last + 1));
        if (hasFailed) agent.pendingInterrupts = []; // their answers are with the server
        void copilotkit.runAgent({ agent });
      };
      const isEnding = hasFailed && !next.current; // who asks a second time has waited
      if (!agent.isRunning) send();
      else if (instead && !isEnding) instead();
      else next.current = send;
    },
    [agent, copilotkit],
  );

  /** Go on from what the server has: nothing of it is half. */
  const goOn = useCallback(() => {
    if (!agent.isRunning) void copilotkit.runAgent({ agent });
  }, [agent, copilotkit]);

  /** Take back the message that had no answer: as long as it is part of the conversation, it is sent along. */
  const takeBack = useCallback(() => {
    unsaid.current = [];
    if (agent.messages.at(-1)?.role === "user") agent.setMessages(agent.messages.slice(0, -1));
  }, [agent]);

  const learnUsed = useCallback(({ input_tokens, output_tokens, cost }: Used) => setChat({ tokens: input_tokens + output_tokens, cost }), []);

  return { regenerate, undoing, edit, editing, say, again, goOn, takeBack, usage, chat, learnUsed };
}
