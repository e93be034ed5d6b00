/** Several open cards: how many are decided, and a way to send those now. */

import { openAsks } from "./asks.js";
import { setText } from "./dom.js";

const HINT = "Esc goes to the card. There A approves, E edits, R rejects.";

/** `parts`: the bar, its words, its button, and the fine print below. `onSend()` sends what is decided. */
export function createBatch({ bar, text, button, finePrint }, { onSend, setHint }) {
  const usual = finePrint.textContent;
  button.addEventListener("click", onSend);
  return {
    draw(state) {
      const asks = state.run ? [] : openAsks(state);
      const decided = asks.filter((ask) => state.drafts[ask.key]).length;
      bar.hidden = asks.length < 2;
      setText(text, decided === 0 ? `${asks.length} approvals wait for you` : `${decided} of ${asks.length} decided`);
      button.hidden = decided === 0;
      setText(button, `Send ${decided} now`);
      setHint(asks.length > 0 ? "Decide above, or write…" : "Message…");
      setText(finePrint, asks.length > 0 && matchMedia("(hover: hover)").matches ? HINT : usual);
    },
  };
}
