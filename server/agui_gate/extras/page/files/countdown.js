/** How long an approval can still be given, where there is no card that says it. */

import { endOf, everySecond, formatLeft, secondsLeft } from "./components/core/countdown.js";
import { serverNow } from "./components/core/servertime.js";
import { h, setText } from "./dom.js";

/** A live "Expires in 4:59"; null for a date that nobody can read. It stops once it is over, or not on the page any more. */
export function createCountdown(expiresAt) {
  const end = endOf(expiresAt);
  if (end === null) return null;
  const node = h("span", { class: "expiry" });
  const show = () => {
    const left = secondsLeft(end, serverNow());
    node.classList.toggle("soon", left < 60);
    setText(node, left === 0 ? "Expired" : `Expires in ${formatLeft(left)}`);
    return left;
  };
  const stop = everySecond(() => (!node.isConnected || show() === 0) && stop());
  show();
  return node;
}
