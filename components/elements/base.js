/**
 * What the elements have in common: properties, one drawing for all that changes at once, their words in their language,
 * and their look. Lit draws; its own base class isn't needed for this, and is as large as what draws.
 */

import { nothing, render } from "lit/html.js";
import { loadStrings, stringsFor } from "../core/strings.js";
import { style } from "./style.js";

/**
 * @import { Strings } from "../core/types.js"
 *
 * @typedef {object} Property
 * @property {BooleanConstructor | NumberConstructor | StringConstructor} [type] What its attribute is read as; without one it has none.
 * @property {boolean} [reflect] The attribute follows the property.
 * @property {boolean} [own] The class has accessors of its own.
 */

/** Without a DOM the classes can be read, not used. */
const Base = /** @type {typeof HTMLElement} */ (globalThis.HTMLElement ?? class {});

/** @type {WeakMap<Document, Map<string, CSSStyleSheet>>} One for all elements of a document. */
const sheets = new WeakMap();

/**
 * @param {Document} page
 * @param {string} text
 */
function sheetOf(page, text) {
  const known = sheets.get(page) ?? new Map();
  sheets.set(page, known);
  const sheet = known.get(text) ?? new /** @type {typeof globalThis} */ (page.defaultView).CSSStyleSheet();
  if (!known.has(text)) sheet.replaceSync(text);
  known.set(text, sheet);
  return sheet;
}

export class GateElement extends Base {
  /** The styles, as text. */
  static styles = [style];

  /** @type {Record<string, Property>} */
  static properties = { strings: {} };

  /** @type {Record<string, unknown>} */
  #values = {};
  /** @type {[string, unknown][]} What was set before the element was defined. */
  #early = [];
  /** @type {Map<string, unknown>} What has changed since the last drawing, and what it was; before the first it was undefined. */
  #changed = new Map();
  /** @type {() => void} */
  #begin = () => {};
  #begun = new Promise((begin) => (this.#begin = () => begin(undefined)));
  #drawn = this.#begun;

  hasUpdated = false;
  isUpdatePending = false;

  constructor() {
    super();
    const given = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (this));
    for (const name of Object.keys(propertiesOf(this.constructor))) {
      if (!Object.hasOwn(this, name)) continue;
      this.#early.push([name, given[name]]);
      delete given[name];
    }
    /** @type {Strings | null} Words that are not those of the table; each may be missing. */
    this.strings = null;
  }

  /** Makes the accessors, as it is asked for when the element is defined. */
  static get observedAttributes() {
    const properties = Object.entries(propertiesOf(this));
    for (const [name, { own }] of properties) {
      if (own || Object.hasOwn(this.prototype, name)) continue;
      Object.defineProperty(this.prototype, name, {
        /** @this {GateElement} */
        get() {
          return this.#values[name];
        },
        /** @this {GateElement} @param {unknown} value */
        set(value) {
          const before = this.#values[name];
          if (Object.is(value, before)) return;
          this.#values[name] = value;
          if (!this.#changed.has(name)) this.#changed.set(name, this.hasUpdated ? before : undefined);
          this.requestUpdate();
        },
        configurable: true,
        enumerable: true,
      });
    }
    return ["lang", ...properties.filter(([, { type }]) => type).map(([name]) => name)];
  }

  /**
   * @param {string} attribute
   * @param {string | null} _
   * @param {string | null} value
   */
  attributeChangedCallback(attribute, _, value) {
    const { type } = propertiesOf(this.constructor)[attribute] ?? {};
    if (type) Object.assign(this, { [attribute]: type === Boolean ? value !== null : value && type(value) });
    else this.#speak();
  }

  connectedCallback() {
    this.#speak();
    this.#begin();
  }

  disconnectedCallback() {}

  /** It has moved to another document, and lost its styles on the way. */
  adoptedCallback() {
    if (this.shadowRoot) this.#dress(this.shadowRoot);
  }

  /** @param {ShadowRoot} root */
  #dress(root) {
    const { ownerDocument: page } = this; // one that nobody sees has no window
    if (page.defaultView) root.adoptedStyleSheets = /** @type {typeof GateElement} */ (this.constructor).styles.map((text) => sheetOf(page, text));
  }

  /** Draw it in its language; in English until the words of another one are there. */
  #speak() {
    this.requestUpdate();
    void loadStrings(this.#lang)?.then(() => this.requestUpdate());
  }

  get #lang() {
    return this.lang || document.documentElement.lang;
  }

  /** Where it is drawn. */
  get renderRoot() {
    return /** @type {ShadowRoot} */ (this.shadowRoot);
  }

  /** Draw it soon: what changes meanwhile is drawn at once. Not before it is in a page. */
  requestUpdate() {
    if (this.isUpdatePending) return;
    this.isUpdatePending = true;
    this.#drawn = this.#begun.then(() => this.performUpdate());
  }

  /** Settles when it is drawn. */
  get updateComplete() {
    return this.#drawn;
  }

  /** Draw it now, if there is anything to draw. */
  performUpdate() {
    if (!this.isUpdatePending) return;
    if (!this.shadowRoot) this.#dress(this.attachShadow({ mode: "open" }));
    for (const [name, value] of this.#early.splice(0)) Object.assign(this, { [name]: value });
    const changed = this.#changed;
    try {
      this.willUpdate(changed);
      for (const name of changed.keys()) if (propertiesOf(this.constructor)[name]?.reflect) this.#reflect(name);
      render(this.render(), this.renderRoot);
    } finally {
      this.#changed = new Map();
      this.isUpdatePending = false;
    }
    this.hasUpdated = true;
    this.updated(changed);
  }

  /** @param {string} name */
  #reflect(name) {
    const value = this.#values[name];
    if (value === null || value === undefined) this.removeAttribute(name);
    else if (this.getAttribute(name) !== String(value)) this.setAttribute(name, String(value));
  }

  /** Before it is drawn. @param {Map<string, unknown>} _changed */
  willUpdate(_changed) {}

  /** @returns {unknown} what is drawn */
  render() {
    return nothing;
  }

  /** It is drawn. @param {Map<string, unknown>} _changed */
  updated(_changed) {}

  /** The words, in the language of the element or of the page. */
  get words() {
    return stringsFor(this.#lang, this.strings);
  }

  /**
   * @param {string} name
   * @param {object} detail
   */
  say(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }
}

/**
 * @param {Function} constructor
 * @returns {Record<string, Property>}
 */
const propertiesOf = (constructor) => /** @type {typeof GateElement} */ (constructor).properties;
