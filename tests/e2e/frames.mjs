/** Frames that a page itself holds up, told apart from those that the machine does, which may be busy with other things. */

const CATEGORIES = ["disabled-by-default-devtools.timeline", "blink.user_timing"];
const LONG = 200; // ms
const MARK = "frame";

/**
 * The frames over 200 ms while `action` ran, in ms: those for most of which the page's main thread was at work, by the
 * processor time it used. A page that only waits for its turn has not dropped them.
 */
export async function longFrames(page, action) {
  const browser = page.context().browser();
  await page.evaluate(markFrames, MARK);
  await browser.startTracing(page, { categories: CATEGORIES });
  let trace;
  try {
    await action();
    await page.evaluate(() => globalThis.stopMarking());
  } finally {
    trace = await browser.stopTracing();
  }
  return judge(JSON.parse(trace.toString()).traceEvents);
}

/** Leaves a mark in the trace at every frame. Runs in the page. */
function markFrames(name) {
  let on = true;
  globalThis.stopMarking = () => (on = false);
  const tick = () => {
    performance.mark(name);
    if (on) requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}

function judge(events) {
  const marks = events.filter(({ name, cat }) => name === MARK && cat.includes("user_timing")).sort((one, other) => one.ts - other.ts);
  if (marks.length < 10) throw new Error(`only ${marks.length} frames were drawn`);
  const [{ pid, tid }] = marks;
  const tasks = events.filter((event) => event.name === "RunTask" && event.pid === pid && event.tid === tid && event.tdur);
  const frames = marks.slice(1).map((mark, at) => [marks[at].ts, mark.ts]);
  const long = frames.filter(([from, to]) => to - from > LONG * 1000);
  const worked = ([from, to]) => tasks.filter(({ ts, dur }) => ts < to && ts + dur > from).reduce((sum, { tdur }) => sum + tdur, 0);
  return long.filter((frame) => worked(frame) > LONG * 1000 * 0.75).map(([from, to]) => Math.round((to - from) / 1000));
}
