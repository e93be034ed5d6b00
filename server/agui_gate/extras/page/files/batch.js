/** Open cards: how many of several are decided, ways to approve all and to send some now, and what writing something else means. */

import { openAsks, together } from "./asks.js";
import { serverNow } from "./components/core/servertime.js";
import { setText } from "./dom.js";

const HINT = "Esc goes to the card. There A approves, E edits, R rejects.";

/** What a message means for what is not decided. */
const leaving = (left) =>
  left === 1 ? "If you send this, the open approval is cancelled. It will not run." : `If you send this, the ${left} open approvals are cancelled. They will not run.`;

/**
 * `parts`: the bar, its words, its buttons, and the fine print below. `onApproveAll(asks)` approves these, `onSend()` sends
 * what is decided; `isWriting()`: there is text that would be sent; `announce(text)` says it to who doesn't see it.
 */
export function createBatch({ bar, text, all, button, finePrint }, { onApproveAll, onSend, setHint, isWriting, announce }) {
  const usual = finePrint.textContent;
  let offered = [];
  all.addEventListener("click", ({ detail }) => detail < 2 && onApproveAll(offered)); // not by the second click of a double one
  button.addEventListener("click", onSend);
  return {
    draw(state) {
      const asks = state.run ? [] : openAsks(state);
      const decided = asks.filter((ask) => state.drafts[ask.key]).length;
      bar.hidden = asks.length < 2;
      setText(text, decided === 0 ? `${asks.length} approvals wait for you` : `${decided} of ${asks.length} decided`);
      offered = state.run ? [] : together(state, serverNow());
      all.hidden = offered.length === 0;
      setText(all, `Approve all ${offered.length}`);
      button.hidden = decided === 0;
      setText(button, `Send ${decided} now`);
      setHint(asks.length > 0 ? "Decide above, or write…" : "Message…");
      const left = asks.length - decided;
      const warns = left > 0 && isWriting();
      if (warns && !finePrint.classList.contains("warns")) announce(leaving(left));
      finePrint.classList.toggle("warns", warns);
      setText(finePrint, warns ? leaving(left) : asks.length > 0 && matchMedia("(hover: hover) and (min-width: 701px)").matches ? HINT : usual);
    },
  };
}
