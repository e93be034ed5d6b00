/** Frames that a page itself holds up, told apart from those that the machine does, which may be busy with other things. */

const CATEGORIES = ["disabled-by-default-devtools.timeline", "blink.user_timing"];
const LONG = 200; // ms, on a machine that needs this much for the work
const WORK = 40; // ms
const MARK = "frame";
const WORK_MARK = "work";

/**
 * The frames over 200 ms while `action` ran, in ms: those for most of which the page's main thread was at work, by the
 * processor time it used. A page that only waits for its turn has not dropped them, and a slower machine may take longer.
 */
export async function longFrames(page, action) {
  const browser = page.context().browser();
  await page.evaluate(markFrames, MARK);
  await browser.startTracing(page, { categories: CATEGORIES });
  let trace;
  try {
    await page.evaluate(work, WORK_MARK);
    await action();
    await page.evaluate(() => globalThis.stopMarking());
  } finally {
    trace = await browser.stopTracing();
  }
  return judge(JSON.parse(trace.toString()).traceEvents);
}

/** The same work on any machine, between two marks; none that is done faster once it is compiled. Runs in the page. */
function work(name) {
  const words = Array.from({ length: 20_000 }, (_, at) => ({ at, word: `word${at}` }));
  performance.mark(name);
  for (let times = 0; times < 5; times += 1) JSON.parse(JSON.stringify(words));
  performance.mark(name);
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
  const marked = (what) => events.filter(({ name, cat }) => name === what && cat.includes("user_timing")).sort((one, other) => one.ts - other.ts);
  const marks = marked(MARK);
  if (marks.length < 2) throw new Error("no frame was drawn");
  const [{ pid, tid }] = marks;
  const tasks = events.filter((event) => event.name === "RunTask" && event.pid === pid && event.tid === tid && event.tdur);
  const worked = ([from, to]) => tasks.filter(({ ts, dur }) => ts < to && ts + dur > from).reduce((sum, { tdur }) => sum + tdur, 0);
  const limit = LONG * Math.max(1000, worked(marked(WORK_MARK).map(({ ts }) => ts)) / WORK); // µs
  const frames = marks.slice(1).map((mark, at) => [marks[at].ts, mark.ts]);
  const long = frames.filter(([from, to]) => to - from > limit);
  return long.filter((frame) => worked(frame) > limit * 0.75).map(([from, to]) => Math.round((to - from) / 1000));
}
