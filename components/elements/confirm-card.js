/**
 * `<agui-confirm-card>`: what would run, with which arguments, and the person's decision. It sends nothing: the page
 * hears `agui-decide` and sends it in the way in which it was asked.
 */

import { nothing } from "lit/html.js";
import { createCard } from "../core/card.js";
import { endOf, everySecond, formatLeft } from "../core/countdown.js";
import { earlierText } from "../core/earlier.js";
import { grantText, may, peopleText, whyBarred } from "../core/people.js";
import { isLate } from "../core/records.js";
import { reveal } from "../core/reveal.js";
import { fill, serverSaid } from "../core/strings.js";
import { unitsFor } from "../core/units.js";
import { humanize, isObject, summary } from "../core/values.js";
import { GateElement } from "./base.js";
import { recordLine } from "./decision-line.js";
import { fieldRows } from "./form.js";
import { html } from "./html.js";
import { ICONS } from "./icons.js";
import { NONE, joined, literal } from "./joined.js";
import { argumentTable, inside, shown } from "./text.js";

/**
 * @import { Ask, CallRecord, Decision, Strings } from "../core/types.js"
 * @import { Card, Mode } from "../core/card.js"
 */

const FIELD = "input, select, textarea, [contenteditable]";
const OPEN = ["view", "edit", "reject", "question"];
const SOON = 60; // seconds

/** @type {WeakMap<Strings, Record<string, import("./joined.js").Template>>} The buttons, by the words that are in use. */
const buttons = new WeakMap();

/** Draws a card again when its page puts something into a slot. */
const slotted = globalThis.MutationObserver && new MutationObserver((changes) => {
  for (const { target } of changes) for (const node of [target, target.parentNode]) if (node instanceof ConfirmCard) node.requestUpdate();
});

export class ConfirmCard extends GateElement {
  static properties = {
...GateElement.properties,
    ask: {},
    record: {},
    draft: {},
    sent: {},
    notice: {},
    approval: { type: String, reflect: true },
    mode: { type: String, own: true },
    density: { type: String, reflect: true },
  };

  /** @type {Card | null} */
  #card = null;
  /** @type {() => void} */
  #stopClock = () => {};
  /** @type {Mode | null} */
  #drawn = null;
  #isMoved = false; // by the person: the focus follows
  /** @type {Element | null | undefined} What has the focus. */
  #focused = null;

  constructor() {
    super();
    /** @type {Ask | null} What is asked. */
    this.ask = null;
    /** @type {CallRecord | null} What the server says of the call. One that is closed closes the card. */
    this.record = null;
    /** @type {Decision | null} What was decided and is not sent yet: it can be taken back. */
    this.draft = null;
    /** @type {Decision | null} What was decided and is on its way; null after that: it wasn't taken, and is asked again. */
    this.sent = null;
    /** @type {string | null} A sentence about what is asked, or why that isn't known: what was typed stays. */
    this.notice = null;
    /** @type {string | null} The approval's id: an `<agui-gate>` around the card gives it what is asked. */
    this.approval = null;
    /** @type {"compact" | null} `compact`, where there is little room. */
    this.density = null;
  }

  /** What the card shows; setting it to `view`, `edit` or `reject` opens that. */
  get mode() {
    return this.#card?.state.mode ?? "view";
  }

  set mode(wanted) {
    if (!this.#card || wanted === this.mode) return;
    if (wanted === "edit") this.#card.edit();
    if (wanted === "reject") this.#card.reject();
    if (wanted === "view") this.#card.back();
  }

  /** Whether the person is in the middle of an answer. */
  get isAtWork() {
    return this.#card?.isAtWork() ?? false;
  }

  /** Put the focus on the card, from where one key decides. */
  focus() {
    if (!this.hasUpdated || this.isUpdatePending) this.performUpdate();
    const node = /** @type {HTMLElement | null} */ (this.renderRoot.querySelector(".card"));
    node?.focus();
  }

  /**
   * The answer wasn't taken, or didn't arrive: it can be given again.
   * @param {string} [why] "": it was taken, and waits for others
   */
  reopen(why) {
    this.#card?.reopen(why);
  }

  /**
   * Do what a key does while the focus is on the card: `a` approves, `e` edits, `r` rejects. False where there is no such
   * button now.
   * @param {string} key
   */
  press(key) {
    if (this.mode !== "view" || !this.#card?.isOpen()) return false;
    const what = /** @type {const} */ ({ a: "approve", e: "edit", r: "reject" })[key.toLowerCase()];
    if (!what || !may(this.#card.state.ask, what)) return false;
    this.#act(what);
    return true;
  }

  connectedCallback() {
    super.connectedCallback();
    slotted.observe(this, { childList: true, subtree: true, attributeFilter: ["slot"] });
    this.#watch();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#stopClock();
    this.#stopClock = () => {};
    queueMicrotask(() => this.isConnected || this.#card?.leave()); // it may only move
  }

  /** @param {Map<string, unknown>} changed */
  willUpdate(changed) {
    this.#focused = this.renderRoot.activeElement;
    if (changed.has("ask")) this.#take();
    if (changed.has("record") && this.#card) this.#card.setRecord(this.record ?? null);
    if (changed.has("draft") && this.#card) this.#card.setDraft(this.draft ?? null);
    if (changed.has("sent") && this.#card) this.#card.setSent(this.sent ?? null);
  }

  #take() {
    const ask = asAsk(this.ask);
    if (!ask && this.notice && this.isAtWork) /** @type {Card} */ (this.#card).state.ask.people = { you: /** @type {any} */ ({ may: [] }) }; // gone: what was typed stays
    else if (!ask) this.#card = null;
    else if (this.#card) this.#card.setAsk(ask);
    else {
      this.#card = createCard(ask, {
        strings: () => this.words,
        onDecide: (decision, about) => this.say("agui-decide", { ask: about, decision }),
        onUndo: (about) => this.say("agui-undo", { ask: about }),
        onLeave: (about) => this.say("agui-leave", { ask: about }),
        onMode: (mode, about) => this.say("agui-mode", { ask: about, mode }),
      });
      this.#card.subscribe(() => this.requestUpdate());
    }
    this.#watch();
  }

  #watch() {
    this.#stopClock();
    const isTimed = this.isConnected && this.#card && endOf(this.#card.state.ask.expiresAt) !== null;
    this.#stopClock = isTimed ? everySecond(() => OPEN.includes(this.mode) && this.#card?.tick()) : () => {};
  }

  updated() {
    const { mode } = this;
    const before = this.#drawn;
    this.#drawn = mode;
    if (this.#card && this.getAttribute("mode") !== mode) this.setAttribute("mode", mode);
    const isMoved = this.#isMoved && before !== null && before !== mode;
    if (!isMoved && this.#focused?.isConnected !== false) return;
    const card = /** @type {HTMLElement | null} */ (this.renderRoot.querySelector(".card"));
    if (!isMoved) return this.#keep(/** @type {HTMLInputElement} */ (this.#focused), card);
    this.#isMoved = false;
    const field = /** @type {HTMLInputElement | null} */ (["edit", "reject"].includes(mode) ? this.renderRoot.querySelector(".card :is(input, select, textarea)") : null);
    (field ?? card)?.focus();
    if (mode === "edit") field?.select?.();
    if (card && card.offsetHeight < innerHeight * 0.7) card.scrollIntoView({ block: "nearest" }); // down to its buttons
  }

  /**
   * The focus is on what is made anew in the place of `gone`, where somebody may be typing.
   * @param {HTMLInputElement} gone
   * @param {HTMLElement | null} card
   */
  #keep(gone, card) {
    const again = /** @type {HTMLInputElement[]} */ ([...this.renderRoot.querySelectorAll("*")]).find((one) => one.isEqualNode(gone));
    (again ?? card)?.focus({ preventScroll: true });
    const caret = gone?.selectionEnd;
    if (caret != null) again?.setSelectionRange(caret, caret);
  }

  /**
   * Do what a button says. The focus goes with it.
   * @param {"approve" | "edit" | "reject" | "back" | "undo" | "decline"} what
   */
  #act(what) {
    this.#isMoved = what !== "approve" && what !== "decline";
    if (what === "decline") this.#card?.reject({ now: true });
    else this.#card?.[what]();
  }

  /**
   * The second click of a double click may meet another card, which moved there: it decides nothing.
   * @param {MouseEvent} event
   */
  #clicked = (event) => {
    const button = /** @type {HTMLButtonElement | null} */ (/** @type {Element} */ (event.target).closest("button"));
    if (button?.getRootNode() !== this.renderRoot) return; // what the page put into a slot
    if (event.detail > 1) event.preventDefault();
    else if (button.type === "button") this.#act(/** @type {"back"} */ (button.value));
  };

  /** @param {Event} event */
  #submit = async (event) => {
    event.preventDefault();
    if (this.#card?.submit() !== false) return;
    await this.updateComplete;
    const wrong = /** @type {HTMLElement | null} */ (this.renderRoot.querySelector("[aria-invalid]"));
    wrong?.focus();
  };

  /** @param {KeyboardEvent} event */
  #pressed = (event) => {
    if (event.defaultPrevented) return;
    if (/** @type {Node} */ (event.composedPath()[0]).getRootNode() !== this.renderRoot) return; // what the page put into a slot
    if (event.key === "Escape" && !event.isComposing && ["edit", "reject"].includes(this.mode)) {
      event.preventDefault();
      this.#act("back");
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
    if (/** @type {Element} */ (event.target).closest(FIELD)) return;
    if (this.press(event.key)) event.preventDefault(); // the letter is not typed into the field that opens
  };

  render() {
    const strings = this.words;
    if (!this.#card) {
      const why = this.notice ?? (this.ask === null || this.ask === undefined ? null : fill(strings, "cantShow"));
      return why === null ? nothing : html`<section class="card" part="card">${sentence(why)}</section>`;
    }
    const { ask, mode } = this.#card.state;
    const name = fill(strings, "approvalNeeded", { title: reveal(whole(ask, strings)) });
    return joined(html`<section class="card" part="card" tabindex="-1" role="${literal(OPEN.includes(mode) ? "region" : "group")}" aria-label=${name} data-mode="${literal(mode)}" @click=${this.#clicked} @keydown=${this.#pressed}>
      ${OPEN.includes(mode) ? this.#open(strings) : this.#line(strings)}
    </section>`);
  }

  /** @param {Strings} strings */
  #open(strings) {
    const { ask, mode, refused } = /** @type {Card} */ (this.#card).state;
    const earlier = earlierText(ask, strings);
    const people = peopleText(ask.people, strings);
    const barred = this.ask && whyBarred(ask, strings);
    const news = [
      people && html`<p class="card-people" part="people" dir="auto">${ICONS.people}<span>${shown(people)}</span></p>`,
      this.notice && sentence(this.notice),
      refused && sentence(serverSaid(refused, undefined, strings)),
      barred && html`<p class="card-barred" part="barred" role="status">${ICONS.clock}<span>${shown(barred)}</span></p>`,
      earlier &&
        html`<div class="card-earlier" data-same=${String(earlier.isSame)}>${earlier.isSame ? ICONS.warning : ICONS.clock}
          <div><strong>${earlier.title}</strong><ul>${earlier.lines.map((line) => html`<li>${shown(line)}</li>`)}</ul></div></div>`,
    ];
    return html`${this.#header(strings)}
      ${news.some(Boolean) ? news : nothing}
      ${this.#slot("before")}
      ${mode === "view" ? this.#view(strings) : html`<form novalidate @submit=${this.#submit}>${mode === "reject" ? this.#rejecting(strings) : this.#filling(strings)}</form>`}
      ${this.#slot("after")}`;
  }

  /** @param {Strings} strings */
  #header(strings) {
    const { ask, mode, left } = /** @type {Card} */ (this.#card).state;
    const isOver = left === 0;
    const said = isOver ? fill(strings, "over") : mode === "edit" ? fill(strings, "changeThenApprove") : mode === "reject" ? fill(strings, "wontRun") : purpose(ask, strings);
    return html`<header class="card-header" part="header">
      ${ICONS.gate}
      <div class="card-heading">
        ${ask.agent ? html`<p class="card-agent" dir="auto">${shown(fill(strings, "asks", { agent: humanize(ask.agent) }))}</p>` : NONE}
        <h2 class="card-title" part="title" title=${ask.tool ? reveal(ask.tool) : nothing}${inside(titleOf(ask, strings))}</h2>
        <p class="said" dir="auto"${inside(said)}</p>
      </div>
      ${left === null ? NONE : html`<span class="expiry" part="expiry" data-soon=${String(left < SOON)} role=${isOver ? "status" : "timer"} .textContent=${isOver ? fill(strings, "expired") : fill(strings, "expiresIn", { left: formatLeft(left) })}></span>`}
    </header>`;
  }

  get #isOver() {
    return this.#card?.state.left === 0;
  }

  /**
   * @param {Strings} strings
   * @param {Map<string, unknown>} [rows]
   */
  #table(strings, rows) {
    const { ask } = /** @type {Card} */ (this.#card).state;
    return this.#slot("arguments", argumentTable(ask.arguments, { strings, rows, unit: unitsFor(ask.arguments, ask), schema: ask.schema }));
  }

  /** @param {Strings} strings */
  #view(strings) {
    const { ask } = /** @type {Card} */ (this.#card).state;
    return html`${this.#table(strings)}${this.#grants(strings)}
      <div class="card-actions" part="actions">
        ${may(ask, "approve") ? this.#button(strings, "approve", { look: "primary", symbol: ICONS.check, key: "A" }) : NONE}
        ${this.#slot("actions")}
        ${may(ask, "edit") ? this.#button(strings, "edit", { key: "E" }) : NONE}
        ${may(ask, "reject") ? this.#button(strings, "reject", { look: "danger", key: "R" }) : NONE}
      </div>`;
  }

  /**
   * "And don't ask again", where the gate offers that.
   * @param {Strings} strings
   */
  #grants(strings) {
    const card = /** @type {Card} */ (this.#card);
    const { ask, grant } = card.state;
    const offers = ask.people?.grants ?? [];
    if (offers.length === 0 || !may(ask, "approve")) return [];
    /** @param {{target: HTMLSelectElement}} event */
    const chosen = ({ target }) => card.chooseGrant(target.value);
    const given = offers.find(({ scope }) => scope === grant);
    return [html`<div class="reason field" part="field">
      <label for="grant">${fill(strings, "grant")}</label>
      <select id="grant" name="grant" autocomplete="off" ?disabled=${this.#isOver} @change=${chosen}>
        <option value="" ?selected=${grant === ""}>${fill(strings, "grantNone")}</option>
        ${offers.map((offer) => html`<option value=${offer.scope} ?selected=${grant === offer.scope}>${reveal(fill(strings, "grantOffer", { what: grantText(offer, strings) }))}</option>`)}
      </select>
      ${given ? html`<p class="field-help">${shown(grantText(given, strings))}</p>` : nothing}
    </div>`];
  }

  /** @param {Strings} strings */
  #filling(strings) {
    const card = /** @type {Card} */ (this.#card);
    const { ask, mode } = card.state;
    const rows = fieldRows(card.state, { strings, disabled: this.#isOver, type: card.type });
    if (mode === "question")
      return html`${argumentTable({}, { strings, rows })}
        <div class="card-actions" part="actions">
          ${this.#button(strings, "send", { look: "primary", symbol: ICONS.check })}${this.#slot("actions")}
          ${this.#button(strings, "decline", { look: "danger", symbol: ICONS.cross, act: true })}
        </div>`;
    return html`${argumentTable(ask.arguments, { strings, rows, unit: unitsFor(ask.arguments, ask), schema: ask.schema })}${this.#grants(strings)}
      <div class="card-actions" part="actions">${may(ask, "edit") ? this.#button(strings, "approveWithChanges", { look: "primary", symbol: ICONS.check }) : NONE}${this.#button(strings, "back", { act: true })}</div>`;
  }

  /** @param {Strings} strings */
  #rejecting(strings) {
    const card = /** @type {Card} */ (this.#card);
    const { ask } = card.state;
    /** @param {{target: HTMLInputElement}} event */
    const typed = ({ target }) => card.typeReason(target.value);
    return html`${this.#table(strings)}
      <div class="reason field" part="field">
        <label for="reason">${fill(strings, "reason")}</label>
        <input type="text" id="reason" name="reason" autocomplete="off" maxlength="500" ?disabled=${this.#isOver} .value=${card.state.reason} @input=${typed}>
      </div>
      <div class="card-actions" part="actions">${may(ask, "reject") ? this.#button(strings, "reject", { look: "reject", symbol: ICONS.cross }) : NONE}${this.#button(strings, "back", { act: true })}</div>`;
  }

  /**
   * A button that does what its word says (`#act`); one of a form sends that, unless it has an `act`. It is the same in every
   * card, so it is put together once.
   * @param {Strings} strings
   * @param {string} word
   * @param {{look?: string, symbol?: {strings: readonly string[]}, key?: string, act?: boolean}} as `key`: what does the same on the keyboard
   */
  #button(strings, word, { look = "plain", symbol = NONE, key, act = key !== undefined }) {
    const name = word + look + this.#isOver;
    let made = buttons.get(strings);
    if (!made) buttons.set(strings, (made = {}));
    return (made[name] ??= joined(html`<button class="button ${literal(look)}" part="button" type="${literal(act ? "button" : "submit")}" value="${literal(word)}"${literal(this.#isOver ? " disabled" : "")}${key ? html` aria-keyshortcuts="${literal(key)}"` : NONE}>${symbol}${literal(fill(strings, word))}${key ? html`<kbd aria-hidden="true">${literal(key)}</kbd>` : NONE}</button>`));
  }

  /**
   * A place for what the page puts there, once it does.
   * @param {string} name
   */
  #slot(name, instead = NONE) {
    return [...this.children].some(({ slot }) => slot === name) ? html`<slot name="${literal(name)}">${instead}</slot>` : instead;
  }

  /** @param {Strings} strings */
  #line(strings) {
    const { ask, mode, decision, record, unsent } = /** @type {Card} */ (this.#card).state;
    if (mode === "closed" && record)
      return recordLine({ tool: ask.tool, message: ask.message, ...record }, { strings, args: ask.arguments, schema: ask.schema, withCall: true, agent: ask.agent, late: isLate(record, decision, ask.arguments), unsent }) ?? nothing;
    const { approved = true, edits, grant } = decision ?? {};
    const call = shown(`${titleOf(ask, strings).toLowerCase()} · ${summary({ ...ask.arguments, ...edits }, unitsFor(ask.arguments, ask))}${grant ? fill(strings, "granted") : ""}`);
    const isQuestion = ask.kind === "question";
    if (mode === "sending") {
      const answer = fill(strings, isQuestion ? (approved ? "toAnswer" : "toDecline") : approved ? "toApprove" : "toReject");
      return html`<p class="line card-line" part="line" data-state="answered" role="status">${ICONS.send}<span dir="auto">${fill(strings, "yourAnswer", { answer })} · ${call}${decision?.reason ? html` · “${shown(decision.reason)}”` : nothing}</span></p>`;
    }
    const verb = fill(strings, isQuestion ? (approved ? "willAnswer" : "willDecline") : approved ? "willApprove" : "willReject");
    return html`<p class="line card-line" part="line" data-approved=${String(approved)}>${approved ? ICONS.check : ICONS.cross}<span dir="auto"><strong>${verb}</strong> ${call}</span>
      <button class="ghost" part="button" type="button" value="undo">${fill(strings, "change")}</button></p>`;
  }
}

/** A sentence that is said at once. @param {string} text */
export const sentence = (text) => html`<p class="card-refused" role="alert">${ICONS.warning}<span>${shown(text)}</span></p>`;

/**
 * What was given, if it is an ask at all.
 * @param {unknown} value
 * @returns {Ask | null}
 */
function asAsk(value) {
  if (!isObject(value) || typeof value.tool !== "string" || !isObject(value.arguments)) return null;
  const ask = /** @type {Ask} */ (/** @type {unknown} */ (value));
  return { ...ask, key: ask.key ?? ask.id ?? "", kind: ask.kind ?? "approval", fields: ask.fields ?? [] };
}

/**
 * @param {Ask} ask
 * @param {Strings} strings
 */
const titleOf = ({ tool }, strings) => (tool ? humanize(tool) : fill(strings, "question"));

/**
 * @param {Ask} ask
 * @param {Strings} strings
 */
const whole = (ask, strings) => (ask.agent ? fill(strings, "asksFor", { agent: humanize(ask.agent), title: titleOf(ask, strings) }) : titleOf(ask, strings));

/**
 * @param {Ask} ask
 * @param {Strings} strings
 */
function purpose(ask, strings) {
  if (ask.message) return ask.message;
  const who = ask.agent ? humanize(ask.agent) : fill(strings, "theAssistant");
  return fill(strings, ask.kind === "question" ? "asksYou" : "wantsThis", { who });
}
