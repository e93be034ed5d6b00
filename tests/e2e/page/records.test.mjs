/** What is shown of a decision is the ledger's word (T4). */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ARGS, asked, call, finished, interrupt, interrupted, page, play, result, text } from "./support.mjs";

const { initialState, learnCalls, ranInAnswer, restore, rewind, setDraft } = await page("state.js");
const { openAsks } = await page("asks.js");
const { toRows } = await page("rows.js");

const AT = new Date(2026, 10, 22, 12, 3).toISOString();
const decision = (more = {}) => ({ approved: true, by: "alice", at: AT, way: "http", ...more });
const record = (state, more = {}) => ({ id: "apr-c1", call_id: "c1", tool: "refund", state, decision: decision(), ...more });
const metadata = (told) => ({ metadata: { "agui-gate": told } });
const waiting = () => play(asked(), ...call("c1", "refund", ARGS), interrupted(interrupt("c1")));
const tool = (state) => toRows(state).find((row) => row.kind === "tool");

test("a result's metadata says who decided, whatever was clicked here", () => {
  const state = play(waiting(), { ...result("c1", "done"), ...metadata(record("done")) }, finished());
  assert.deepEqual([tool(state).status, tool(state).record.decision.by], ["done", "alice"]);
});

test("a snapshot's metadata counts too", () => {
  const messages = waiting().messages.map((message) => (message.toolCalls ? { ...message, toolCalls: message.toolCalls.map((each) => ({ ...each, ...metadata(record("rejected")) })) } : message));
  assert.equal(tool(play(waiting(), { type: "MESSAGES_SNAPSHOT", messages })).status, "rejected");
});

test("what is settled doesn't open again by an older word", () => {
  const done = learnCalls(waiting(), [record("done")]);
  assert.equal(learnCalls(done, [record("pending", { decision: null })]).records.c1.state, "done");
  assert.equal(learnCalls(done, [record("claimed")]).records.c1.state, "done");
});

test("what was decided elsewhere closes the card; a decision that was not sent yet is late", () => {
  const draft = setDraft(waiting(), openAsks(waiting())[0], { approved: false });
  const state = learnCalls(draft, [record("done", { result: "ok" })]);
  assert.deepEqual([openAsks(state), state.drafts, state.late], [[], {}, { c1: true }]);
  assert.deepEqual([tool(state).status, tool(state).result, tool(state).late], ["done", "ok", true]);
});

test("a card whose call is being carried out runs; one that still waits stays", () => {
  assert.equal(tool(learnCalls(waiting(), [record("claimed")])).status, "running");
  assert.equal(openAsks(learnCalls(waiting(), [record("pending", { decision: null })])).length, 1);
});

test("an answer that the server says came too late is told as that", () => {
  const refused = { type: "CUSTOM", name: "agui-gate:answer_refused", value: { approvalId: "apr-c1", message: "…", record: record("done") } };
  const state = play(waiting(), refused);
  assert.deepEqual([state.late, state.records.c1.state], [{ c1: true }, "done"]);
  assert.deepEqual(play(waiting(), { ...refused, value: { approvalId: "apr-c1", message: "not editable" } }).late, {});
});

test("a decision stays when the question is asked again under another id", () => {
  const draft = setDraft(waiting(), openAsks(waiting())[0], { approved: true });
  const card = { function_name: "refund", function_call_id: "c1", function_arguments: { amount: 20 } };
  const again = play(draft, ...call("k2", "confirm_changes", JSON.stringify(card), "a2"));
  const [ask] = openAsks(again);
  assert.deepEqual([ask.id, again.drafts[ask.key]], ["k2", { approved: true }]);
});

test("of two cards for one call the later one asks, and a closed one hides no interrupt", () => {
  const card = JSON.stringify({ function_name: "refund", function_call_id: "c1", function_arguments: {} });
  const two = play(asked(), ...call("c1", "refund", ARGS), ...call("k1", "confirm_changes", card, "a2"), ...call("k2", "confirm_changes", card, "a3"), finished());
  assert.deepEqual(openAsks(two).map(({ id }) => id), ["k2"]);
  const closed = play(two, result("k1", "replaced"), result("k2", "replaced"), interrupted(interrupt("c1")));
  assert.deepEqual(openAsks(closed).map(({ id }) => id), ["apr-c1"]);
});

const replaced = (messages) => [
  ...messages,
  { id: "r1", role: "assistant", content: "Ran in an answer that was replaced; …", ...metadata({ replaced: true }), toolCalls: [{ id: "c1", type: "function", function: { name: "refund", arguments: ARGS }, ...metadata(record("done", { replaced: true })) }] },
  { id: "c1-result", role: "tool", toolCallId: "c1", content: "ok", ...metadata(record("done", { replaced: true })) },
];

test("trying again asks about what ran, which stays in sight, and is told on the next card for the same tool", () => {
  const done = play(waiting(), { ...result("c1", "ok"), ...metadata(record("done")) }, ...text("a2", "Refunded."), finished());
  assert.deepEqual(ranInAnswer(done).map(({ name, arguments: args }) => [name, args.amount]), [["refund", 20]]);
  const back = rewind(done);
  const snapshot = { type: "MESSAGES_SNAPSHOT", messages: replaced(back.messages) };
  const again = play(back, snapshot, ...call("c9", "refund", ARGS, "a9"), interrupted(interrupt("c9")));
  assert.deepEqual(toRows(again).map(({ kind, status }) => status ?? kind), ["user", "replaced", "done", "waiting"]);
  assert.deepEqual(toRows(again).at(-1).earlier.map((each) => [each.arguments.amount, each.replaced]), [[20, true]]);
  assert.deepEqual([ranInAnswer(again), ranInAnswer(waiting())], [[], []], "asked once; what only waited did nothing");
});

test("what the server says for pages that show no more is not said twice", () => {
  const metadata = { tool: "refund", arguments: { amount: 20 }, already_ran: [{}] };
  const state = play(asked(), ...call("c1", "refund", ARGS), interrupted(interrupt("c1", { metadata, message: "20 euros? Already ran in this thread: amount=20." })));
  assert.equal(openAsks(state)[0].message, "20 euros?");
});

test("a thread comes back with its records", () => {
  const state = restore(initialState(), { id: "t1", agent: "a", messages: replaced([]), calls: [record("done", { replaced: true, arguments: {} }), record("rejected", { id: "b", call_id: "c2" })] });
  assert.deepEqual([toRows(state).map(({ kind }) => kind), state.records.c2.state], [["replaced", "tool"], "rejected"]);
});

test("what was decided outside the chat is unread until the assistant goes on", () => {
  const decided = restore(waiting(), { messages: [...waiting().messages, { id: "c1-result", role: "tool", toolCallId: "c1", content: "ok" }], calls: [record("done")] });
  assert.equal(toRows(decided).at(-1).kind, "unread");
  assert.notEqual(toRows(waiting()).at(-1).kind, "unread");
  assert.notEqual(toRows(play(decided, ...text("a2", "Done."))).at(-1).kind, "unread");
});

test("a task that may begin is approved, then at work, and then what its result says", () => {
  const begun = learnCalls(waiting(), [record("done", { task: true })]);
  assert.equal(tool(begun).status, "approved");
  const atWork = { ...begun, run: { id: "r2" } };
  assert.equal(tool(atWork).status, "running");
  const failed = play(begun, { ...result("c1", '{"status":"error","error":"No."}'), ...metadata(record("done", { task: true })) }, finished());
  assert.equal(tool(failed).status, "error");
  assert.equal(tool(play(begun, result("c1", "Refunded."), finished())).status, "done");
});
