/**
 * Looks again and again whether something was decided elsewhere, while a card waits and somebody can see it. DOM-free:
 * what is visible and the timers are passed in. One look at a time; it never hammers.
 */

const SOON = 1500; // ms: a stale card settles within 3 s
const SELDOM = 10_000; // ms, when nobody has stirred for long
const MOST = 30_000; // ms between looks at a server that doesn't answer
const PATIENCE = 400; // looks until nobody seems to be there: ten minutes
const AFTERWARDS = 10; // looks after something happened elsewhere: a conversation may go on

/**
 * `look()` resolves when it has looked, to true if something had changed, and rejects when the server doesn't answer;
 * `waits()` says whether a card is open, `isVisible()` whether anybody can see it.
 */
export function createWatch({ look, waits, isVisible, later = setTimeout, forget = clearTimeout }) {
  let timer = null;
  let looking = false;
  let failures = 0;
  let quiet = 0; // looks since somebody stirred
  let linger = 0;

  const wanted = () => isVisible() && (waits() || linger > 0);
  const delay = () => (failures > 0 ? Math.min(MOST, SOON * 2 ** failures) : quiet > PATIENCE ? SELDOM : SOON);

  function schedule() {
    if (timer !== null || looking || !wanted()) return;
    timer = later(() => {
      timer = null;
      if (wanted()) void once();
    }, delay());
  }

  async function once() {
    looking = true;
    quiet += 1;
    linger = Math.max(0, linger - 1);
    try {
      if (await look()) linger = AFTERWARDS;
      failures = 0;
    } catch {
      failures += 1;
    }
    looking = false;
    schedule();
  }

  function cancel() {
    if (timer !== null) forget(timer);
    timer = null;
  }

  return {
    /** What waits may have changed. */
    update() {
      if (wanted()) schedule();
      else cancel();
    },
    /** Somebody came back to the page: look at once. */
    back() {
      quiet = 0;
      failures = 0;
      if (!isVisible() || looking) return;
      cancel();
      void once();
    },
    /** Somebody is there. */
    stir() {
      const slept = quiet > PATIENCE;
      quiet = 0;
      if (slept) this.back();
    },
  };
}
