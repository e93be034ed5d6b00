/**
 * `<agui-inbox>`: what waits for the person in any chat, the oldest first, to be decided without opening it. Each line
 * opens to the card that the call has in its chat. What is decided stays, with how it ended, until `clear()`: nothing moves
 * under somebody's finger. It fetches nothing: an `<agui-gate>` around it gives it its `ledger`.
 */

import { nothing, render } from "lit/html.js";
import { endOf, everySecond, formatLeft, secondsLeft } from "../core/countdown.js";
import { isOver, isWaiting } from "../core/ledger.js";
import { waitsForOthers } from "../core/people.js";
import { clock, decisionLine, isClosed, shortClock, undecided } from "../core/records.js";
import { reveal } from "../core/reveal.js";
import { serverNow } from "../core/servertime.js";
import { fill, serverSaid } from "../core/strings.js";
import { unitsFor } from "../core/units.js";
import { humanize, inOrder, summary } from "../core/values.js";
import { GateElement } from "./base.js";
import { sentence } from "./confirm-card.js";
import { askAgain, whyNot } from "./gate.js";
import { html } from "./html.js";
import { inboxStyle } from "./inbox-style.js";
import { style } from "./style.js";
import { shown } from "./text.js";

/**
 * @import { Entry, createLedger } from "../core/ledger.js"
 * @import { ConfirmCard } from "./confirm-card.js"
 * @import { Strings } from "../core/types.js"
 */

const MOST = 100; // lines that are drawn, until more are asked for
const FEW = 7; // of them need no search

/** The parts of its cards, for the page's styles; where it has one of that name itself, the card's is another. */
const PARTS = "card,header,title:card-title,expiry,people,barred,arguments,field,error,actions,button,line:card-line";

export class Inbox extends GateElement {
  static styles = [style, inboxStyle];

  static properties = { ...GateElement.properties, ledger: {}, current: { type: String }, chats: { type: Boolean }, picks: { type: Boolean }, filter: {} };

  #forget = () => {};
  #stopClock = () => {};
  /** @type {Map<string, HTMLElement>} The lines that are drawn, by the calls' ids. */
  #rows = new Map();
  #search = "";
  #most = MOST;
  /** @type {Map<string, Entry>} */
  #before = new Map();
  #news = "";
  #said = "";

  constructor() {
    super();
    /** @type {ReturnType<typeof createLedger> | null} */
    this.ledger = null;
    /** @type {string | null} The id of the chat that is on screen. */
    this.current = null;
    /** Whether the page can open a chat: then each line has a button for it, and `agui-open-chat` says which. */
    this.chats = false;
    /** Whether lines can be picked, to be decided together by the page: `agui-pick` says that `picked` has changed. */
    this.picks = false;
    /** @type {Set<string>} The ids of those. */
    this.picked = new Set();
    /** @type {Set<string>} The ids of those whose card is open: `agui-toggle` says that it has changed. Each has a slot of its id. */
    this.opened = new Set();
    /** @type {((entry: Entry) => boolean) | null} Which ones are shown. */
    this.filter = null;
  }

  /** How many can be decided. */
  get count() {
    return this.#open().length;
  }

  /** How many wait, and whom for. */
  get heading() {
    const { words } = this;
    const open = this.#open();
    const count = this.ledger?.state.more ? `${open.length}+` : open.length;
    const others = waitsForOthers(open.map(({ ask }) => ask?.people), words);
    return others ? `${others} (${count})` : open.length > 0 ? fill(words, "inboxCount", { count }) : fill(words, "inboxTitle");
  }

  #open() {
    return this.#entries().filter((entry) => isWaiting(entry) && serverNow() < (endOf(entry.record?.expires_at) ?? Infinity));
  }

  /** What is shown, the oldest first. */
  get shown() {
    const words = this.#search.toLowerCase().split(/\s+/).filter(Boolean);
    const all = this.filter ? this.#entries().filter(this.filter) : this.#entries();
    return words.length === 0 ? all : all.filter((entry) => words.every((word) => hay(entry).includes(word)));
  }

  /** Put the focus on the next line, or by -1 on the one before; without a focus on the first. @param {number} by */
  step(by) {
    const lines = this.#lines();
    const item = this.shadowRoot?.activeElement?.closest("li");
    lines[Math.max(0, lines.findIndex((line) => item?.contains(line)) + (item || by > 0 ? by : 0))]?.focus();
  }

  /** Pick the line that has the focus, or not any more. @param {string} [id] */
  pick(id = /** @type {HTMLElement | null | undefined} */ (this.shadowRoot?.activeElement?.closest("li"))?.dataset.id) {
    if (!id) return;
    if (!this.picked.delete(id)) this.picked.add(id);
    this.requestUpdate();
    this.say("agui-pick", {});
  }

  /** What was decided need not be shown any more. */
  clear() {
    this.opened.clear();
    this.#search = "";
    this.#most = MOST;
    this.ledger?.forgetOver();
    this.requestUpdate();
  }

  /** The focus goes to the first line that waits, else to the first; it opens. */
  focus() {
    const { shown } = this;
    const first = shown.find(isWaiting) ?? shown[0];
    if (first && !this.opened.has(first.id)) this.#toggle(first.id);
    const find = (/** @type {string} */ waits) => /** @type {HTMLElement | null} */ (this.renderRoot.querySelector(`.item${waits} .line-button`));
    void this.updateComplete.then(() => (find("[data-waits=true]") ?? find(""))?.focus());
  }

  connectedCallback() {
    super.connectedCallback();
    this.#watch();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#forget();
    this.#stopClock();
  }

  /** @param {Map<string, unknown>} changed */
  willUpdate(changed) {
    if (changed.has("ledger")) this.#watch();
    this.#hear();
  }

  #watch() {
    this.#forget();
    this.#stopClock();
    if (!this.isConnected || !this.ledger) return;
    this.#forget = this.ledger.subscribe(() => this.requestUpdate());
    this.#stopClock = everySecond(() => this.#entries().some(({ record }) => record?.expires_at) && this.requestUpdate());
  }

  #entries() {
    return this.ledger?.entries() ?? [];
  }

  /** What became of a call that waited, for those who listen. */
  #hear() {
    for (const entry of this.#entries()) {
      const before = this.#before.get(entry.id);
      if (before && isOver(entry) && !isOver(before)) this.#news = `${reveal(humanize(entry.record?.tool ?? ""))}: ${ended(entry, this.words)}`;
    }
    this.#before = new Map(this.#entries().map((entry) => [entry.id, entry]));
  }

  updated() {
    this.#drawLines(this.renderRoot.querySelector("ul"), this.words);
    for (const node of this.renderRoot.querySelectorAll("agui-confirm-card")) {
      const card = /** @type {ConfirmCard} */ (node);
      askAgain(card, this.ledger?.entry(card.dataset.id ?? "")?.problem ?? null);
    }
    const { heading } = this;
    if (heading === this.#said) return;
    this.#said = heading;
    this.say("agui-count", { count: this.count, more: this.ledger?.state.more ?? false, heading });
  }

  #lines = () => /** @type {HTMLElement[]} */ ([...this.renderRoot.querySelectorAll(".line-button")]);

  /** @param {KeyboardEvent} event */
  #pressed = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.isComposing) return;
    const line = /** @type {HTMLElement} */ (event.currentTarget);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key] ?? 0;
    const lines = this.#lines();
    if (step) lines[lines.indexOf(line) + step]?.focus();
    const card = /** @type {ConfirmCard | null} */ (line.closest("li")?.querySelector("agui-confirm-card") ?? null);
    if (step || (!event.repeat && card?.press(event.key))) event.preventDefault();
  };

  /** The button that had the focus goes. @param {Event} event */
  #decided = ({ target }) => {
    const line = /** @type {HTMLElement | null | undefined} */ (/** @type {Element} */ (target).closest("li")?.querySelector(".line-button"));
    line?.focus();
  };

  /** What opens by the keyboard is brought into view; under a pointer nothing moves. @param {string} id @param {boolean} [byKey] */
  #toggle(id, byKey) {
    if (!this.opened.delete(id)) this.opened.add(id);
    if (byKey) requestAnimationFrame(() => this.#rows.get(id)?.scrollIntoView({ block: "nearest" }));
    this.requestUpdate();
    this.say("agui-toggle", { id });
  }

  render() {
    const strings = this.words;
    const all = this.#entries();
    const found = this.shown;
    const rest = found.length - this.#most;
    const { problem, isRead, more } = this.ledger?.state ?? { problem: null, isRead: false, more: false };
    return html`<slot name="title"><h2 part="title" class="inbox-title">${this.heading}</h2></slot>
      ${problem ? sentence(whyNot(problem, strings)) : nothing}
      ${all.length > FEW || this.#search ? this.#searching(strings) : nothing}
      <ul part="list"></ul>
      ${rest > 0 ? html`<button class="button plain" part="button" type="button" @click=${this.#showMore}>${fill(strings, "inboxShowMore", { count: Math.min(MOST, rest) })}</button>` : nothing}
      <p class="rest">${this.#rest(all, found, { isRead, more, isAway: problem !== null }, strings)}</p>
      <p class="news" role="status">${this.#news}</p>`;
  }

  #showMore = () => {
    this.#most += MOST;
    this.requestUpdate();
  };

  /** @param {Strings} strings */
  #searching(strings) {
    const typed = (/** @type {{target: HTMLInputElement}} */ { target }) => {
      this.#search = target.value;
      this.#most = MOST;
      this.requestUpdate();
    };
    return html`<input class="search" part="search" type="search" autocomplete="off" aria-label=${fill(strings, "inboxSearch")} placeholder=${fill(strings, "inboxSearch")} .value=${this.#search} @input=${typed} @search=${typed}>`;
  }

  /**
   * @param {Entry[]} all
   * @param {Entry[]} found
   * @param {{isRead: boolean, more: boolean, isAway: boolean}} state
   * @param {Strings} strings
   */
  #rest(all, found, { isRead, more, isAway }, strings) {
    if (!isRead) return isAway ? "" : fill(strings, "inboxReading");
    if (more) return fill(strings, "inboxMore");
    if (all.length > 0 && found.length === 0) return fill(strings, "inboxNoMatch");
    if (all.some(isWaiting)) return "";
    return fill(strings, all.length > 0 ? "inboxNothingElse" : "inboxNothing");
  }

  /**
   * Each call keeps its line, and only a line that is new or has another place moves: where somebody types, nothing does.
   * @param {HTMLElement | null} list
   * @param {Strings} strings
   */
  #drawLines(list, strings) {
    const before = this.#rows;
    this.#rows = new Map();
    for (const { id, record, ask, ...more } of this.shown.slice(0, this.#most))
      if (record && ask) {
        const row = before.get(id) ?? Object.assign(document.createElement("li"), { className: "item", part: "item" });
        this.#rows.set(id, row);
        const entry = { id, record, ask, ...more };
        Object.assign(row.dataset, { id, waits: isWaiting(entry), state: record.state, tool: record.tool, thread: record.thread_id });
        render(this.#item(entry, strings), row);
      }
    for (const [id, row] of before) if (!this.#rows.has(id)) row.remove();
    let next = list?.firstChild ?? null;
    for (const row of this.#rows.values())
      if (row === next) next = row.nextSibling;
      else list?.insertBefore(row, next);
  }

  /**
   * @param {Entry & {record: import("../core/server.js").Row, ask: import("../core/types.js").Ask}} entry
   * @param {Strings} strings
   */
  #item(entry, strings) {
    const { id, record, ask } = entry;
    const isOpen = this.opened.has(id);
    const what = record.message || summary(inOrder(record.arguments, record.schema ?? undefined), unitsFor(record.arguments, ask));
    const chat = record.thread_id === this.current ? fill(strings, "inboxThisChat") : record.thread ? record.thread.title || fill(strings, "inboxNewChat") : "";
    const where = [(ask.agent || record.asker) && fill(strings, "asks", { agent: ask.agent ? humanize(ask.agent) : (record.asker ?? "") }), chat].filter(Boolean).join(" · ");
    return html`${this.picks && isWaiting(entry) ? html`<label class="pick"><input type="checkbox" aria-label="${fill(strings, "inboxPick", { what: reveal(`${humanize(record.tool)} · ${what}`) })}" .checked=${this.picked.has(id)} @change=${() => this.pick(id)}></label>` : nothing}
      <h3><button class="line-button" part="line" type="button" aria-expanded=${String(isOpen)} @click=${(/** @type {MouseEvent} */ { detail }) => this.#toggle(id, !detail)} @keydown=${this.#pressed}>
        <span class="inbox-tool">${shown(humanize(record.tool))}</span>
        <span class="inbox-state">${stand(entry, strings)}</span>
        <span class="inbox-what" dir="auto">${shown(what)}</span>
        ${entry.problem && !isOpen ? html`<span class="inbox-problem" data-kind=${entry.problem.kind} dir="auto">${shown(whyNot(entry.problem, strings) || fill(strings, "youAgreed"))}</span>` : nothing}
        <span class="inbox-where" dir="auto">${shown(where)}${where ? " · " : ""}<time datetime=${record.asked_at ?? nothing} title=${clock(record.asked_at, undefined, strings)}>${shortClock(record.asked_at, undefined, strings)}</time></span>
      </button></h3>
      ${isOpen ? this.#detail(entry, strings) : nothing}`;
  }

  /**
   * @param {Entry} entry
   * @param {Strings} strings
   */
  #detail({ id, record, ask, gone, note }, strings) {
    const isGone = gone && !isClosed(record);
    const open = () => this.say("agui-open-chat", { thread: record?.thread_id, agent: record?.thread?.agent ?? record?.agent });
    return html`<div class="detail">
      <agui-confirm-card density="compact" exportparts=${PARTS} data-id=${id} @agui-decide=${this.#decided} .strings=${this.strings} .lang=${this.lang} .ask=${isGone ? null : ask} .record=${record} .notice=${isGone ? fill(strings, "goneChat") : null}><slot name=${id} slot="after"></slot></agui-confirm-card>
      ${note && isClosed(record) ? html`<p class="inbox-note">${fill(strings, "notContinued", { note: serverSaid(note, undefined, strings) })}</p>` : nothing}
      ${this.chats && !gone && record?.thread ? html`<button class="ghost" part="button" type="button" @click=${open}>${fill(strings, "inboxOpenChat")}</button>` : nothing}
    </div>`;
  }
}

/**
 * How it stands, in a few words.
 * @param {Entry} entry
 * @param {Strings} strings
 */
function stand(entry, strings) {
  const { record, gone, sending } = entry;
  if (!record || gone || isClosed(record)) return shown(ended(entry, strings));
  if (sending) return fill(strings, "sending");
  const end = endOf(record.expires_at);
  if (end === null) return "";
  const left = secondsLeft(end, serverNow());
  return left === 0 ? fill(strings, "expired") : fill(strings, "expiresIn", { left: formatLeft(left) });
}

/**
 * @param {Entry} entry
 * @param {Strings} strings
 */
function ended({ record, gone, late }, strings) {
  if (!record || (gone && !isClosed(record))) return fill(strings, "inboxDeleted");
  return `${decisionLine(record, { already: late, strings }) ?? undecided(record, strings)}${late ? `. ${fill(strings, "answerTooLate")}` : ""}`;
}

/** What is searched of an entry. @param {Entry} entry */
function hay({ record }) {
  const { tool = "", message, thread, agent, asker, arguments: args } = record ?? {};
  return [tool, humanize(tool), message, thread?.title, agent, asker, JSON.stringify(args)].join(" ").toLowerCase();
}
