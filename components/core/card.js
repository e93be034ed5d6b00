/**
 * A card for one ask, without any view: what is shown, what was typed, what was decided. A view draws `state` and calls
 * the methods; one's own buttons work as well as the element's.
 *
 *     view ──edit()──▶ edit ──┐
 *      │ ▲──back()────────────┤  approve(), reject(), answer()
 *      └──reject()──▶ reject ─┴──────────────▶ sending ──record──▶ closed
 *                                                 └── reopen(why) ──▶ view
 */

import { endOf, secondsLeft } from "./countdown.js";
import { readDraft, writeDraft } from "./drafts.js";
import { changesTo, fieldsOf, readFields, toText } from "./fields.js";
import { may } from "./people.js";
import { isClosed } from "./records.js";
import { serverNow } from "./servertime.js";
import { ENGLISH } from "./strings.js";

/** @import { Ask, CallRecord, Decision, Strings } from "./types.js" */

/**
 * @typedef {"view" | "edit" | "reject" | "question" | "decided" | "sending" | "closed"} Mode `decided`: it is not sent, and
 * can be taken back; `sending`: it is on its way, and the server hasn't said what came of it; `closed`: nobody can answer.
 *
 * @typedef {object} CardState
 * @property {Ask} ask
 * @property {Mode} mode
 * @property {Record<string, string>} texts What is in the fields, by their names.
 * @property {Record<string, string>} problems What is wrong with it, by the fields' names.
 * @property {string} reason
 * @property {string} grant The scope in which it is not asked again, or "".
 * @property {Decision | null} decision What was decided here.
 * @property {CallRecord | null} record
 * @property {boolean} unsent It was closed while the person was in the middle of an answer.
 * @property {string | null} refused Why the last answer wasn't taken.
 * @property {number | null} left Seconds that it can still be answered; null: no limit.
 *
 * @typedef {object} Options
 * @property {(decision: Decision, ask: Ask) => void} [onDecide] A decision was made: it is for the caller to send.
 * @property {(ask: Ask) => void} [onUndo] A decision that is not sent was taken back.
 * @property {(mode: Mode, ask: Ask) => void} [onMode]
 * @property {(ask: Ask) => void} [onLeave] It was closed, or went, while the person was in the middle of an answer.
 * @property {() => Strings} [strings] For what is wrong in a field.
 * @property {() => number} [now] The server's time, ms since epoch.
 * @property {boolean} [keeps] What is typed is kept for a reload of the page; true unless said otherwise.
 */

/**
 * @param {Ask} first
 * @param {Options} [options]
 */
export function createCard(first, { onDecide, onUndo, onMode, onLeave, strings = () => ENGLISH, now = serverNow, keeps = true } = {}) {
  /** @type {Set<() => void>} */
  const listeners = new Set();
  /** @type {CardState} */
  let state = begin(first);

  /** @param {Ask} ask @returns {CardState} */
  function begin(ask) {
    const kept = keeps ? readDraft(ask.key) : null;
    const isEdited = ask.kind === "approval" && ask.fields.length > 0 && kept !== null; // before a reload
    const mode = ask.kind === "question" ? "question" : isEdited ? "edit" : "view";
    const texts = mode === "view" ? {} : textsOf(ask, kept);
    return { ask, mode, texts, problems: {}, reason: ask.said ?? "", grant: "", decision: null, record: null, unsent: false, refused: ask.refused ?? null, left: leftOf(ask) };
  }

  /** @param {Ask} ask */
  function leftOf({ expiresAt }) {
    const end = endOf(expiresAt);
    return end === null ? null : secondsLeft(end, now());
  }

  /** @param {Partial<CardState>} news */
  function change(news) {
    const before = state;
    state = { ...state, ...news };
    if (state.mode !== before.mode) onMode?.(state.mode, state.ask);
    for (const listener of listeners) listener();
  }

  const isAtWork = () => ["edit", "reject"].includes(state.mode) || (state.mode === "question" && isTouched(state));
  const isOpen = () => ["view", "edit", "reject", "question"].includes(state.mode) && state.left !== 0;
  const rest = () => /** @type {Mode} */ (state.ask.kind === "question" ? "question" : "view");

  /** @param {Record<string, string> | null} texts */
  const keep = (texts) => keeps && writeDraft(state.ask.key, texts);

  /** @param {Decision} decision */
  function decide(decision) {
    if (!isOpen()) return;
    keep(null);
    if (state.ask.people?.needs) decision.seen = state.ask.arguments; // which may be others when it is sent
    change({ mode: "sending", decision, problems: {} });
    onDecide?.(decision, state.ask);
  }

  const granted = () => (state.grant && state.ask.people?.grants?.some(({ scope }) => scope === state.grant) ? { grant: { scope: state.grant } } : {});

  /** The texts as values; null where one of them is not valid: `problems` says why. */
  function read() {
    const { ask, texts, mode } = state;
    const { values, problems } = readFields(fieldsOf(ask), texts, mode === "edit" ? ask.arguments : {}, { onlyChanged: mode === "edit", strings: strings() });
    change({ problems });
    return Object.keys(problems).length > 0 ? null : values;
  }

  return {
    get state() {
      return state;
    },
    /** Whether the person is in the middle of an answer. */
    isAtWork,
    /** Whether it can be answered now. */
    isOpen,
    /**
     * Call `listener` after every change, until what this returns is called.
     * @param {() => void} listener
     */
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    /**
     * Show another ask, or more of this one: what was typed in this one stays where it still fits.
     * @param {Ask} ask
     */
    setAsk(ask) {
      if (ask === state.ask || JSON.stringify(ask) === JSON.stringify(state.ask)) return;
      if (ask.key !== state.ask.key) return change(begin(ask));
      const isOver = ["sending", "decided"].includes(state.mode) && (ask.refused ?? null) === (state.ask.refused ?? null);
      if (isAtWork() || isOver) return change({ ask, left: leftOf(ask), texts: state.mode === "edit" || state.mode === "question" ? textsOf(ask, state.texts) : {}, refused: ask.refused ?? null });
      const { record, grant } = state;
      change({ ...begin(ask), record, grant });
    },
    /**
     * Take the server's word. Of one that is closed nothing can be sent any more.
     * @param {CallRecord | null} record
     */
    setRecord(record) {
      if (!isClosed(record)) return change({ record, ...(state.mode === "closed" && { mode: rest(), decision: null, unsent: false }) });
      const unsent = state.unsent || isAtWork();
      if (isAtWork()) onLeave?.(state.ask);
      keep(null);
      change({ record, mode: "closed", unsent });
    },
    /**
     * Show what was decided and isn't sent; null: nothing is.
     * @param {Decision | null} decision
     */
    setDraft(decision) {
      if (decision === null && state.mode === "decided") return change({ mode: rest(), decision: null, texts: textsOf(state.ask, null), problems: {} });
      if (decision === null || state.mode === "closed") return;
      keep(null);
      change({ mode: "decided", decision, problems: {} });
    },
    /**
     * Show what was decided and is on its way; null: it wasn't taken, and is asked again.
     * @param {Decision | null} decision
     */
    setSent(decision) {
      if (decision === null && state.mode === "sending") this.reopen();
      if (decision === null || ["sending", "closed"].includes(state.mode)) return;
      keep(null);
      change({ mode: "sending", decision, problems: {} });
    },
    approve: () => may(state.ask, "approve") && decide({ approved: true, ...granted() }),
    /** Open the fields. */
    edit() {
      if (!isOpen() || state.ask.kind === "question" || !may(state.ask, "edit")) return;
      const texts = textsOf(state.ask, null);
      keep(texts);
      change({ mode: "edit", texts, problems: {} });
    },
    /** Ask for a reason, or with `now` do without one. */
    reject: ({ now: atOnce = false } = {}) => (atOnce ? decide({ approved: false }) : isOpen() && state.ask.kind === "approval" && may(state.ask, "reject") && change({ mode: "reject" })),
    /** Leave the fields or the reason. What was typed is gone. */
    back() {
      if (!["edit", "reject"].includes(state.mode)) return;
      keep(null);
      change({ mode: "view", texts: {}, problems: {}, reason: state.ask.said ?? "" });
    },
    /**
     * @param {string} name
     * @param {string} text
     */
    type(name, text) {
      const texts = { ...state.texts, [name]: text };
      keep(texts);
      change({ texts });
    },
    /** @param {string} grant the scope in which it is not asked again; "": none */
    chooseGrant: (grant) => change({ grant }),
    /** @param {string} reason */
    typeReason: (reason) => change({ reason }),
    /** Send what the open form says: the edits, the reason or the answer. False where something in it is not valid. */
    submit() {
      if (!isOpen()) return false;
      const { ask, mode, reason } = state;
      if (!may(ask, mode === "question" ? "approve" : /** @type {"edit"} */ (mode))) return false; // frozen, agreed in another tab, or gone
      if (mode === "reject") {
        decide(reason.trim() ? { approved: false, reason: reason.trim() } : { approved: false });
        return true;
      }
      const values = read();
      if (values === null) return false;
      if (mode === "question") decide({ approved: true, answer: values });
      else {
        const edits = changesTo(ask.arguments, values);
        decide({ approved: true, ...(Object.keys(edits).length > 0 && { edits }), ...granted() });
      }
      return true;
    },
    /** Take back what was decided and isn't sent. */
    undo() {
      if (state.mode !== "decided") return;
      onUndo?.(state.ask);
    },
    /**
     * The answer wasn't taken, or didn't arrive: it is asked again, with what was typed.
     * @param {string} [why] "": it was taken, and waits for others
     */
    reopen(why) {
      if (!["sending", "decided"].includes(state.mode)) return;
      const { ask, decision, texts } = state;
      if (why === "") return change({ mode: rest(), decision: null, refused: null, grant: "", left: leftOf(ask) });
      const isEdit = decision?.edits !== undefined;
      if (isEdit) keep(texts);
      change({ mode: isEdit ? "edit" : decision && !decision.approved && decision.reason ? "reject" : rest(), decision: null, refused: why ?? ask.refused ?? null, left: leftOf(ask) });
    },
    /** A second is over. */
    tick() {
      const left = leftOf(state.ask);
      if (left !== state.left) change({ left });
    },
    /** It goes: says `onLeave` where somebody was at an answer. What was typed stays kept. */
    leave() {
      if (isAtWork()) onLeave?.(state.ask);
    },
  };
}

/** @typedef {ReturnType<typeof createCard>} Card */

/**
 * @param {Ask} ask
 * @param {Record<string, string> | null} kept
 */
const textsOf = (ask, kept) => ({ ...Object.fromEntries(ask.fields.map((field) => [field.name, toText(field)])), ...kept });

/** @param {CardState} state */
const isTouched = ({ ask, texts }) => ask.fields.some((field) => (texts[field.name] ?? toText(field)) !== toText(field));
