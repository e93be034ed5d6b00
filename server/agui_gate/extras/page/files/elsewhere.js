/**
 * How a page learns of decisions and runs elsewhere: `readChanges` reads the calls of the open thread and compares them
 * with what was seen of it last, so that only news is acted on. poll.js says how often; session.js shows what is new.
 */

const markOf = ({ updated_at, run, calls }) => JSON.stringify([updated_at, run, calls?.map(({ id, state, replaced, frozen }) => [id, state, replaced, frozen])]);

/** `api` is the module of that name (or a stand-in). */
export function createElsewhere(api) {
  let mark = null; // of the thread as it was seen last
  let busy = false; // whether something was at work on it then
  let key = null; // of its run then
  let followed = null; // the key of what was followed last

  /** Whether something is at work that was not followed yet. A decision, and another process, stream nothing here. */
  const isNew = (run) => run?.status === "running" && run.key !== followed;

  return {
    isNew,
    /** The thread with its calls, if something was decided or said elsewhere since it was seen last; else null. Throws what the server answers. */
    async readChanges(threadId) {
      const thread = await api.getCalls(threadId);
      return markOf(thread) === mark && !isNew(thread.run) ? null : thread;
    },
    see(thread) {
      mark = markOf(thread);
      busy = thread.run?.status === "running";
      key = thread.run?.key ?? null;
    },
    /** Whether it was ever seen. */
    knows: () => mark !== null,
    isBusy: () => busy,
    /** Whether it has another run by now. */
    isOther: (run) => run.key !== key,
    follows(next) {
      followed = next;
    },
    /** Its stream broke off: it may be followed again. */
    lost(one) {
      if (followed === one) followed = null;
    },
    forget() {
      mark = key = followed = null;
      busy = false;
    },
  };
}
