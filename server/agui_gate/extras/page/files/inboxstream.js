/**
 * Holds the stream of what waits for the person open while somebody can see the page, and says when something happened
 * in it. What is true is read from the list then, as without the stream: so there is one way to learn it, and nothing
 * flickers when the stream comes back. DOM-free: whether it is wanted, the clock and chance are passed in.
 *
 * A browser has six connections to a host without HTTP/2, for all its tabs: a page that nobody sees gives its own back.
 */

const SOON = 1000; // ms until the first try after a stream that broke off
const MOST = 60_000; // ms between tries at a server that refuses it
const STEADY = 30_000; // ms after which a stream that breaks off has not failed
const SILENCE = 45_000; // ms without a sign of life: the server sends one every 15 s

/**
 * `open(signal, heard)` yields the stream's events (api.js); `onNews()` once all that waits was told, and for each event
 * after that; `onLost()` when a stream that was followed is gone. `isWanted()` says whether there is somebody to follow
 * it for.
 */
export function createInboxStream({ open, onNews, onLost, isWanted, later = setTimeout, forget = clearTimeout, now = Date.now, random = Math.random }) {
  let stream = null; // what ends the one that is open
  let live = false; // all that waits was told in it
  let timer = null; // until the next try
  let failures = 0; // one after the other

  async function follow() {
    const controller = new AbortController();
    const alarm = createAlarm(() => controller.abort());
    const began = now();
    stream = controller;
    try {
      for await (const event of open(controller.signal, alarm.put)) {
        if (stream !== controller) return;
        live ||= Array.isArray(event.ids);
        if (live) onNews();
      }
    } catch {
      // Refused, broken off, or silent: it is tried again in any case, and the list is looked at meanwhile.
    } finally {
      alarm.drop();
    }
    if (stream === controller) over(now() - began >= STEADY);
  }

  /** Rings after a silence. */
  function createAlarm(ring) {
    let bell = later(ring, SILENCE);
    return {
      put() {
        forget(bell);
        bell = later(ring, SILENCE);
      },
      drop: () => forget(bell),
    };
  }

  function over(wasSteady) {
    leave();
    failures = wasSteady ? 0 : failures + 1;
    timer = later(() => {
      timer = null;
      update();
    }, Math.min(MOST, SOON * 2 ** failures) * (0.5 + random() / 2)); // not all pages at once
  }

  /** End it, without another try. */
  function leave() {
    if (timer !== null) forget(timer);
    timer = null;
    const [left, wasLive] = [stream, live];
    stream = null;
    live = false;
    left?.abort();
    if (wasLive) onLost();
  }

  /** Whether it is wanted may have changed. */
  function update() {
    if (!isWanted()) leave();
    else if (!stream && timer === null) void follow();
  }

  return {
    /** Whether what happens is told by the stream. */
    isLive: () => live,
    update,
    /** Somebody came back to the page, or left it: no more waiting for the next try. */
    back() {
      failures = 0;
      if (!stream) leave();
      update();
    },
    /** The person is another one: what was followed is not theirs. */
    renew() {
      failures = 0;
      leave();
      update();
    },
  };
}
