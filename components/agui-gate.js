/**
 * The elements and what they stand on. Importing this defines nothing; `defineAguiGate()` does, in a browser.
 */

import { ConfirmCard } from "./elements/confirm-card.js";
import { DecisionLine } from "./elements/decision-line.js";
import { Gate } from "./elements/gate.js";
import { Inbox } from "./elements/inbox.js";

export { ConfirmCard, DecisionLine, Gate, Inbox };
export { fromApproval, fromCard, fromCardAnswer, fromInterrupt, toApproval, toCardAnswer, toPayload, toResume } from "./core/asks.js";
export { createCard } from "./core/card.js";
export { createLedger, isWaiting } from "./core/ledger.js";
export { grantText, may, peopleText, whyBarred, withPeople } from "./core/people.js";
export { isClosed, recordText } from "./core/records.js";
export { reveal } from "./core/reveal.js";
export { loadStrings, stringsFor } from "./core/strings.js";

/**
 * @typedef {import("./core/types.js").Ask} Ask
 * @typedef {import("./core/types.js").CallRecord} CallRecord
 * @typedef {import("./core/types.js").Decision} Decision
 * @typedef {import("./core/types.js").Strings} Strings
 */

/** The version of these elements. */
export const VERSION = "0.1.0";

/**
 * The elements by their tags.
 *
 * @type {Record<string, CustomElementConstructor>}
 */
export const ELEMENTS = { "agui-confirm-card": ConfirmCard, "agui-decision-line": DecisionLine, "agui-inbox": Inbox, "agui-gate": Gate };

/**
 * Defines the elements, once for a page. Where another version has defined one, that one stays, and the console says so:
 * a page can have an element only once. Without a DOM it does nothing.
 */
export function defineAguiGate() {
  if (typeof window === "undefined" || !window.customElements) return;
  for (const [tag, constructor] of Object.entries(ELEMENTS)) {
    const there = /** @type {{ version?: string } | undefined} */ (customElements.get(tag));
    if (!there) customElements.define(tag, Object.assign(constructor, { version: VERSION }));
    else if (there.version !== VERSION)
      console.warn(`agui-gate: <${tag}> of ${there.version ?? "another package"} is in use here, not that of ${VERSION}.`);
  }
}
