/** What the elements have in common: their words, in their language, and their look. */

import { LitElement } from "lit";
import { stringsFor } from "../core/strings.js";
import { style } from "./style.js";

/** @import { Strings } from "../core/types.js" */

export class GateElement extends LitElement {
  /** @type {import("lit").CSSResultGroup} */
  static styles = style;

  /** @type {import("lit").PropertyDeclarations} */
  static properties = { strings: { attribute: false } };

  constructor() {
    super();
    /** @type {Strings | null} Words that are not those of the table; each may be missing. */
    this.strings = null;
  }

  static get observedAttributes() {
    return [...super.observedAttributes, "lang"];
  }

  /**
   * @param {string} name
   * @param {string | null} old
   * @param {string | null} value
   */
  attributeChangedCallback(name, old, value) {
    if (name === "lang") this.requestUpdate();
    else super.attributeChangedCallback(name, old, value);
  }

  /** The words, in the language of the element or of the page. */
  get words() {
    return stringsFor(this.lang || document.documentElement.lang, this.strings);
  }

  /**
   * @param {string} name
   * @param {object} detail
   */
  say(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }
}
