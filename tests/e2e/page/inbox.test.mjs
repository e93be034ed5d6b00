/** The inbox says the ledger's word of every call, whatever was clicked (T6). */

import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./support.mjs";

const { createInbox } = await page("inbox.js");
const { countOf, toItem } = await page("inboxrows.js");

const record = (id, more = {}) => ({
  id,
  thread_id: "t1",
  agent: "support",
  call_id: `c-${id}`,
  tool: "refund",
  arguments: { order_id: "A1", amount: 20 },
  editable: ["amount"],
  message: null,
  asked_at: "2026-11-22T12:00:00Z",
  expires_at: null,
  state: "pending",
  decision: null,
  result: null,
  ...more,
});
const decided = (id, more = {}) => record(id, { state: "done", result: "ok", decision: { approved: true, by: "alice", at: "2026-11-22T12:03:00Z", way: "http" }, ...more });
const failure = (code, more = {}) => Object.assign(new Error(`said: ${code}`), { code, record: null, ...more });

/** An inbox that lists `records`; `server` says what the server answers: values, or errors to throw. */
async function opened(records, server = {}) {
  const answer = (told) => (told instanceof Error ? Promise.reject(told) : Promise.resolve(told));
  const world = { entries: [], sent: [], decided: [], calls: [], server: { calls: { title: "Money", calls: [] }, ...server } };
  const api = {
    decide: (id, body) => answer((world.sent.push([id, body]), world.server.answer)),
    getApproval: (id) => answer(world.server.record ?? failure("network")).then((found) => ({ ...found, id })),
    getCalls: (id) => answer((world.calls.push(id), world.server.calls)),
  };
  world.inbox = createInbox({ api, onChange: (entries) => (world.entries = entries), onDecided: (...told) => world.decided.push(told) });
  world.inbox.open(records);
  world.rows = () => world.entries.map((entry) => toItem(entry, { threads: [], current: null, agents: [{ name: "support" }] }));
  await world.inbox.look(records[0].id);
  world.decide = (decision, id = records[0].id) => world.inbox.decide(id, world.rows()[0].call.ask, decision);
  return world;
}

test("a decision goes out once, lets the conversation go on, and what comes back is the ledger's", async () => {
  const world = await opened([record("1")], { answer: { id: "1", state: "done", result: "ok", run: { key: "r9" } }, record: decided("1") });
  await Promise.all([world.decide({ approved: true }), world.decide({ approved: true }), world.decide({ approved: false })]);
  assert.deepEqual(world.sent, [["1", { approved: true, continue: true }]]);
  assert.deepEqual(world.decided.map(([{ id }, run]) => [id, run]), [["1", { key: "r9" }]]);
  const [{ status, call }] = world.rows();
  assert.deepEqual([status, call.ask, call.record.decision.by, call.late], ["done", null, "alice", false]);
});

test("a reason and edited arguments go along, all arguments of them", async () => {
  const world = await opened([record("1")], { answer: failure("unavailable"), record: record("1") });
  await world.decide({ approved: false, reason: "no receipt" });
  await world.decide({ approved: true, edits: { amount: 5 } });
  assert.deepEqual(world.sent.map(([, body]) => body), [
    { approved: false, continue: true, reason: "no receipt" },
    { approved: true, continue: true, edited_arguments: { order_id: "A1", amount: 5 } },
  ]);
});

test("an answer that comes too late gets what is true", async () => {
  const world = await opened([record("1")], { answer: failure("approval_refused", { record: decided("1") }) });
  await world.decide({ approved: false });
  const [{ status, call }] = world.rows();
  assert.deepEqual([status, call.late, call.ask, countOf(world.entries)], ["done", true, null, 0]);
});

test("what the server refuses can be decided again, with the reason that was typed; it says why", async () => {
  for (const code of ["forbidden", "unavailable", "thread_busy", "approval_refused", "network", "unauthorized"]) {
    const world = await opened([record("1")], { answer: failure(code), record: record("1") });
    await world.decide({ approved: false, reason: "no receipt" });
    const [{ status, call, needsToken }] = world.rows();
    assert.deepEqual([status, call.ask.said, needsToken], ["waiting", "no receipt", code === "unauthorized"]);
    assert.deepEqual(world.decided, [], "nothing was decided");
    assert.match(call.ask.refused, code === "approval_refused" ? /^said: approval_refused$/ : new RegExp(`^said: ${code} [A-Z].*\\.$`));
  }
});

test("where no answer came, the ledger is asked whether the decision arrived", async () => {
  const world = await opened([record("1")], { answer: failure("network"), record: decided("1") });
  await world.decide({ approved: true });
  const [{ status, call }] = world.rows();
  assert.deepEqual([status, call.late, call.ask], ["done", false, null]);
});

test("a call whose chat was deleted can't be decided; what ran there is still told", async () => {
  const world = await opened([record("1")], { answer: failure("not_found") });
  await world.decide({ approved: true });
  assert.deepEqual(world.rows().map(({ status, note, call }) => [status, note, call.ask]), [["deleted", "This chat was deleted.", null]]);
  const other = await opened([record("1")], { record: failure("gone", { record: { id: "1", state: "done", decision: decided("1").decision } }) });
  await other.inbox.take([]);
  assert.deepEqual(other.rows().map(({ status, note, call }) => [status, note, call.arguments]), [["done", "This chat was deleted.", '{"order_id":"A1","amount":20}']]);
});

test("what is decided elsewhere settles in its place, and stays there until the inbox is closed", async () => {
  const world = await opened([record("1"), record("2")], { record: decided("1") });
  await world.inbox.take([record("2"), record("3")]);
  assert.deepEqual(world.rows().map(({ key, status }) => [key, status]), [["1", "done"], ["2", "waiting"], ["3", "waiting"]]);
  assert.equal(countOf(world.entries), 2);
  world.inbox.close();
  world.inbox.open([record("2")]);
  assert.deepEqual(world.rows().map(({ key }) => key), ["2"]);
});

test("what is approved elsewhere and takes its time is running, and then done", async () => {
  const world = await opened([record("1")], { record: decided("1", { state: "claimed", result: null }) });
  await world.inbox.take([]);
  assert.deepEqual(world.rows().map(({ status, call }) => [status, call.ask]), [["running", null]]);
  world.server.record = decided("1");
  await world.inbox.take([]);
  assert.deepEqual(world.rows().map(({ status }) => status), ["done"]);
});

test("why the conversation does not go on is said", async () => {
  const note = "Another call on this thread is still pending.";
  const world = await opened([record("1")], { answer: { id: "1", state: "done", run: null, not_continued: note }, record: decided("1") });
  await world.decide({ approved: true });
  assert.equal(world.rows()[0].note, note);
});

test("before it is decided, the card says what its tool already did in that chat, and which chat that is", async () => {
  const calls = [decided("0"), decided("9", { tool: "send_email" }), record("1")];
  const world = await opened([record("1")], { calls: { title: "Money", calls } });
  await world.inbox.look("1");
  assert.deepEqual(world.calls, ["t1"], "asked once");
  const [{ chat, call }] = world.rows();
  assert.deepEqual([chat, call.earlier.map(({ state }) => state)], ["Money", ["done"]]);
});

test("nothing can be decided before it was looked at", async () => {
  const world = await opened([record("1"), record("2")]);
  assert.deepEqual(world.rows().map(({ call }) => call === null), [false, true]);
});

test("integers that a browser would round stay the text they are", async () => {
  const world = await opened([record("1", { arguments: { id: "9007199254740993" } })]);
  const [{ what, call }] = world.rows();
  assert.deepEqual([what, call.ask.arguments.id], ["9007199254740993", "9007199254740993"]);
});
