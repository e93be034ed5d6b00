// Pages with TanStack AI's chat, without a browser: the real `ChatClient`, which `useChat` of every framework wraps.
// Obeys as `../commands.mjs` says.

import { modelMessagesToUIMessages, toolDefinition, uiMessagesToWire } from "@tanstack/ai/client";
import { ChatClient, fetchServerSentEvents } from "@tanstack/ai-client";
import { complaints, obey, Sight } from "../commands.mjs";

const CARD = "confirm_changes";

/** What an application writes to use this server: a run, what was said before, and coming back to a run that runs. */
function connection(url, agent, threadId, headers, fetchClient) {
  const runs = fetchServerSentEvents(`${url}/agents/${agent}`, { headers, fetchClient });
  const live = fetchServerSentEvents(`${url}/agents/${agent}/connect`, { headers, fetchClient });
  return {
    connect: runs.connect,
    async hydrate() {
      const response = await fetch(`${url}/threads/${encodeURIComponent(threadId)}`, { headers });
      if (response.status === 404) return { messages: [], activeRun: null, interrupts: null };
      const { messages, run } = await response.json();
      const activeRun = run?.status === "running" ? { runId: run.key } : null;
      return { messages: modelMessagesToUIMessages(messages), activeRun, interrupts: null };
    },
    joinRun: (runId, signal) => live.connect([], undefined, signal, { threadId, runId }),
  };
}

/** A response whose connection breaks when an event of that type has come. */
function broken(response, type) {
  const abrupt = new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk);
      if (new TextDecoder().decode(chunk).includes(`"${type}"`)) controller.error(new Error("the connection broke"));
    },
  });
  return new Response(response.body.pipeThrough(abrupt), response);
}

class Page extends Sight {
  errors = [];
  requests = [];
  begun = new Set();
  cards = new Map();

  /** `breaks`: the type of event after which the first connection breaks. */
  async open({ url, agent = "support", thread, tools = [], headers = {}, breaks }) {
    this.url = url;
    this.tools = new Set(tools);
    const fetchClient = async (address, init) => {
      this.requests.push({ last: init.headers["Last-Event-ID"] ?? null, input: JSON.parse(init.body) });
      const response = await fetch(address, init);
      return breaks && this.requests.length === 1 ? broken(response, breaks) : response;
    };
    const changed = () => this.changed();
    this.chat = new ChatClient({
      threadId: thread,
      persistence: true,
      connection: connection(url, agent, thread, headers, fetchClient),
      tools: tools.map((name) => toolDefinition({ name, description: name }).client()),
      onMessagesChange: () => (this.work(), changed()),
      onError: (error) => (this.errors.push({ code: error.name, message: error.message }), changed()),
      onLoadingChange: changed,
      onStatusChange: changed,
      onInterruptStateChange: changed,
      onResumeStateChange: changed,
    });
    this.chat.attach();
    return this.seen();
  }

  /** The page's own tools do their work when a call of theirs is there; a card waits for a person. */
  work() {
    const parts = this.chat?.getMessages().flatMap((message) => message.parts) ?? [];
    const done = new Set(parts.filter(({ type }) => type === "tool-result").map((part) => part.toolCallId));
    for (const { type, id, name, state, output, arguments: given } of parts) {
      if (type !== "tool-call" || !this.tools.has(name)) continue;
      if (output !== undefined || done.has(id)) this.cards.delete(id);
      else if (state === "input-complete" && !this.begun.has(id)) {
        this.begun.add(id);
        if (name === CARD) this.cards.set(id, JSON.parse(given));
        else this.result(id, name, { page: name, given: JSON.parse(given) });
      }
    }
  }

  result(toolCallId, tool, output) {
    this.chat.addToolResult({ toolCallId, tool, output, state: "output-available" });
  }

  seen() {
    return {
      agents: [],
      messages: uiMessagesToWire(this.chat.getMessages()),
      state: null,
      running: this.chat.getIsLoading(),
      cards: Object.fromEntries(this.cards),
      interrupts: this.chat.getInterrupts().map(({ id, kind, canResolve }) => ({ id, kind, canResolve })),
      errors: this.errors,
      complaints,
    };
  }

  say({ text }) {
    this.chat.sendMessage(text).catch((error) => (this.errors.push({ code: "thrown", message: error.message }), this.changed()));
  }

  /** The same by its method for interrupts that are not its own, which shows them until the page comes back. */
  async resume({ approval, answer }) {
    const resumed = await this.chat.resumeInterruptsUnsafe([{ interruptId: approval, status: "resolved", payload: answer }]);
    this.chat.detach();
    this.chat.attach();
    return resumed;
  }

  respond({ card, answer }) {
    this.cards.delete(card);
    this.result(card, CARD, answer);
  }

  /** An interrupt that isn't TanStack's own can only be shown: the page decides over HTTP, and comes back to the thread. */
  async decide({ approval, answer }) {
    const body = JSON.stringify({ ...answer, continue: true });
    const response = await fetch(`${this.url}/approvals/${approval}`, { method: "POST", headers: { "content-type": "application/json" }, body });
    this.chat.stop();
    this.chat.detach();
    this.chat.attach();
    return response.json();
  }

  stop() {
    this.chat.stop();
  }

  asked() {
    return this.requests;
  }

  async until({ sight, text }) {
    const idle = () => !this.chat.getIsLoading();
    const last = () => JSON.stringify(this.chat.getMessages().at(-1)?.parts ?? "");
    await this.is(
      {
        idle,
        running: () => this.chat.getIsLoading(),
        cards: () => idle() && this.cards.size > 0,
        interrupts: () => idle() && this.chat.getInterrupts().length > 0,
        text: () => last().includes(text),
        errors: () => this.errors.length > 0,
      }[sight],
    );
    return this.seen();
  }
}

await obey(Page);
