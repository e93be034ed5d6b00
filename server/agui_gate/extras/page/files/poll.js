/**
 * Looks again and again whether something happened elsewhere, while somebody can see the page: soon while something
 * waits, seldom else. DOM-free: what is visible and the timers are passed in. One look at a time; it never hammers.
 */

const AT_ONCE = 250; // ms between a look and the next one, where something happened meanwhile
const SOON = 1500; // ms: a stale card is noticed within 3 s
const SELDOM = 10_000; // ms, when nothing waits, or nobody has stirred for long
const MOST = 30_000; // ms between looks at a server that doesn't answer
const PATIENCE = 400; // looks until nobody seems to be there: ten minutes
const AFTERWARDS = 10; // looks after something happened elsewhere: a conversation may go on

/**
 * `look()` resolves when it has looked, to true if something had changed, and rejects when the server doesn't answer;
 * `waits()` says whether a card is open, `isVisible()` whether anybody can see it. `seldom`: ms between looks where
 * nothing waits.
 */
export function createPoller({ look, waits, isVisible, seldom = SELDOM, later = setTimeout, forget = clearTimeout }) {
  let timer = null;
  let planned = 0; // ms, the delay of that timer
  let looking = false;
  let behind = false; // something happened while it looked
  let failures = 0;
  let quiet = 0; // looks since somebody stirred
  let linger = 0;

  const isSoon = () => (waits() || linger > 0) && quiet <= PATIENCE;
  const usual = () => (isSoon() ? SOON : seldom);
  const delay = () => (failures > 0 ? Math.max(usual(), Math.min(MOST, SOON * 2 ** failures)) : behind ? AT_ONCE : usual());

  function schedule() {
    if (timer !== null || looking || !isVisible()) return;
    planned = delay();
    timer = later(() => {
      timer = null;
      if (isVisible()) void once();
    }, planned);
  }

  async function once() {
    looking = true;
    behind = false;
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
      if (!isVisible() || delay() < planned) cancel();
      schedule();
    },
    /** Something happened: look at once, or once more after the look that is under way. */
    now() {
      behind = looking;
      if (looking || !isVisible()) return;
      cancel();
      void once();
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
