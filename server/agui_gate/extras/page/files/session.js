/**
 * One conversation at a time: holds its state, sends runs, takes answers, follows what happens elsewhere. No DOM here;
 * `onChange(state)` is called after every change. One run at a time; what starts one returns when it is over.
 */

import { isReady, openAsks, takeDrafts, takeLeave } from "./asks.js";
import { createElsewhere } from "./elsewhere.js";
import { createId } from "./ids.js";
import { endNotice, failure, isMissing, patiently, runInput } from "./input.js";
import { addUserMessage, atRest, cutOff, failRun, initialState, isAwaited, isLost, learnCalls, restore, rewind, setDraft, startRun, unanswered, unsent, withoutHalf } from "./state.js";
import { reduce } from "./store.js";
import { createUnsaid } from "./unsaid.js";

/**
 * `api` is the module of that name (or a stand-in); `cards` asks for confirm cards instead of interrupts; `knownOf` has
 * what is known of an agent: `{schemas, team}` (team.js).
 */
export function createSession({ api, cards = false, onChange, now = Date.now, newId = createId, knownOf = () => ({}) }) {
  let state = initialState();
  const [elsewhere, unsaid] = [createElsewhere(api), createUnsaid()];
  let streamed = null; // the key of the run whose events came here last
  let begun = null; // the same, but null where the last one was refused
  let redo = async () => {}; // what Retry does
  let abort = null;

  /** Whether the server had it: it was seen there, or a run of it began. */
  const isKnown = () => elsewhere.knows() || streamed !== null;

  const set = (next) => {
    if (next === state) return;
    state = next;
    onChange(state);
  };

  const begin = (threadId, agent, used = null) => {
    abort?.abort();
    abort = streamed = null;
    unsaid.forget();
    elsewhere.forget();
    set({ ...initialState({ threadId, agent, ...knownOf(agent) }), used });
  };

  /** `before`: what there was before the answers and the message `said`, for a run that never left. */
  async function run(resume = [], sent = [], { before, said = null } = {}) {
    redo = () => retryRun(resume, sent);
    begun = null;
    unsaid.forget();
    const [{ drafts }, messages] = [before ?? state, unanswered(state)];
    const controller = (abort = new AbortController());
    set(startRun(state, newId(), now(), sent));
    try {
      await stream(runInput(state, { cards, resume }), controller);
    } catch (error) {
      if (abort === controller) {
        const isLost = before !== undefined && begun === null;
        if (isLost) redo = () => tell(said);
        const over = isLost ? unsent(state, before, said) : controller.signal.aborted ? state : cutOff(state, drafts);
        set(failRun(over, ...failure(error, controller.signal)));
        unsaid.keep(messages, state.notice);
      }
    }
    if (abort !== controller) return; // The person has moved on to another thread.
    abort = null;
    await readOutcomes(sent.length > 0);
  }

  async function stream(body, controller) {
    for await (const event of patiently(() => api.run(state.agent, body, controller.signal, (key) => (begun = streamed = key ?? "")))) {
      if (abort !== controller) return;
      set(reduce(state, event, now()));
    }
    if (state.run?.id === body.runId) throw Object.assign(new Error("The connection closed before the answer was complete."), { code: "incomplete" });
  }

  /** Send what is decided: all of it, or (with `partial`) what is decided so far. */
  async function sendDecisions({ partial = false } = {}) {
    if (!isReady(state, partial)) return;
    await learnDecisions().catch(() => {}); // what was decided elsewhere meanwhile is shown, and needs no answer any more
    if (isReady(state, partial)) await tell();
  }

  /** Send what is decided, and a message with it. What is undecided is left behind then, and it says so where silence would leave it open. */
  async function tell(said = null) {
    const before = { ...state, messages: state.messages.filter(({ id }) => id !== said?.id) };
    set(before);
    const left = said ? takeLeave(state) : { resume: [], sent: [] };
    const { messages, resume, sent } = takeDrafts(state, newId);
    const told = { ...state, messages: [...state.messages, ...messages] };
    set(said ? addUserMessage(told, said.id, said.content) : told);
    await run([...resume, ...left.resume], [...sent, ...left.sent], { before, said });
  }

  /** As `learnDecisions`; where all that still waits is decided here, that goes out: the last other one was decided elsewhere, and ran. */
  async function learnDecisionsAndSend() {
    const changed = await learnDecisions();
    if (changed && isReady(state) && !isAwaited(state)) void tell(unanswered(state).at(-1));
    return changed;
  }

  /** Half an answer is thrown away; after a result or an answer the run goes on from there. */
  async function retryRun(resume, sent) {
    if (resume.length === 0) set(withoutHalf(state));
    await run(resume, sent);
  }

  /** From what the server has: nothing of it is half. */
  const goOn = () => run();

  return {
    get state() {
      return state;
    },
    startNew: (agent, threadId = newId()) => begin(threadId, agent, { input: 0, output: 0, cost: null }),
    /** Show a thread the server knows; an unknown one is an empty chat under that id. */
    open: (threadId, agent) => (begin(threadId, agent), load(threadId)),
    /** Say something; resolves to false where the chat is gone. */
    async send(text) {
      const { threadId } = state;
      const there = await isThere(threadId);
      if (!there || state.run || state.threadId !== threadId) return false;
      await tell({ id: newId(), role: "user", content: text });
      return true;
    },
    async decide(asks, decision) {
      if (state.run) return;
      const decided = [asks].flat().reduce((next, ask) => setDraft(next, ask, decision), state);
      set({ ...decided, notice: decision ? state.notice : null }); // there is another answer to send now
      await sendDecisions();
    },
    sendDecisions,
    learnDecisions: learnDecisionsAndSend,
    /** Whether something may change elsewhere: a card is open, or what it asked about is being carried out. */
    waits: () => !state.run && (elsewhere.isBusy() || openAsks(state).length > 0 || isAwaited(state)),
    /** Answer the last question anew. What ran in the answer so far stays done (`ranInAnswer` says what). */
    async regenerate() {
      if (state.run) return;
      set(rewind(state));
      await run();
    },
    /** Let the conversation go on from where it is. */
    goOn: async () => state.run ?? run(),
    /** Take back the message that had no answer (as long as it is part of the conversation, it is sent along); returns its text. */
    takeBack() {
      const last = state.messages.at(-1);
      if (state.run || last?.role !== "user") return "";
      unsaid.forget();
      set({ ...state, notice: null, messages: state.messages.slice(0, -1) });
      return last.content;
    },
    retry: async () => (state.run ? stop() : redo()), // what fails while a run is on is to stop it
    stop,
  };

  /** Stop the run; its stream ends by itself. If the server can't be asked, it goes on, and that is said. */
  async function stop() {
    const running = abort;
    set({ ...state, notice: null });
    const fail = ({ code = "internal", message }) => abort === running && state.run && set({ ...state, notice: { code, message: `The answer could not be stopped. ${message}` } });
    await api.cancelRun(state.threadId).catch(fail);
  }

  async function load(threadId) {
    try {
      const thread = await api.getThread(threadId);
      if (state.threadId !== threadId || state.run) return;
      elsewhere.see(thread);
      const next = { ...restore(state, thread), ...knownOf(thread.agent) };
      const ended = endNotice(next, thread.run);
      const said = thread.run?.key === begun ? state.notice : null; // so that run ended
      const notice = isLost({ notice: ended }) ? ended : (said ?? ended);
      take({ ...next, notice });
      if (notice && notice === ended && state.notice === ended) redo = isLost(state) ? goOn : () => retryRun([], []);
      if (elsewhere.isNew(thread.run)) await followRun(thread.run.key);
    } catch (error) {
      if (error.code === "not_found" || state.threadId !== threadId) return;
      [redo, begun] = [() => load(threadId), null];
      set(failRun(state, error.code ?? "internal", error.message));
    }
  }

  /** What the server has of the thread, and behind it what was said here and never got there, to be sent again. */
  function take(next) {
    set(unsaid.behind(next));
    if (state.notice && (state !== next || isReady(state, true))) redo = () => tell(unanswered(state).at(-1));
  }

  /** See whether something was decided or said elsewhere, and show it: true if so. Throws what the server answers. */
  async function learnDecisions() {
    const { threadId } = state;
    if (state.run || state.messages.length === 0) return false;
    const seen = await elsewhere.readChanges(threadId).catch((error) => (error.code === "not_found" && isKnown() ? "gone" : Promise.reject(error)));
    if (state.threadId !== threadId || state.run || !seen) return false;
    if (seen === "gone") return forget(threadId);
    elsewhere.see(seen);
    set(learnCalls(state, seen.calls));
    if (elsewhere.isNew(seen.run)) void followRun(seen.run.key);
    else await load(threadId);
    return true;
  }

  /** Whether the server still has it, as far as it says so in time: a message would begin another one under its id. */
  async function isThere(threadId) {
    if (!isKnown()) return true;
    if (!(await isMissing(() => api.getCalls(threadId))) || state.threadId !== threadId || state.run) return true;
    return !forget(threadId);
  }

  /** The thread is gone: nothing of it can be answered any more, or would begin another one under its id. */
  function forget(threadId) {
    begin(threadId, state.agent);
    set({ ...state, notice: { code: "not_found", message: "This chat was deleted." } });
    return true;
  }

  /** After a run: what the ledger says of its calls; without it they are shown as the run told them. And what began since. */
  async function readOutcomes(answered = false) {
    const { threadId } = state;
    const seen = await api.getCalls(threadId).catch(() => null);
    if (!seen || state.threadId !== threadId || state.run) return;
    const isElsewhere = seen.run && seen.run.key !== streamed && (streamed || (answered && elsewhere.isOther(seen.run)));
    elsewhere.see(seen);
    set(learnCalls(state, seen.calls));
    if (elsewhere.isNew(seen.run)) await followRun(seen.run.key);
    else if (isElsewhere) await load(threadId); // and is over by now
  }

  /** Show a run that began elsewhere: another tab, or a conversation that goes on after a decision. */
  async function followRun(key) {
    elsewhere.follows(key);
    begun = streamed = key;
    const controller = (abort = new AbortController());
    redo = () => retryRun([], []);
    set({ ...state, notice: null, run: { id: newId(), startedAt: now() } });
    let broken = false;
    try {
      for await (const event of api.connect(state.agent, runInput(state, { cards, messages: [] }), controller.signal)) {
        if (abort !== controller) return;
        set(reduce(state, event, now()));
      }
    } catch {
      broken = true; // whoever looks next sees what became of it
    }
    if (abort !== controller) return;
    abort = null;
    if (isLost(state)) redo = goOn;
    take(state.run ? { ...atRest(state), run: null } : state);
    await readOutcomes();
    if (broken) elsewhere.lost(key);
  }
}
