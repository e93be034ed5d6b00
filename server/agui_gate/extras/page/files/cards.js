/** The card of a call or question: the element `<agui-confirm-card>`, as the rows of the conversation use it. */

import { defineAguiGate } from "./components/agui-gate.js";

defineAguiGate();

/**
 * A card for `ask`; `actions.decide(ask, decision | null)` hears what was decided, or taken back. `update(ask, draft, earlier)`
 * shows who has agreed or edited, what was decided so far, and what the same tool already did in this chat.
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
    update(now, draft, earlier) {
      const said = JSON.stringify([now, earlier]);
      if (said !== told) node.ask = { ...now, earlier };
      told = said;
      node.draft = draft;
      if (!draft && node.mode === "sending") node.reopen(); // it wasn't taken
    },
  };
}
