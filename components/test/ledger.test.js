import assert from "node:assert/strict";
import test, { after, mock } from "node:test";
import { createLedger, isWaiting } from "../core/ledger.js";

const row = (/** @type {object} */ more = {}) => ({
  id: "apr_1", thread_id: "t1", call_id: "c1", tool: "refund", agent: "support", state: "pending", arguments: { amount: 20 }, editable: [], decision: null,
  schema: null, refused: null, already_ran: [], thread: { title: "One", agent: "support" }, ...more,
});
const json = (/** @type {unknown} */ value, status = 200) => new Response(JSON.stringify(value), { status, headers: { "content-type": "application/json" } });
const stream = (/** @type {unknown[]} */ ...events) =>
  new Response(events.map((event) => `event: x\ndata: ${JSON.stringify(event)}\n\n`).join(""), { headers: { "content-type": "text/event-stream" } });

/** A ledger over `answers` by path (`named`: for the calls that a request names), whose time is passed by hand: `pauses` are those that it wanted to make. */
function ledgerOver(/** @type {Record<string, () => Response | Promise<Response>>} */ answers) {
  /** @type {string[]} */
  const asked = [];
  /** @type {number[]} */
  const pauses = [];
  /** @type {(() => void)[]} */
  const waiting = [];
  const clock = {
    later: (/** @type {() => void} */ act, /** @type {number} */ ms) => (pauses.push(ms), waiting.push(act)),
    forget: () => {},
    now: () => 0,
    random: () => 1,
  };
  const fetch = async (/** @type {RequestInfo | URL} */ url, /** @type {RequestInit | undefined} */ { signal } = {}) => {
    const path = /[?&]id=/.test(String(url)) ? "named" : (String(url).slice("http://gate/".length).split("?")[0] ?? "");
    asked.push(path);
    const answer = answers[path];
    if (!answer) throw new TypeError("nobody is there");
    signal?.throwIfAborted();
    return Promise.race([answer(), new Promise((/** @type {(_: Response) => void} */ _, reject) => signal?.addEventListener("abort", reject))]);
  };
  let isWanted = true;
  const ledger = createLedger({ base: "http://gate", fetch, clock, isWanted: () => isWanted });
  after(() => {
    isWanted = false;
    ledger.update();
  });
  const until = async (/** @type {() => boolean} */ isSo) => {
    for (let turn = 0; !isSo() && turn < 1000; turn++) await new Promise((done) => setImmediate(done));
    assert.ok(isSo());
  };
  return { ledger, asked, pauses, until, pass: () => waiting.shift()?.() };
}

test("one list and one stream; a record closes what waited, and an older word doesn't open it again", async () => {
  const closed = row({ state: "done", decision: { approved: true } });
  const { ledger, asked, pauses, until } = ledgerOver({
    approvals: () => json({ approvals: [row()], next_cursor: null }),
    "approvals/events": () => stream(row(), { ids: ["apr_1"] }, closed, row()),
  });
  ledger.update();
  await until(() => pauses.length > 0);
  assert.deepEqual(asked, ["approvals", "approvals/events"]);
  assert.equal(ledger.entry("apr_1")?.record?.state, "done");
  assert.deepEqual(ledger.entry("apr_1")?.record?.thread, { title: "One", agent: "support" }, "what only the list says stays");
});

test("what waits no more by the stream is asked for; what is not there is gone", async () => {
  const { ledger, pauses, until } = ledgerOver({
    approvals: () => json({ approvals: [row()], next_cursor: null }),
    "approvals/events": () => stream({ ids: [] }),
    named: () => json({ approvals: [], gone: [{ id: "apr_1", record: null }] }),
  });
  ledger.update();
  await until(() => pauses.length > 0);
  assert.equal(ledger.entry("apr_1")?.gone, true);
});

test("forty that are wanted are one request, whatever became of them; what didn't fit is asked for again", async () => {
  const ids = Array.from({ length: 40 }, (_, at) => `apr_${at}`);
  const gone = ids.slice(0, 38).map((id) => ({ id, record: id === "apr_0" ? row({ id, state: "rejected", decision: { approved: false } }) : null }));
  const named = [{ approvals: [row({ id: "apr_38" })], gone }, { approvals: [row({ id: "apr_39" })], gone: [] }];
  const { ledger, asked, pauses, until } = ledgerOver({
    approvals: () => json({ approvals: [], next_cursor: null }),
    "approvals/events": () => stream(),
    named: () => json(named.shift()),
  });
  ledger.want(ids);
  ledger.update();
  await until(() => pauses.length > 0);
  assert.deepEqual(asked, ["approvals", "named", "named", "approvals/events"]);
  assert.deepEqual(ids.map((id) => ledger.entry(id)?.gone), [...gone.map(() => true), false, false]);
  assert.equal(ledger.entry("apr_0")?.record?.state, "rejected", "what is kept of it");
});

test("an older server is asked for each", async () => {
  const { ledger, pauses, until } = ledgerOver({
    approvals: () => json({ approvals: [], next_cursor: null }),
    "approvals/events": () => stream(),
    named: () => json({ approvals: [row({ id: "apr_9" })], next_cursor: null }), // it knows no ids
    "approvals/apr_1": () => json(row({ state: "done", decision: { approved: true } })),
    "approvals/apr_2": () => json({ error: { code: "gone", message: "Deleted." } }, 410),
  });
  ledger.want(["apr_1", "apr_2"]);
  ledger.update();
  await until(() => pauses.length > 0);
  assert.equal(ledger.entry("apr_1")?.record?.state, "done");
  assert.equal(ledger.entry("apr_2")?.gone, true);
});

test("an answer that breaks off is no other product's: the server is away", async () => {
  const half = () => new Response(new ReadableStream({ start: (body) => (body.enqueue(new TextEncoder().encode('{"approvals": [')), body.error(new TypeError("reset"))) }));
  for (const status of [200, 500]) {
    const { ledger, pauses, until } = ledgerOver({ approvals: () => new Response(half().body, { status }) });
    ledger.update();
    await until(() => pauses.length > 0);
    assert.equal(ledger.state.problem?.kind, "away");
  }
});

test("it tries again later each time, and at once when it is asked to", async () => {
  const { ledger, pauses, until, pass } = ledgerOver({});
  ledger.update();
  for (let count = 1; count <= 8; count++) {
    await until(() => pauses.length === count);
    assert.equal(ledger.state.problem?.kind, "away");
    pass();
  }
  assert.deepEqual(pauses, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  ledger.retry();
  await until(() => pauses.length === 9);
  assert.equal(pauses[8], 1000, "as from the beginning");
});

test("a stream whose head never comes is given up: the list is read again, later each time", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { ledger, asked, pauses, until, pass } = ledgerOver({
    approvals: () => json({ approvals: [row()], next_cursor: null }),
    "approvals/events": () => new Promise((/** @type {(_: Response) => void} */ _) => {}),
  });
  ledger.update();
  for (const [turn, pause] of [1000, 2000].entries()) {
    await until(() => asked.length === 2 * turn + 2 && ledger.state.problem === null);
    mock.timers.tick(45_000);
    await until(() => pauses.length === turn + 1);
    assert.deepEqual([ledger.state.problem?.kind, pauses.at(-1)], ["away", pause]);
    pass();
  }
  mock.timers.reset();
});

test("a click is sent once; what doesn't arrive can be sent again", async () => {
  let posts = 0;
  const answers = {
    approvals: () => json({ approvals: [row()], next_cursor: null }),
    "approvals/events": () => new Promise((/** @type {(_: Response) => void} */ _) => {}),
    "approvals/apr_1": () => Promise.reject(new TypeError(`cut ${++posts}`)),
    named: () => json({ approvals: [row()], gone: [] }),
  };
  const { ledger, asked, until } = ledgerOver(answers);
  ledger.update();
  await until(() => ledger.entry("apr_1") !== null);
  const [first, second] = [ledger.decide("apr_1", { approved: true }), ledger.decide("apr_1", { approved: true })];
  assert.deepEqual(await Promise.all([first, second]), [null, null]);
  const entry = ledger.entry("apr_1");
  assert.equal(posts, 1);
  assert.equal(asked.at(-1), "named", "it is looked whether it arrived");
  assert.equal(entry?.problem?.kind, "away");
  assert.ok(entry && isWaiting(entry));
});

test("the first of several yeses leaves the card open", async () => {
  const answers = {
    approvals: () => json({ approvals: [row({ needs: 2, approvals: [] })], next_cursor: null }),
    "approvals/events": () => new Promise((/** @type {(_: Response) => void} */ _) => {}),
    "approvals/apr_1": () => json({ id: "apr_1", state: "pending" }),
    named: () => json({ approvals: [row({ needs: 2, approvals: [{ by: "me" }] })], gone: [] }),
  };
  const { ledger, until } = ledgerOver(answers);
  ledger.update();
  await until(() => ledger.entry("apr_1") !== null);
  assert.equal(await ledger.decide("apr_1", { approved: true }), null);
  const entry = ledger.entry("apr_1");
  assert.equal(entry?.problem?.kind, "agreed");
  assert.ok(entry && isWaiting(entry));
});
