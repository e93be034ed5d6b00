/**
 * What a page learns of decisions and runs elsewhere. `look` of session.js reads the thread's calls; what was seen of it
 * last is here, so that only news is acted on. Pure.
 */

const markOf = ({ updated_at, run, calls }) => JSON.stringify([updated_at, run, calls?.map(({ id, state, replaced }) => [id, state, replaced])]);

export function createElsewhere() {
  let mark = null; // of the thread as it was seen last
  let busy = false; // whether something was at work on it then
  let key = null; // of its run then
  let followed = null; // the key of what was followed last

  return {
    see(thread) {
      mark = markOf(thread);
      busy = thread.run?.status === "running";
      key = thread.run?.key ?? null;
    },
    /** Whether it was ever seen. */
    knows: () => mark !== null,
    isBusy: () => busy,
    isSame: (thread) => markOf(thread) === mark,
    /** Whether something is at work that was not followed yet. A decision, and another process, stream nothing here. */
    isNew: (run) => run?.status === "running" && run.key !== followed,
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
