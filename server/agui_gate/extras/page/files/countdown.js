/** How long an approval can still be given. */

import { h } from "./dom.js";
import { serverNow } from "./servertime.js";

const timers = new Map();
let clock = null;

/** A live "Expires in 4:59"; `onOver` is called when it is. One clock ticks for all and stops when none is left on the page. */
export function createCountdown(expiresAt, onOver) {
  const end = typeof expiresAt === "number" ? expiresAt : Date.parse(expiresAt);
  if (Number.isNaN(end)) return null; // A date nobody can read never expires here; the server still decides.
  const node = h("span", { class: "expiry" });
  timers.set(node, { end, onOver });
  show(node, end);
  clock ??= setInterval(tick, 1000);
  return node;
}

function tick() {
  for (const [node, { end, onOver }] of timers) {
    if (node.isConnected) show(node, end);
    if (node.isConnected && end <= serverNow()) onOver();
    if (!node.isConnected || end <= serverNow()) timers.delete(node);
  }
  if (timers.size > 0) return;
  clearInterval(clock);
  clock = null;
}

function show(node, end) {
  const left = Math.max(0, Math.ceil((end - serverNow()) / 1000));
  node.classList.toggle("soon", left < 60);
  node.textContent = left === 0 ? "Expired" : `Expires in ${formatLeft(left)}`;
}

/** `42 s`, `4:09`, `3 h 20 min`, `3 h`, `2 d`. */
export function formatLeft(seconds) {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  const minutes = Math.floor((seconds % 3600) / 60);
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h${minutes > 0 ? ` ${minutes} min` : ""}`;
  return `${Math.floor(seconds / 86_400)} d`;
}
