/**
 * One conversation at a time: holds its state, sends runs, takes answers, follows what happens elsewhere. No DOM in
 * here; `onChange(state)` is called after every change. One run at a time; everything that starts one returns when it
 * is over.
 */

import { CONFIRM_CHANGES, openAsks, toAnswers } from "./asks.js";
import { createId } from "./ids.js";
import { createSight } from "./sight.js";
import { addUserMessage, failRun, initialState, learnCalls, restore, rewind, setDraft, settle, startRun, withoutHalf } from "./state.js";
import { reduce } from "./store.js";

const BUSY_RETRIES = 3;
const BUSY_WAIT = 500; // ms, times the attempt

const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * `api` is the module of that name (or a stand-in); `cards` asks for confirm cards instead of interrupts; `schemasOf`
 * knows the JSON Schemas of an agent's tools, by name.
 */
export function createSession({ api, cards = false, onChange, now = Date.now, newId = createId, schemasOf = () => ({}) }) {
  let state = initialState();
  const sight = createSight();
  let redo = async () => {}; // what Retry does
  let abort = null;

  const set = (next) => {
    if (next === state) return;
    state = next;
    onChange(state);
  };

  const begin = (threadId, agent) => {
    stop();
    sight.forget();
    set(initialState({ threadId, agent, schemas: schemasOf(agent) }));
  };

  function input(resume, messages = state.messages.filter((message) => message.role !== "activity")) {
    const body = {
      threadId: state.threadId,
      runId: state.run.id,
      state: state.shared,
      messages,
      tools: cards ? [CONFIRM_CHANGES] : [],
      context: [],
      forwardedProps: {},
    };
    return resume.length ? { ...body, resume } : body;
  }

  async function run(resume = [], sent = []) {
    redo = () => retryRun(resume, sent);
    const controller = new AbortController();
    abort = controller;
    set(startRun(state, newId(), now(), sent));
    try {
      await stream(input(resume), controller);
    } catch (error) {
      if (abort === controller) set(failRun(state, ...failure(error, controller)));
    }
    if (abort !== controller) return; // The person has moved on to another thread.
    abort = null;
    await learn();
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
    if (!isReady(partial)) return;
    await look().catch(() => {}); // what was decided elsewhere meanwhile is shown, and needs no answer any more
    if (!isReady(partial)) return;
    const answers = answerDrafts();
    await run(answers.resume, answers.sent);
  }

  function isReady(partial) {
    const asks = openAsks(state);
    const decided = asks.filter((ask) => state.drafts[ask.key]);
    return !state.run && decided.length > 0 && (partial || decided.length === asks.length);
  }

  /** What is decided, ready to go out: tool messages join the history, the rest is returned. */
  function answerDrafts() {
    const decided = openAsks(state).filter((ask) => state.drafts[ask.key]);
    const { resume, messages } = toAnswers(decided, state.drafts, newId);
    if (messages.length > 0) set({ ...state, messages: [...state.messages, ...messages] });
    return { resume, sent: decided.map((ask) => ask.key) };
  }

  /** Half an answer is thrown away; after a result or an answer the run goes on from there. */
  async function retryRun(resume, sent) {
    if (resume.length === 0) set(withoutHalf(state));
    await run(resume, sent);
  }

  return {
    get state() {
      return state;
    },
    startNew: (agent, threadId = newId()) => begin(threadId, agent),
    /** Show a thread the server knows; an unknown one is an empty chat under that id. */
    async open(threadId, agent) {
      begin(threadId, agent);
      await load(threadId);
    },
    /** Say something. Open asks without a decision are left behind; the server closes their calls. */
    async send(text) {
      if (state.run) return;
      const { resume, sent } = answerDrafts();
      set(addUserMessage(state, newId(), text));
      await run(resume, sent);
    },
    async decide(ask, decision) {
      if (state.run) return;
      set(setDraft(state, ask, decision));
      await sendDecisions();
    },
    sendDecisions,
    look,
    /** Whether something may change elsewhere: a card is open, or what it asked about is being carried out. */
    waits: () => !state.run && (sight.isBusy() || openAsks(state).length > 0 || Object.values(state.records).some((record) => record.state === "claimed")),
    /** Answer the last question anew. What ran in the answer so far stays done (`ranInAnswer` says what). */
    async regenerate() {
      if (state.run) return;
      set(rewind(state));
      await run();
    },
    /** Let the conversation go on from where it is. */
    async goOn() {
      if (!state.run) await run();
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
      const thread = await api.getThread(threadId);
      if (state.threadId !== threadId || state.run) return;
      sight.see(thread);
      set({ ...restore(state, thread), schemas: schemasOf(thread.agent) });
      if (sight.isNew(thread.run)) await follow(thread.run.key);
    } catch (error) {
      if (error.code === "not_found" || state.threadId !== threadId) return;
      redo = () => load(threadId);
      set(failRun(state, error.code ?? "internal", error.message));
    }
  }

  /** See whether something was decided or said elsewhere, and show it: true if so. Throws what the server answers. */
  async function look() {
    const { threadId } = state;
    if (state.run || state.messages.length === 0) return false;
    const seen = await api.getCalls(threadId).catch((error) => (error.code === "not_found" && sight.knows() ? null : Promise.reject(error)));
    if (state.threadId !== threadId || state.run || (seen && sight.isSame(seen) && !sight.isNew(seen.run))) return false;
    if (!seen) return forget(threadId);
    sight.see(seen);
    set(learnCalls(state, seen.calls));
    if (sight.isNew(seen.run)) void follow(seen.run.key);
    else await load(threadId);
    return true;
  }

  /** The thread is gone: nothing of it can be answered any more, or would begin another one under its id. */
  function forget(threadId) {
    sight.forget();
    const gone = initialState({ threadId, agent: state.agent, schemas: state.schemas });
    set({ ...gone, notice: { code: "not_found", message: "This chat was deleted." } });
    return true;
  }

  /** After a run: what the ledger says of its calls. Without it they are shown as the run told them. */
  async function learn() {
    const { threadId } = state;
    const seen = await api.getCalls(threadId).catch(() => null);
    if (!seen || state.threadId !== threadId || state.run) return;
    sight.see(seen);
    set(learnCalls(state, seen.calls));
    if (sight.isNew(seen.run)) await follow(seen.run.key);
  }

  /** Show a run that began elsewhere: another tab, or a conversation that goes on after a decision. */
  async function follow(key) {
    sight.follows(key);
    const controller = new AbortController();
    abort = controller;
    redo = () => retryRun([], []);
    set({ ...state, notice: null, run: { id: newId(), startedAt: now() } });
    let broken = false;
    try {
      for await (const event of api.connect(state.agent, input([], []), controller.signal)) {
        if (abort !== controller) return;
        set(reduce(state, event, now()));
      }
    } catch {
      broken = true; // whoever looks next sees what became of it
    }
    if (abort !== controller) return;
    abort = null;
    if (state.run) set({ ...settle(state), run: null });
    await learn();
    if (broken) sight.lost(key);
  }
}

function failure(error, controller) {
  if (controller.signal.aborted) return ["abort", ""];
  if (error.code) return [error.code, error.message];
  return error instanceof SyntaxError
    ? ["internal", "The server sent something that is not an AG-UI event."]
    : ["incomplete", "The connection broke off."];
}
