// Pages with a CopilotKit chat, without a browser: the real `@copilotkit/core`, used as `@copilotkit/react-core` uses it.
//
//   node copilotkit.mjs
//
// Obeys as `commands.mjs` says. `open` makes a page; what runs on it goes on in the background, and `until` waits for
// something to be seen there. A page keeps what a person would see: messages, cards that can be answered, open
// interrupts, errors of the provider's `onError`, and what was complained about on the console.

import { complaints, obey, Sight } from "./commands.mjs";

globalThis.window ??= {}; // without one the core takes itself for a server and asks for nothing

const { CopilotKitCore, ɵInterruptState, ɵcreateThreadStore } = await import("@copilotkit/core");

const ABORTED = "Human-in-the-loop interaction aborted";

class Page extends Sight {
  errors = [];
  cards = new Map();
  interrupts = new ɵInterruptState();
  busy = 0;

  async open({ url, agent = "support", thread, tools = [], headers = {}, transport = "auto", connect = true }) {
    this.url = url;
    this.headers = headers;
    this.core = new CopilotKitCore({ runtimeUrl: url, runtimeTransport: transport, headers, deferInitialConnection: true });
    for (const name of tools) this.core.addTool(this.tool(name));
    await new Promise((resolve) => {
      this.core.subscribe({
        onError: ({ error, code }) => this.changed(this.errors.push({ code, message: error.message })),
        onRuntimeConnectionStatusChanged: ({ status }) => ["connected", "error"].includes(status) && resolve(),
      });
      this.core.connect();
    });
    this.agents = Object.keys(this.core.agents);
    const registered = this.core.getAgent(agent);
    if (!registered) return this.seen();
    this.agent = registered.clone(); // one for each thread, as useAgent has it
    this.agent.threadId = thread;
    this.watch();
    if (connect) this.inBackground(this.core.connectAgent({ agent: this.agent }));
    return this.seen();
  }

  /** A card (useHumanInTheLoop) or a tool that the page runs by itself (useFrontendTool). */
  tool(name) {
    if (name !== "confirm_changes") return { name, handler: async (given) => ({ page: name, given }) };
    const handler = (given, { toolCall, signal }) =>
      new Promise((resolve, reject) => {
        const close = () => this.changed(this.cards.delete(toolCall.id));
        this.cards.set(toolCall.id, { given, respond: (answer) => (close(), resolve(answer)) });
        signal?.addEventListener("abort", () => (close(), reject(new Error(ABORTED))), { once: true });
        this.changed();
      });
    return { name, type: "human-in-the-loop", description: "Confirm.", handler };
  }

  /** What useInterrupt and the chat listen to. */
  watch() {
    let asked = [];
    this.agent.subscribe({
      onEvent: () => this.changed(),
      onRunStartedEvent: () => ((asked = []), this.interrupts.clear()),
      onRunFinishedEvent: ({ outcome, interrupts }) => outcome === "interrupt" && (asked = interrupts),
      onRunFinalized: () => {
        if (asked.length) this.interrupts.setStandard(asked);
        this.changed();
      },
      onRunFailed: () => ((asked = []), this.interrupts.clear(), this.changed()),
    });
  }

  inBackground(promise) {
    this.busy += 1;
    promise
      .catch((error) => this.errors.push({ code: "thrown", message: String(error) }))
      .finally(() => this.changed((this.busy -= 1)));
  }

  seen() {
    const standard = this.interrupts.pending?.interrupts ?? [];
    return {
      agents: this.agents,
      messages: this.agent?.messages ?? [],
      state: this.agent?.state ?? null,
      running: this.agent?.isRunning ?? false,
      cards: Object.fromEntries([...this.cards].map(([id, { given }]) => [id, given])),
      interrupts: standard,
      errors: this.errors,
      complaints,
    };
  }

  say({ text }) {
    this.agent.addMessage({ id: crypto.randomUUID(), role: "user", content: text });
    this.inBackground(this.core.runAgent({ agent: this.agent }));
  }

  respond({ card, answer }) {
    this.cards.get(card).respond(answer);
  }

  /** Answers one interrupt; the run goes out with the last one. Null for an answer is a cancellation. */
  resolve({ interrupt, answer }) {
    const decision = answer === null ? this.interrupts.cancel(interrupt) : this.interrupts.resolve(answer, interrupt);
    if (decision.kind !== "resume") return decision.kind;
    for (const { toolCallId, content } of decision.toolResults) {
      this.agent.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId, content });
    }
    this.inBackground(this.core.runAgent({ agent: this.agent, resume: decision.resume }));
    return decision.kind;
  }

  /** What useSuggestions shows: made anew, and waited for. */
  async suggest({ agent = "support", instructions }) {
    this.core.addSuggestionsConfig({ instructions, available: "always", providerAgentId: agent });
    this.core.getAgent(agent).setMessages(this.agent.messages);
    await new Promise((resolve) => {
      const { unsubscribe } = this.core.subscribe({ onSuggestionsFinishedLoading: () => (unsubscribe(), resolve()) });
      this.core.reloadSuggestions(agent);
    });
    return this.core.getSuggestions(agent);
  }

  stop() {
    this.core.stopAgent({ agent: this.agent });
  }

  /** Waits for idle (nothing runs), running, cards or interrupts (to be answered), text (in the newest message), errors. */
  async until({ sight, text }) {
    const idle = () => this.busy === 0 && !this.agent.isRunning;
    const met = {
      idle,
      cards: () => this.cards.size > 0,
      interrupts: () => idle() && this.interrupts.pending,
      text: () => JSON.stringify(this.agent.messages.at(-1)?.content ?? "").includes(text),
      errors: () => this.errors.length > 0,
      running: () => this.agent.isRunning,
    }[sight];
    await this.is(met);
    return this.seen();
  }

  /** The list of useThreads: asks for it anew, after a change if one is named, and says what it shows. */
  async threads({ agent = "support", limit, includeArchived, change, given = [] }) {
    if (!this.list) {
      this.list = ɵcreateThreadStore({ fetch: this.core.ɵruntimeFetch });
      this.list.start();
      this.list.setContext({ runtimeUrl: this.url, headers: this.headers, agentId: agent, limit, includeArchived });
    } else if (change) await this.list[change](...given);
    else this.list.refetchThreads();
    await new Promise((resolve) => {
      const over = () => (subscription.unsubscribe(), resolve());
      const look = ({ isLoading, isFetchingNextPage }) => isLoading || isFetchingNextPage || setImmediate(over);
      const subscription = this.list.select((state) => state).subscribe(look);
    });
    const { threads, error, nextCursor } = this.list.getState();
    return { threads, error: error && String(error), more: nextCursor !== null };
  }
}

await obey(Page);
