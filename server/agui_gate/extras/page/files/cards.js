/** The card of a call or question: the element `<agui-confirm-card>`, as the rows of the conversation use it. */

import { defineAguiGate } from "./components/agui-gate.js";

defineAguiGate();

/**
 * A card for `ask`; `actions.decide(ask, decision | null)` hears what was decided, or taken back. `update(draft, earlier, people)`
 * shows what was decided so far, what the same tool already did in this chat, and who has agreed.
 */
export function createCard(ask, { decide }) {
  const node = document.createElement("agui-confirm-card");
  node.addEventListener("agui-decide", ({ detail }) => decide(ask, detail.decision));
  node.addEventListener("agui-undo", () => decide(ask, null));
  let told = null;
  return {
    node,
    /** Whether the person is in the middle of an answer. */
    isAtWork: () => node.isAtWork,
    update(draft, earlier, people) {
      const before = JSON.stringify([earlier, people]);
      if (before !== told) node.ask = { ...ask, earlier, people };
      told = before;
      node.draft = draft;
      if (!draft && node.mode === "sending") node.reopen(); // it wasn't taken
    },
  };
}
