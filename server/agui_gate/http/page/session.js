/**
 * One conversation at a time: holds its state, sends runs, takes answers. No DOM in here; `onChange(state)` is called
 * after every change. One run at a time; everything that starts one returns when it is over.
 */

import { openAsks, toAnswers } from "./asks.js";
import { CARD_TOOL, addUserMessage, failRun, initialState, reduce, restore, rewind, setDraft, startRun } from "./store.js";

const BUSY_RETRIES = 3;
const BUSY_WAIT = 500; // ms, times the attempt
const POLL_WAIT = 1500; // ms between looks at a run that an earlier page started

const CONFIRM_CHANGES = {
  name: CARD_TOOL,
  description: "Show a confirm card for a call and wait for the person's decision.",
  parameters: {
    type: "object",
    properties: {
      function_name: { type: "string" },
      function_call_id: { type: "string" },
      function_arguments: { type: "object" },
      steps: { type: "array", items: { type: "object" } },
    },
    required: ["function_name", "function_call_id", "function_arguments"],
  },
};

export function createId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  // randomUUID needs a secure context, which a plain-HTTP address on a local network is not.
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** `api` is the module of that name (or a stand-in); `cards` asks for confirm cards instead of interrupts. */
export function createSession({ api, cards = false, onChange, now = Date.now, newId = createId }) {
  let state = initialState();
  let redo = async () => {}; // what Retry does
  let abort = null;

  const set = (next) => {
    if (next === state) return;
    state = next;
    onChange(state);
  };

  function input(resume) {
    const body = {
      threadId: state.threadId,
      runId: state.run.id,
      state: state.shared,
      messages: state.messages.filter((message) => message.role !== "activity"),
      tools: cards ? [CONFIRM_CHANGES] : [],
      context: [],
      forwardedProps: {},
    };
    return resume.length ? { ...body, resume } : body;
  }

  async function run(resume = [], decisions = {}) {
    redo = () => retryRun(resume, decisions);
    const controller = new AbortController();
    abort = controller;
    set(startRun(state, newId(), now(), decisions));
    try {
      await stream(input(resume), controller);
    } catch (error) {
      if (abort === controller) set(failRun(state, ...failure(error, controller)));
    }
    if (abort !== controller) return; // The person has moved on to another thread.
    abort = null;
  }

  async function stream(body, controller, attempt = 1) {
    try {
      for await (const event of api.run(state.agent, body, controller.signal)) {
        if (abort !== controller) return;
        set(reduce(state, event, now()));
      }
    } catch (error) {
      // Stopping a run takes the server a moment; a message sent right after it must not fail for that.
      if (error.code !== "thread_busy" || attempt > BUSY_RETRIES) throw error;
      await wait(BUSY_WAIT * attempt);
      return stream(body, controller, attempt + 1);
    }
    if (state.run?.id === body.runId) set(failRun(state, "incomplete", "The connection closed before the answer was complete."));
  }

  /** Send what is decided: all of it, or (with `partial`) what is decided so far. */
  async function sendDecisions({ partial = false } = {}) {
    const asks = openAsks(state);
    const decided = asks.filter((ask) => state.drafts[ask.id]);
    if (state.run || decided.length === 0 || (!partial && decided.length < asks.length)) return;
    const answers = answerDrafts();
    await run(answers.resume, answers.decisions);
  }

  /** What is decided, ready to go out: tool messages join the history, the rest is returned. */
  function answerDrafts() {
    const decided = openAsks(state).filter((ask) => state.drafts[ask.id]);
    const { resume, messages } = toAnswers(decided, state.drafts, newId);
    const decisions = Object.fromEntries(decided.map((ask) => [ask.callId ?? ask.id, state.drafts[ask.id]]));
    if (messages.length > 0) set({ ...state, messages: [...state.messages, ...messages] });
    return { resume, decisions };
  }

  /** Half an answer is thrown away; after a result or an answer the run goes on from there. */
  async function retryRun(resume, decisions) {
    const broken = !["user", "tool"].includes(state.messages.at(-1)?.role);
    if (broken && resume.length === 0) set(rewind(state));
    await run(resume, decisions);
  }

  return {
    get state() {
      return state;
    },
    startNew(agent, threadId = newId()) {
      stop();
      set(initialState({ threadId, agent }));
    },
    /** Show a thread the server knows; an unknown one is an empty chat under that id. */
    async open(threadId, agent) {
      stop();
      set(initialState({ threadId, agent }));
      await load(threadId);
    },
    /** Say something. Open asks without a decision are left behind; the server closes their calls. */
    async send(text) {
      if (state.run) return;
      const { resume, decisions } = answerDrafts();
      set(addUserMessage(state, newId(), text));
      await run(resume, decisions);
    },
    async decide(ask, decision) {
      if (state.run) return;
      set(setDraft(state, ask.id, decision));
      await sendDecisions();
    },
    sendDecisions,
    async regenerate() {
      if (state.run) return;
      set(rewind(state));
      await run();
    },
    /** Take back the message that had no answer (as long as it is part of the conversation, it is sent along); returns its text. */
    takeBack() {
      const last = state.messages.at(-1);
      if (state.run || last?.role !== "user") return "";
      set({ ...state, notice: null, messages: state.messages.slice(0, -1) });
      return last.content;
    },
    async retry() {
      if (!state.run) await redo();
    },
    /** Stop the run; its stream ends by itself. If the server can't be asked, leave it, which stops it too. */
    async stop() {
      const running = abort;
      try {
        await api.cancelRun(state.threadId);
      } catch {
        running?.abort();
      }
    },
  };

  function stop() {
    abort?.abort();
    abort = null;
  }

  async function load(threadId) {
    try {
      set({ ...state, notice: null });
      const thread = await api.getThread(threadId);
      if (state.threadId !== threadId || state.run) return;
      set(restore(state, thread));
      // A run that an earlier page started goes on without us; look again until it is over.
      if (thread.run?.status !== "running") return;
      await wait(POLL_WAIT);
      if (state.threadId === threadId && !state.run) await load(threadId);
    } catch (error) {
      if (error.code === "not_found" || state.threadId !== threadId) return;
      redo = () => load(threadId);
      set(failRun(state, error.code ?? "internal", error.message));
    }
  }
}

function failure(error, controller) {
  if (controller.signal.aborted) return ["abort", ""];
  if (error.code) return [error.code, error.message];
  return error instanceof SyntaxError
    ? ["internal", "The server sent something that is not an AG-UI event."]
    : ["incomplete", "The connection broke off."];
}
