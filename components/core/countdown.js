/** How long something can still be answered. */

/**
 * `42 s`, `4:09`, `3 h 20 min`, `3 h`, `2 d`.
 * @param {number} seconds
 */
export function formatLeft(seconds) {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  const minutes = Math.floor((seconds % 3600) / 60);
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h${minutes > 0 ? ` ${minutes} min` : ""}`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/**
 * The moment that an ask ends, in ms since epoch; null where it has none or one that nobody can read: then it never
 * expires here, and the server decides.
 * @param {string | number | null} [expiresAt]
 * @returns {number | null}
 */
export function endOf(expiresAt) {
  const end = typeof expiresAt === "number" ? expiresAt : Date.parse(expiresAt ?? "");
  return Number.isNaN(end) ? null : end;
}

/**
 * Seconds until `end`, 0 once it is over.
 * @param {number} end ms since epoch
 * @param {number} now
 */
export const secondsLeft = (end, now) => Math.max(0, Math.ceil((end - now) / 1000));

/** @type {Set<() => void>} */
const listeners = new Set();
/** @type {ReturnType<typeof setInterval> | null} */
let clock = null;

/**
 * Call `tick` every second until what this returns is called. One clock ticks for all, and stops when nobody listens.
 * @param {() => void} tick
 * @returns {() => void}
 */
export function everySecond(tick) {
  listeners.add(tick);
  clock ??= setInterval(() => listeners.forEach((listener) => listener()), 1000);
  return () => {
    listeners.delete(tick);
    if (listeners.size > 0 || clock === null) return;
    clearInterval(clock);
    clock = null;
  };
}
