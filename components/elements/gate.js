/**
 * `<agui-gate base="https://agents.example/">`: gives the cards and inboxes in it what waits. It is all that fetches: one
 * list and one stream, however many they are. A card says which call it shows: `<agui-confirm-card approval="apr_…">`.
 *
 * With the attribute `send` it sends what is decided, and the conversation goes on by itself. Without it an `agui-decide`
 * is for the page to send in its own way, and the card waits for the server to say what came of it.
 */

import { createLedger, isWaiting } from "../core/ledger.js";
import { isClosed } from "../core/records.js";
import { fill, serverSaid } from "../core/strings.js";
import { GateElement } from "./base.js";
import { html } from "./html.js";

/**
 * @import { Decision, Strings } from "../core/types.js"
 * @import { Problem } from "../core/ledger.js"
 * @import { ConfirmCard } from "./confirm-card.js"
 * @import { Inbox } from "./inbox.js"
 */

/** @type {Record<string, string>} */
const SENTENCES = { away: "gateAway", unauthorized: "gateUnauthorized", foreign: "gateForeign", missing: "gateMissing", refused: "gateRefused" };

/**
 * Why; what the server said of it where it said something.
 * @param {Problem} problem
 * @param {Strings} strings
 */
export const whyNot = ({ kind, message, code }, strings) => (kind === "agreed" ? "" : (kind === "refused" && message && serverSaid(message, code, strings)) || fill(strings, SENTENCES[kind] ?? "gateRefused"));

/** @type {WeakMap<ConfirmCard, Problem | null>} What each card was told of an answer that was not taken. */
const told = new WeakMap();

/**
 * Ask again in `card` what was not taken, once for each problem.
 * @param {ConfirmCard} card
 * @param {Problem | null} problem
 */
export function askAgain(card, problem) {
  if (problem && told.get(card) !== problem) card.reopen(whyNot(problem, card.words));
  told.set(card, problem);
}

export class Gate extends GateElement {
  static styles = [":host { display: contents; }"];

  static properties = { ...GateElement.properties, base: { type: String }, send: { type: Boolean }, look: { type: Number }, getToken: {} };

  /** @type {ReturnType<typeof createLedger> | null} */
  #ledger = null;
  /** The base that the ledger is of. */
  #from = "";
  #stop = () => {};
  /** @type {ConfirmCard[]} */
  #cards = [];
  /** @type {string | null} */
  #problem = null;

  constructor() {
    super();
    /** @type {string} Where the server is; as the page's links are, from where the page is. */
    this.base = "";
    /** Whether it sends what is decided. */
    this.send = false;
    /** Seconds after which the list is read again, for who decides calls of others; 0: never. */
    this.look = 0;
    /** @type {() => string | null | undefined | Promise<string | null | undefined>} The bearer token; asked before each request. */
    this.getToken = () => null;
    this.addEventListener("agui-decide", (event) => this.#guard(/** @type {CustomEvent} */ (event)), true);
    this.addEventListener("agui-decide", (event) => this.#decided(/** @type {CustomEvent} */ (event)));
  }

  /** What is known: `entries()`, `subscribe(listener)`, `decide(id, decision)`. For pages with markup of their own. */
  get ledger() {
    return this.#ledger;
  }

  /** Try again at once, as after a log-in. */
  retry() {
    this.#ledger?.retry();
  }

  /**
   * Send a decision, as `send` does. Resolves once the server has said what came of it.
   * @param {string} id
   * @param {Decision} decision
   * @param {{goOn?: boolean, shown?: import("../core/types.js").Ask}} [how] `shown`: what was on the screen; `goOn: false`: the conversation waits for its next message
   */
  async decide(id, decision, how) {
    const done = (await this.#ledger?.decide(id, decision, how)) ?? null;
    if (done) this.say("agui-decided", done);
    return done;
  }

  connectedCallback() {
    super.connectedCallback();
    this.#begin();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#stop();
  }

  /** @param {Map<string, unknown>} changed */
  updated(changed) {
    if (changed.has("base") && this.base !== this.#from) this.#begin();
    if (changed.has("getToken") && changed.get("getToken") !== undefined) this.retry();
  }

  #begin() {
    this.#stop();
    this.#from = this.base;
    const ledger = createLedger({
      base: new URL(this.base, document.baseURI).href,
      getToken: () => this.getToken(),
      every: this.look * 1000,
      isWanted: () => this.#ledger === ledger && this.isConnected && document.visibilityState === "visible", // a browser has six connections to a host
    });
    this.#ledger = ledger;
    const gathering = new MutationObserver(() => this.#gather());
    gathering.observe(this, { childList: true, subtree: true, attributes: true, attributeFilter: ["approval"] });
    const forget = ledger.subscribe(() => this.#show());
    const update = () => ledger.update();
    const retry = () => ledger.retry();
    document.addEventListener("visibilitychange", update);
    addEventListener("online", retry);
    this.#stop = () => {
      gathering.disconnect();
      forget();
      document.removeEventListener("visibilitychange", update);
      removeEventListener("online", retry);
      queueMicrotask(update); // it may only move
    };
    queueMicrotask(() => {
      this.#gather();
      update();
    });
  }

  #gather() {
    this.#cards = [...this.querySelectorAll("agui-confirm-card[approval]")].map((node) => /** @type {ConfirmCard} */ (node));
    for (const node of this.querySelectorAll("agui-inbox")) /** @type {Inbox} */ (node).ledger = this.#ledger;
    this.#ledger?.want(this.#cards.map((card) => card.getAttribute("approval") ?? ""));
    this.#show();
  }

  #show() {
    for (const card of this.#cards) this.#fill(card);
    const problem = this.#ledger?.state.problem ?? null;
    if ((problem?.kind ?? null) === this.#problem) return;
    this.#problem = problem?.kind ?? null;
    this.say("agui-problem", { kind: this.#problem, message: problem ? whyNot(problem, this.words) : "" });
  }

  /** @param {ConfirmCard} card */
  #fill(card) {
    const ledger = this.#ledger;
    const entry = ledger?.entry(card.getAttribute("approval") ?? "");
    if (!ledger) return;
    const isGone = entry?.gone === true && !isClosed(entry.record);
    card.notice = this.#notice(card, isGone);
    if (!entry) return;
    card.ask = isGone ? null : entry.ask;
    card.record = entry.record;
    askAgain(card, entry.problem);
  }

  /**
   * @param {ConfirmCard} card
   * @param {boolean} isGone
   */
  #notice(card, isGone) {
    const { state, entry } = /** @type {NonNullable<typeof this.ledger>} */ (this.#ledger);
    const known = entry(card.getAttribute("approval") ?? "");
    if (isGone) return fill(this.words, known?.record ? "goneChat" : "gateMissing");
    if (state.problem) return whyNot(state.problem, this.words);
    if (known?.sending && card.mode !== "sending") return fill(this.words, "gateBeside");
    return state.isOld ? fill(this.words, "gateOld") : null;
  }

  /**
   * Of two elements for one call, one is answered.
   * @param {CustomEvent<{ask: {id: string}}>} event
   */
  #guard(event) {
    const { id } = event.detail.ask;
    const entry = this.#ledger?.entry(id);
    const source = event.composedPath()[0];
    const isBeside = this.#cards.some((card) => card !== source && card.getAttribute("approval") === id && card.mode === "sending");
    if (isBeside || (entry && !isWaiting(entry))) event.stopImmediatePropagation();
  }

  /** @param {CustomEvent<{ask: import("../core/types.js").Ask, decision: Decision}>} event */
  #decided(event) {
    const { ask, decision } = event.detail;
    if (this.send && !event.defaultPrevented && this.#ledger?.entry(ask.id)) void this.decide(ask.id, decision, { shown: ask });
  }

  render() {
    return html`<slot></slot>`;
  }
}
