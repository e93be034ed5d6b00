import { useAgent, useCopilotKit, UseAgentUpdate } from "@copilotkit/react-core/v2";
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { ask } from "./ask";
import { isClosed } from "agui-gate-components/core/records.js";
import type { CallRecord } from "./elements";
import { LedgerStore } from "./Ledger";
import { lookOut } from "./lookOut";
import { openCalls } from "./open";
import { learnTime } from "agui-gate-components/core/servertime.js";
import { isUnread } from "./unread";
import { parseJson } from "agui-gate-components/core/json.js";

interface Source {
  /** Where the server is, with a slash at the end. */
  server: string;
  headers?: Record<string, string>;
  /** CopilotKit's Node runtime stands in between. It tells again what went through itself, so the server is asked. */
  hasRuntime?: boolean;
  /** The server has this chat: if nothing is told of it, there is something to read. */
  isListed?: boolean;
}

/** `GET /threads/{id}?view=calls`. */
interface Told {
  run: { key: string; status: string } | null;
  updated_at: string;
  calls: CallRecord[];
}

const SOON = 1500; // ms between looks while something is open
const REFUSED = "agui-gate:answer_refused"; // an answer came too late: the event says what is true, also where the records can't be read
const AFTERWARDS = 6000; // ms in which the conversation may go on after a decision that was made elsewhere

/**
 * The server's word about the gated calls of this chat: after every run, and every 1.5 s while something is open and the
 * page is visible; `read` does so now. What was decided elsewhere is shown by itself: the conversation is read again. Call it once inside
 * `CopilotKitProvider`, and give what it returns to `Ledger`.
 */
export function useLedger({ server, headers, hasRuntime = false, isListed = false }: Source): { store: LedgerStore; isOpen: boolean; read: () => Promise<void> } {
  const { agent } = useAgent({ updates: [UseAgentUpdate.OnRunStatusChanged] });
  const { copilotkit } = useCopilotKit();
  const [store] = useState(() => new LedgerStore());
  const reader = useRef<Reader>(null);
  reader.current ??= new Reader(store);
  Object.assign(reader.current, { server, headers, agent, hasRuntime, isListed });
  const isGone = useSyncExternalStore(store.subscribe, store.isGone);
  const isOpen = !agent.isRunning && openCalls(agent).length > 0;

  useEffect(() => {
    reader.current?.mark();
  }, [agent.isRunning]);

  useEffect(() => {
    const read = () => void reader.current?.refresh();
    const sends = () => void (store.hasUnsent = false); // a run that fails at once is never drawn as running
    const failed = ({ error }: { error: Error & { status?: number } }) => void reader.current?.failed(error.status);
    const custom = ({ event: { name, value } }: { event: { name: string; value?: { record?: CallRecord } } }) => {
      if (name === REFUSED && value?.record) store.learn(value.record);
    };
    const { unsubscribe } = agent.subscribe({ onRunInitialized: sends, onCustomEvent: custom, onToolCallResultEvent: read, onRunFinalized: read, onRunFailed: failed });
    return unsubscribe;
  }, [agent, store]);

  useEffect(
    () =>
      lookOut(SOON, async () => {
        const ledger = reader.current;
        if (!ledger?.isWanted()) return "on";
        const news = await ledger.news();
        if (store.isGone()) return ((agent.pendingInterrupts = []), "over");
        if (news === null) return "away";
        if (news === "none" || agent.isRunning || store.hasUnsent) return "on";
        ledger.reads(news);
        if (hasRuntime) return (await ledger.takeMessages(), "on");
        agent.pendingInterrupts = []; // else the client refuses to connect
        void copilotkit.connectAgent({ agent });
        return "on";
      }),
    [agent, copilotkit, hasRuntime, store],
  );
  const [read] = useState(() => async () => void (await reader.current?.read()));
  return { store, isOpen: isOpen && !isGone, read };
}

type Agent = ReturnType<typeof useAgent>["agent"];

/** Why the conversation is to be read again: what was seen, and the latest run as it was then. */
interface News {
  sign: string;
  run?: string;
}

/** What was read, and what of it led to reading the conversation again: nothing does so twice. */
class Reader {
  server = "";
  headers?: Record<string, string>;
  agent!: Agent;
  hasRuntime = false;
  isListed = false;
  #seen = "";
  #until = 0;
  #isOpen = false;
  #isMissing = false;
  #isReading = false;
  #isStale = false;
  /** A run that goes on in the background and can't be followed, so that its end has to be looked for. */
  #watched = "";
  /** The latest run whose end the conversation here has. */
  #known = "";
  /** While the conversation is read again: the latest run before that, whose end it will have. */
  #asked: string | undefined;
  /** Calls that were open here until the records said that they are closed. As such they are news until the conversation is read again. */
  readonly #closed = new Set<string>();
  /** How many times the records were asked for, and which of the answers is the latest here. */
  #turns = { asked: 0, taken: 0 };

  readonly store: LedgerStore;

  constructor(store: LedgerStore) { this.store = store; }

  /** Whether there is anything to look for: what waits or is being carried out, and what follows a decision. */
  isWanted(): boolean {
    if (this.agent.isRunning || this.#isReading) return false;
    return openCalls(this.agent).length > 0 || this.#closed.size > 0 || this.#isOpen || this.#isMissing || this.#isBehind() || this.#watched !== "" || this.#isExpectant();
  }

  /** The conversation may go on elsewhere, and be over before anybody looked. */
  #isExpectant = (): boolean => Date.now() < this.#until || this.store.unread() !== "";

  /** Notes the message after which the assistant has something to read. */
  mark(): void {
    const { isRunning, messages } = this.agent;
    if (isRunning) this.#closed.clear();
    this.store.mark((!isRunning && isUnread(messages, this.store.records(), this.store.isBusy()) && messages.at(-1)?.id) || "");
  }

  /**
   * A run that has ended may have begun after the conversation was read, which then lacks its answer. It does not if the
   * run was there before, or if the assistant has nothing left to read.
   */
  #know(run: Told["run"] | undefined): void {
    if (!run || run.status === "running" || this.agent.isRunning) return;
    if (run.key === this.#asked || this.store.unread() === "") this.#known = run.key;
  }

  /** The runtime knows what went through itself: of another chat nothing, and not what came of a call that was decided elsewhere. */
  #isBehind(): boolean {
    const { messages } = this.agent;
    if (!this.hasRuntime || messages.length === 0) return this.hasRuntime && this.isListed;
    const told = new Set(messages.map((message) => (message.role === "tool" ? message.toolCallId : null)));
    return [...this.store.records().values()].some(({ decision, state, replaced, call_id }) => decision && state !== "claimed" && !replaced && !told.has(call_id));
  }

  /** Answers that the server didn't take as another run was at work: if that decided them, the conversation is read again; else they stay to be sent again, as messages do. */
  failed(status: number | undefined): void {
    if (this.#asked !== undefined) this.#forget();
    this.#isMissing = status === 409 && this.agent.messages.at(-1)?.role === "tool";
  }

  /** Reads the records, once more at the end if they may have changed meanwhile. */
  async refresh(): Promise<void> {
    this.#isStale = true;
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#isStale) {
      this.#isStale = false;
      this.#know((await this.read())?.run);
    }
    this.#isReading = false;
    if (!this.agent.isRunning) this.#asked = undefined;
  }

  /** The records as they are now; null if the server doesn't say, or said something newer meanwhile. A chat without an answer has none. */
  async read(): Promise<Told | null> {
    if (!this.#isBehind() && !this.agent.messages.some(({ role }) => role === "assistant")) return null;
    const turn = (this.#turns.asked += 1);
    const told = await this.#get<Told>(`threads/${encodeURIComponent(this.agent.threadId)}?view=calls`);
    if (!told || turn < this.#turns.taken) return null;
    this.#turns.taken = turn;
    const open = this.agent.isRunning ? [] : openCalls(this.agent);
    this.store.take(told.calls, told.run?.status === "running");
    for (const id of open) if (isClosed(this.store.records().get(id))) this.#closed.add(id);
    this.#isOpen = told.calls.some(({ state }) => state === "pending" || state === "claimed");
    this.mark();
    return told;
  }

  /** Whether something that is open here was closed elsewhere, or the conversation goes on without this page; null if the server doesn't say. */
  async news(): Promise<News | "none" | null> {
    const told = await this.read();
    if (!told) return null;
    const closed = [...this.#closed].map((id) => [id, this.store.records().get(id)?.state]);
    const isRunning = told.run?.status === "running";
    if (!this.#isExpectant()) this.#know(told.run);
    const run = told.run && (isRunning || told.run.key !== this.#known || this.#watched === told.run.key) ? [told.run.key, told.run.status, this.hasRuntime && told.updated_at] : null;
    this.#watched = isRunning && this.hasRuntime ? (told.run?.key ?? "") : "";
    const isBehind = this.#isBehind();
    const news = { sign: JSON.stringify([closed, run, isBehind]), run: told.run?.key };
    if (this.#isMissing) return this.#isMissed(isRunning) ? news : "none";
    return (closed.length === 0 && !run && !isBehind) || news.sign === this.#seen ? "none" : news;
  }

  /** Whether the answers that weren't taken are closed now. */
  #isMissed(isRunning: boolean): boolean {
    if (isRunning) return false;
    this.#isMissing = false;
    return [...this.store.answers().keys()].every((id) => isClosed(this.store.records().get(id)));
  }

  /** The conversation is read again because of this. */
  reads({ sign, run }: News): void {
    this.#seen = sign;
    this.#asked = run;
    this.#until = Date.now() + AFTERWARDS;
  }

  /** It could not be read: the same leads to it again. */
  #forget(): void {
    this.#seen = "";
    this.#asked = undefined;
  }

  /** The conversation as the server has it, where connecting again would not bring it. */
  async takeMessages(): Promise<void> {
    const last = this.agent.messages.at(-1);
    const thread = await this.#get<Pick<Told, "run"> & { messages: Agent["messages"]; state: Agent["state"] }>(`threads/${encodeURIComponent(this.agent.threadId)}`);
    const isOld = this.agent.isRunning || this.agent.messages.at(-1) !== last; // something was said here meanwhile
    if (!thread || isOld || this.store.hasUnsent) return this.#forget();
    this.#closed.clear();
    this.agent.setMessages(thread.messages);
    if (JSON.stringify(thread.state) !== JSON.stringify(this.agent.state ?? {})) this.agent.setState(thread.state);
    this.#asked = undefined;
    if (thread.run && thread.run.status !== "running") this.#known = thread.run.key;
    this.mark();
    this.agent.pendingInterrupts = this.agent.pendingInterrupts.filter(({ id }) => !isClosed(this.store.records().get(id)));
  }

  async #get<T>(path: string): Promise<T | null> {
    try {
      const response = await ask(new URL(path, this.server), { headers: this.headers });
      learnTime(response.headers.get("date"));
      if (response.status === 404 && this.store.records().size > 0) this.store.gone();
      return response.ok ? (parseJson(await response.text()) as T) : null;
    } catch {
      return null; // away for the moment; what the person does next will say so
    }
  }
}
