/**
 * What waits for the person in any chat, to be decided without opening it: what the server says of each call, and what
 * became of what was decided here. DOM-free; the server's word counts, never the click.
 *
 * What is decided stays until the inbox is closed, with how it ended: nothing moves under somebody's finger.
 */

import { toApproval } from "./components/core/asks.js";
import { isClosed, learn } from "./components/core/records.js";

/**
 * An entry is `{record, title, calls, sending, said, problem, note, late, gone}`: the `title` of its chat and the `calls`
 * there once it was looked at, what is being sent (`approve`, `reject`), what was `said` in it, why that didn't arrive,
 * what the server adds to it, whether it came too late, whether its chat is deleted.
 */
const entryOf = (record) => ({ record, title: null, calls: null, sending: null, said: "", problem: null, note: null, late: false, gone: false });

/** Nothing changes any more. */
export const isOver = ({ record, gone }) => gone || (isClosed(record) && record.state !== "claimed");

export const isWaiting = ({ record, gone }) => !gone && !isClosed(record);

/** `onChange(entries)` after every change; `onDecided(record, run)` once what is asked here was decided, by whomever. */
export function createInbox({ api, onChange, onDecided }) {
  let entries = new Map();
  let open = false;

  const tell = () => onChange([...entries.values()]);

  function change(id, news) {
    const entry = entries.get(id);
    if (!entry) return;
    const { [id]: record } = learn({ [id]: entry.record }, news.record ? [[id, news.record]] : []);
    entries.set(id, { ...entry, ...news, record });
    tell();
  }

  /** What waits, as the server lists it. What is here and not there was decided elsewhere, expired, or is gone. */
  async function take(approvals) {
    if (!open) return;
    const listed = new Set(approvals.map(({ id }) => id));
    for (const record of approvals) if (!entries.has(record.id)) entries.set(record.id, entryOf(record));
    tell();
    await Promise.all([...entries].filter(([id, entry]) => !listed.has(id) && !isOver(entry)).map(([id]) => ask(id)));
  }

  /** What the ledger says of one; true if it could be asked. */
  async function ask(id) {
    try {
      change(id, { record: await api.getApproval(id) });
    } catch (error) {
      if (!isMissing(error)) return false;
      change(id, { gone: true, record: error.record });
    }
    return true;
  }

  /** Decide one. What comes back is the ledger's word; what doesn't arrive is said, and can be sent again. */
  async function decide(id, ask, decision) {
    const entry = entries.get(id);
    if (!entry || entry.sending || !isWaiting(entry)) return;
    change(id, { sending: decision.approved ? "approve" : "reject", problem: null, said: decision.reason ?? "" });
    const run = await send(id, toApproval(ask, decision));
    if (!entries.has(id) || !isWaiting(entries.get(id))) onDecided(entry.record, run);
  }

  /** Returns the run that the conversation goes on with, or null. */
  async function send(id, body) {
    try {
      const told = await api.decide(id, body);
      await learnDecided(id, told);
      return told.run ?? null;
    } catch (error) {
      await refused(id, error);
      return null;
    }
  }

  async function learnDecided(id, { state, result = null, not_continued: note = null }) {
    const record = await api.getApproval(id).catch(() => ({ ...entries.get(id)?.record, state, result }));
    change(id, { sending: null, record, note });
  }

  async function refused(id, error) {
    if (error.record && !isMissing(error)) return change(id, { sending: null, record: error.record, late: true });
    if (isMissing(error)) return change(id, { sending: null, record: error.record, gone: true });
    await ask(id); // it may have arrived
    const arrived = entries.has(id) && !isWaiting(entries.get(id));
    change(id, { sending: null, problem: arrived ? null : { code: error.code ?? "network", message: error.message } });
  }

  /** What else the ledger says of its chat, before somebody decides: what the same tool already did there. */
  async function look(id) {
    const entry = entries.get(id);
    if (!entry || entry.calls) return;
    try {
      const { title, calls } = await api.getCalls(entry.record.thread_id);
      change(id, { title, calls });
    } catch (error) {
      change(id, { calls: [], gone: error.code === "not_found" });
    }
  }

  return {
    take,
    decide,
    look,
    isOpen: () => open,
    open(approvals) {
      open = true;
      const sent = [...entries].filter(([, { sending }]) => sending);
      entries = new Map([...approvals.map((record) => [record.id, entryOf(record)]), ...sent]);
      tell();
    },
    close() {
      open = false;
    },
  };
}

const isMissing = ({ code }) => ["not_found", "gone"].includes(code);
