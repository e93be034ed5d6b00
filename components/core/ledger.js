/**
 * What waits for the person in any chat: read from the server, followed, and decided there. No DOM. The server's word
 * counts, never the click; what is typed stays with its card, whatever happens to the connection.
 *
 * First all that waits is read, a page at a time, then its stream tells what changes. When the stream ends, both begin
 * anew, later each time. What waited and isn't told any more was decided elsewhere, expired, or is gone: it is asked for.
 */

import { fromApproval, toApproval } from "./asks.js";
import { isClosed, learn } from "./records.js";
import { ServerError, createServer } from "./server.js";

/**
 * @import { Ask, Decision } from "./types.js"
 * @import { Failure, Row, ServerOptions } from "./server.js"
 */

const SOON = 1000; // ms until the next try after a connection that broke off
const MOST = 60_000; // ms between tries at a server that isn't there
const STEADY = 30_000; // ms after which a stream that breaks off has not failed
const LOOK = 5000; // ms between looks at a server without a stream
export const MOST_ROWS = 1000; // as many as the stream follows
const AT_ONCE = 100; // ids in a request

/**
 * @typedef {object} Problem
 * @property {Failure | "agreed"} kind `agreed`: it was taken, and waits for more persons.
 * @property {string} message What the server says, or "".
 * @property {string} [code] Its code for that.
 *
 * @typedef {object} Entry What is known of one call.
 * @property {string} id
 * @property {Row | null} record Null for one that was never here.
 * @property {Ask | null} ask
 * @property {Decision | null} sending What is on its way.
 * @property {Decision | null} mine What was answered here.
 * @property {Problem | null} problem Why that was not taken. It can be given again.
 * @property {string} note Why the conversation doesn't go on, though it was decided.
 * @property {boolean} late What was answered here came too late.
 * @property {boolean} gone Its chat was deleted, or it never was.
 *
 * @typedef {object} Clock
 * @property {(act: () => void, ms: number) => unknown} later
 * @property {(timer: unknown) => void} forget
 * @property {() => number} now
 * @property {() => number} random
 */

/** @type {Clock} */
const REAL = { later: (act, ms) => setTimeout(act, ms), forget: (timer) => clearTimeout(/** @type {number} */ (timer)), now: Date.now, random: Math.random };

/** @param {Entry} entry */
export const isWaiting = ({ record, sending, gone }) => record !== null && !gone && !sending && !isClosed(record);

/** Nothing changes any more. @param {Entry} entry */
export const isOver = ({ record, gone }) => gone || (isClosed(record) && record?.state !== "claimed");

/**
 * @param {ServerOptions & {isWanted?: () => boolean, every?: number, clock?: Clock}} options `isWanted`: whether somebody
 * looks; `every`: ms after which the list is read again, for the calls of others, which no stream tells of; 0: never
 */
export function createLedger({ isWanted = () => true, every = 0, clock = REAL, ...options }) {
  const server = createServer(options);
  /** @type {Map<string, Entry>} */
  let entries = new Map();
  /** @type {Set<() => void>} */
  const listeners = new Set();
  /** @type {Set<string>} */
  const wanted = new Set(); // by cards, whatever became of them
  /** @type {AbortController | null} */
  let running = null;
  /** @type {(() => void) | null} */
  let wake = null; // from the pause before the next try
  let isTold = false;
  const state = {
    /** @type {Problem | null} Why nothing is known any more of what happens. */
    problem: null,
    /** All that waits was read once. */
    isRead: false,
    /** There is more than is shown. */
    more: false,
    /** The server doesn't know what cards need: what ran before is not known. */
    isOld: false,
  };

  function tell() {
    if (isTold) return;
    isTold = true; // a hundred changes are one
    queueMicrotask(() => {
      isTold = false;
      for (const listener of [...listeners]) listener();
    });
  }

  /**
   * @param {string} id
   * @param {Partial<Entry>} news
   */
  function change(id, news) {
    const known = entries.get(id) ?? { id, record: null, ask: null, sending: null, mine: null, problem: null, note: "", late: false, gone: false };
    const record = news.record && known.record ? /** @type {Row} */ (learn({ [id]: known.record }, [[id, news.record]])[id]) : (news.record ?? known.record);
    const next = { ...known, ...news, record };
    const isSame = record === known.record || (isClosed(record) && known.ask !== null); // a closed card asks what it asked
    entries.set(id, { ...next, ask: isSame ? known.ask : askOf(record) });
    tell();
  }

  /** @param {Row} record */
  function take(record) {
    state.isOld ||= record.schema === undefined;
    change(record.id, { record, gone: false });
  }

  /** @param {AbortSignal} signal */
  async function readAll(signal) {
    const listed = new Set();
    let cursor = null;
    do {
      const page = await server.list(cursor);
      if (signal.aborted) return;
      for (const row of page.rows) {
        listed.add(row.id);
        take(row);
      }
      cursor = page.next;
      state.problem = null;
      tell();
    } while (cursor && listed.size < MOST_ROWS);
    state.more = cursor !== null;
    state.isRead = true;
    tell();
    await ask([...missing(listed).map(({ id }) => id), ...[...wanted].filter((id) => !entries.has(id))]);
  }

  /** Those that wait here and are not among `told`. @param {Set<unknown>} told */
  const missing = (told) => [...entries.values()].filter((entry) => !told.has(entry.id) && !isOver(entry) && entry.record);
  /** @param {Entry} entry */
  const isOwn = ({ record }) => record?.thread !== null;

  /** What the ledger says of some. @param {string[]} ids */
  async function ask(ids) {
    try {
      for (let left = ids; left.length > 0; ) {
        const said = await server.some(left.slice(0, AT_ONCE));
        if (!said) return await Promise.all(left.map(readOne));
        said.rows.forEach(take);
        for (const { id, record } of said.gone) change(id, { gone: true, ...(record && { record }) });
        const told = new Set([...said.rows, ...said.gone].map(({ id }) => id));
        if (told.size === 0) return;
        left = left.filter((id) => !told.has(id));
      }
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      fail(error);
    }
  }

  /** As an older server has it. @param {string} id */
  async function readOne(id) {
    try {
      take(await server.read(id));
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      if (error.kind === "missing") change(id, { gone: true, ...(error.record && { record: /** @type {Row} */ (error.record) }) });
      else fail(error);
    }
  }

  /** One is closed: what else waits in its chat says what ran there, and whether the conversation goes on is its matter. @param {string} id */
  async function besides(id) {
    const { record } = entries.get(id) ?? {};
    if (!record || !isClosed(record)) return;
    const others = [...entries.values()].filter((other) => other.id !== id && other.record?.thread_id === record.thread_id);
    for (const other of others) if (other.note) change(other.id, { note: "" });
    await ask(others.filter(isWaiting).map((other) => other.id));
  }

  /** @param {ServerError} error */
  function fail({ kind, message, code }) {
    if (state.problem?.kind === kind && state.problem.message === message) return;
    state.problem = { kind, message, code };
    tell();
  }

  /** @param {AbortSignal} signal */
  async function follow(signal) {
    for await (const event of server.follow(signal)) {
      if (signal.aborted) return;
      if (Array.isArray(event.ids)) await ask(missing(new Set(event.ids)).filter(isOwn).map(({ id }) => id));
      else if (typeof event.state !== "string") change(String(event.id), { gone: true });
      else if (entries.get(String(event.id))?.record) {
        change(String(event.id), { record: /** @type {Row} */ (/** @type {unknown} */ (event)) });
        await besides(String(event.id));
      }
      else if (event.state === "pending" && state.isRead) await ask([String(event.id)]);
    }
  }

  /** @param {AbortSignal} signal */
  async function lookAgain(signal) {
    for (let took = 0; !signal.aborted; ) {
      await new Promise((done) => void clock.later(() => done(undefined), Math.max(every, 10 * took)));
      const began = clock.now();
      if (!signal.aborted && state.isRead && !state.problem) await readAll(signal).catch(() => {}); // the stream says what is wrong
      took = clock.now() - began;
    }
  }

  /** Read, follow, and again, until nobody wants it. @param {AbortSignal} signal */
  async function run(signal) {
    let failures = 0;
    while (!signal.aborted) {
      const began = clock.now();
      let pause = 0;
      let isSteady = false;
      try {
        await readAll(signal);
        await follow(signal);
        isSteady = clock.now() - began >= STEADY;
      } catch (error) {
        if (!(error instanceof ServerError)) throw error;
        if (signal.aborted) return;
        if (state.problem === null && state.isRead && ["foreign", "missing"].includes(error.kind)) pause = LOOK; // no stream
        else fail(error);
      }
      failures = isSteady ? 0 : failures + 1;
      await rest(pause || Math.min(MOST, SOON * 2 ** (failures - 1)) * (0.5 + clock.random() / 2)); // not all pages at once
    }
  }

  /** @param {number} ms */
  const rest = (ms) =>
    new Promise((resolve) => {
      const timer = clock.later(() => wake?.(), ms);
      wake = () => {
        wake = null;
        clock.forget(timer);
        resolve(undefined);
      };
    });

  return {
    state,
    /** All that is known, the oldest first; the same objects until something changes. */
    entries: () => [...entries.values()].filter(({ record }) => record !== null),
    /** @param {string} id */
    entry: (id) => entries.get(id) ?? null,

    /** @param {() => void} listener */
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },

    /** Whether it is wanted may have changed. */
    update() {
      if (!isWanted()) {
        running?.abort();
        running = null;
        wake?.();
      } else if (!running) {
        running = new AbortController();
        void run(running.signal);
        if (every > 0) void lookAgain(running.signal);
      }
    },

    /** Try again at once: there is another token, or a network again. */
    retry() {
      running?.abort();
      running = null;
      wake?.();
      this.update();
    },

    /** Cards ask for these, whether they wait or not. @param {string[]} ids */
    want(ids) {
      const fresh = ids.filter((id) => !wanted.has(id));
      for (const id of fresh) wanted.add(id);
      if (state.isRead && running) void ask(fresh.filter((id) => !entries.has(id)));
    },

    /** Those that are over need not be shown any more. */
    forgetOver() {
      entries = new Map([...entries].filter(([id, entry]) => wanted.has(id) || !isOver(entry)));
      tell();
    },

    /**
     * Decide one. What comes back is the ledger's word; what doesn't arrive is said, and can be sent again. Returns the
     * record once it is closed, with the run that the conversation goes on with; null where it was not decided.
     * @param {string} id
     * @param {Decision} decision
     * @param {{goOn?: boolean, shown?: Ask}} [how] `shown`: what was on the screen, where that may be older
     * @returns {Promise<{record: Row, run: unknown} | null>}
     */
    async decide(id, decision, { shown, ...how } = {}) {
      const entry = entries.get(id);
      if (!entry?.ask || !isWaiting(entry)) return null; // a second click, or another element
      change(id, { sending: decision, mine: decision, problem: null });
      let told = null;
      try {
        told = await server.decide(id, toApproval(shown ?? entry.ask, decision, how));
        change(id, { note: typeof told.not_continued === "string" ? told.not_continued : "" });
        await ask([id]);
        await besides(id);
      } catch (error) {
        if (!(error instanceof ServerError)) throw error;
        await refused(id, error);
      }
      change(id, { sending: null });
      const { record, problem, gone } = entries.get(id) ?? {};
      if (told && record && !isClosed(record) && !problem && !gone) change(id, { problem: { kind: "agreed", message: "" } }); // the first of two
      return record && isClosed(record) ? { record, run: told?.run ?? null } : null;
    },
  };

  /**
   * @param {string} id
   * @param {ServerError} error
   */
  async function refused(id, error) {
    if (error.kind === "missing") return change(id, { gone: true });
    if (isClosed(error.record)) return change(id, { record: /** @type {Row} */ (error.record), late: true });
    await ask([id]); // it may have arrived
    const entry = entries.get(id);
    if (entry && !isClosed(entry.record) && !entry.gone) change(id, { problem: { kind: error.kind, message: error.message, code: error.code } });
  }
}

/**
 * @param {Row | null} record
 * @returns {Ask | null}
 */
function askOf(record) {
  if (!record) return null;
  const agent = record.thread && record.thread.agent !== record.agent ? record.agent : null;
  return fromApproval({ ...record, agent });
}
