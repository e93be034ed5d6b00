import assert from "node:assert/strict";
import { afterEach, mock, test } from "node:test";
import { page } from "./support.mjs";

Object.assign(globalThis, { document: { baseURI: "http://localhost/" }, window: { sessionStorage: { getItem: () => null } } });
const { askEarly, getCalls, getThread, run } = await page("api.js");

const untilAborted = (_, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

test("what waits for an answer on a dead connection gives up", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  globalThis.fetch = untilAborted;
  const asked = getCalls("t1").catch(({ code }) => code);
  mock.timers.tick(45_000);
  assert.equal(await asked, "network");
});

test("a run takes as long as it takes, and is left by who began it", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  globalThis.fetch = untilAborted;
  const controller = new AbortController();
  const first = run("support", {}, controller.signal).next().catch(({ name }) => name);
  mock.timers.tick(45_000);
  assert.equal(await Promise.race([first, new Promise((resolve) => setImmediate(resolve, "at work"))]), "at work");
  controller.abort();
  assert.equal(await first, "AbortError");
});

test("a run's request says that leaving it stops nothing", async () => {
  let sent;
  globalThis.fetch = async (_, { headers }) => ((sent = headers), new Response("", { headers: { "Content-Type": "text/event-stream" } }));
  await run("support", {}, new AbortController().signal).next();
  assert.equal(sent["AGUI-Gate-Leaving"], "continue");
});

afterEach(() => mock.timers.reset());

test("a thread that was asked for early is asked for once, and later anew", async () => {
  const asked = [];
  globalThis.fetch = async (url) => (asked.push(new URL(url).pathname), { ok: true, headers: new Headers(), json: async () => ({ id: asked.length }) });
  askEarly("t1");
  assert.deepEqual(await getThread("t1"), { id: 1 });
  assert.deepEqual(await getThread("t1"), { id: 2 });
  askEarly("t1");
  assert.deepEqual(await getThread("t2"), { id: 4 });
  assert.deepEqual(await getThread("t1"), { id: 5 }, "by then the early one is old");
  globalThis.fetch = async () => Promise.reject(new TypeError("away"));
  askEarly("t1");
  await assert.rejects(getThread("t1"), { code: "network" });
});
