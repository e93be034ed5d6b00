/** The time by the server's clock: whether something has expired is its word, and a computer's own may be hours off. */

const SLACK = 30_000; // ms: what a slow answer looks like, and no harm

let ahead = 0; // ms by which this computer's clock goes before the server's

/**
 * Take the time from an answer.
 * @param {string | null} date when the server answered, as the header says it; an answer without one says nothing
 * @param {number} [now] when that came here
 */
export function learnTime(date, now = Date.now()) {
  const off = now - Date.parse(date ?? "");
  if (!Number.isNaN(off)) ahead = Math.abs(off) > SLACK ? off : 0;
}

/** Now, in ms since epoch. */
export const serverNow = () => Date.now() - ahead;
