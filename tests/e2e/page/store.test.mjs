import assert from "node:assert/strict";
import { test } from "node:test";
import { ARGS, asked, call, finished, interrupt, interrupted, page, play, result, text } from "./support.mjs";

const { addUserMessage, failRun, initialState, restore, rewind, startRun } = await page("state.js");
const { reduce } = await page("store.js");
const { toRows } = await page("rows.js");
const { openAsks } = await page("asks.js");

const statuses = (state) => toRows(state).filter((row) => row.kind === "tool").map((row) => row.status);
const kinds = (state) => toRows(state).map((row) => row.kind);

test("text streams into one message", () => {
  const state = play(asked(), ...text("a1", "Hel"), { type: "TEXT_MESSAGE_CONTENT", messageId: "a1", delta: "lo" });
  assert.deepEqual(state.messages.at(-1), { id: "a1", role: "assistant", content: "Hello" });
  assert.deepEqual(kinds(state), ["user", "text"]);
});

test("a call runs, ends with its result, and a result stays behind its message", () => {
  const running = play(asked(), ...call("c1", "search", ARGS), ...call("c2", "search", ARGS));
  assert.deepEqual(statuses(running), ["running", "running"]);
  const done = play(running, result("c2", "two"), ...text("a2", "So"), result("c1", "one"));
  assert.deepEqual(statuses(done), ["done", "done"]);
  assert.deepEqual(done.messages.map((message) => message.toolCallId ?? message.id), ["u1", "a1", "c2", "c1", "a2"]);
});

test("a second result replaces the first", () => {
  const state = play(asked(), ...call("c1", "search", ARGS), result("c1", "one"), result("c1", "two"));
  assert.deepEqual(state.messages.filter(({ role }) => role === "tool").map(({ content }) => content), ["two"]);
});

for (const [content, status] of [
  ['{"status":"rejected","message":"No."}', "rejected"],
  ['{"status":"superseded","message":"…"}', "superseded"],
  ['{"status":"expired","message":"…"}', "expired"],
  ['{"status":"cancelled","message":"…"}', "stopped"],
  ['{"status":"unknown","message":"…"}', "unknown"],
  ['{"status":"error","error":"boom"}', "error"],
  ['{"status":"cancelled","order_id":"A1","message":"…"}', "done"],
  ['{"status":"cancelled"}', "done"],
  ["plain text", "done"],
]) {
  test(`the result ${content} ends the call as ${status}`, () => {
    assert.deepEqual(statuses(play(asked(), ...call("c1", "refund", ARGS), result("c1", content), finished())), [status]);
  });
}

test("no call is left running when a run ends in whatever way", () => {
  const open = play(asked(), ...call("c1", "search", ARGS));
  assert.deepEqual(statuses(play(open, finished())), ["stopped"]);
  assert.deepEqual(statuses(play(open, { type: "RUN_ERROR", code: "internal", message: "x" })), ["stopped"]);
  assert.deepEqual(statuses(failRun(open, "abort", "")), ["stopped"]);
  assert.deepEqual(statuses(play(open, interrupted(interrupt("c1")))), ["waiting"]);
});

test("an answer that the provider cut off says so, also after a reload; what was said while the run went on is over with it", () => {
  const half = { ...play(asked(), ...text("a1", "Too lo")), notice: { code: "network", message: "The answer could not be stopped." } };
  assert.deepEqual(kinds(play(half, finished())), ["user", "text", "footer"]);
  const cut = play(half, { ...finished(), result: { reason: "max_output_tokens" } });
  assert.deepEqual(kinds(cut), ["user", "text", "cut", "footer"]);
  const messages = half.messages.map(({ id, role, content }) => ({ id, role, content }));
  const again = (status) => kinds(restore(initialState(), { id: "t1", agent: "support", messages, approvals: [], run: { key: "r", status } }));
  assert.deepEqual([again("cancelled"), again("finished")], [["user", "text", "cut", "footer"], ["user", "text", "footer"]]);
});

test("an interrupt waits through a run that does not answer it, and closes with its result", () => {
  const waiting = play(asked(), ...call("c1", "refund", ARGS), interrupted(interrupt("c1")));
  assert.equal(openAsks(waiting).length, 1);
  const next = startRun(addUserMessage(waiting, "u2", "never mind"), "r2", 0);
  assert.deepEqual(statuses(next), ["waiting"]);
  assert.equal(toRows(next)[1].ask, null, "no card while a run is on");
  const closed = play(next, result("c1", '{"status":"superseded","message":"…"}'));
  assert.deepEqual(openAsks(closed), []);
  assert.deepEqual(statuses(closed), ["superseded"]);
});

test("a decision that the server shows again, or that failed, is open again", () => {
  const waiting = play(asked(), ...call("c1", "refund", ARGS), interrupted(interrupt("c1")));
  const answered = startRun(waiting, "r2", 0, ["c1"]);
  assert.deepEqual([statuses(answered), openAsks(answered)], [["running"], []]);
  assert.equal(openAsks(failRun(answered, "network", "x")).length, 1);
  assert.equal(openAsks(play(answered, interrupted(interrupt("c1")))).length, 1);
});

test("a snapshot replaces the messages, keeps reasoning and its place, and changes no key", () => {
  const before = play(
    asked(),
    { type: "REASONING_MESSAGE_START", messageId: "t1", role: "reasoning" },
    { type: "REASONING_MESSAGE_CONTENT", messageId: "t1", delta: "Hm." },
    { type: "REASONING_MESSAGE_END", messageId: "t1" },
    ...call("c1", "search", ARGS),
    result("c1", "old"),
    ...text("gone", "old words"),
  );
  const messages = before.messages.filter(({ id }) => !["t1", "gone"].includes(id));
  const after = play(before, { type: "MESSAGES_SNAPSHOT", messages });
  assert.deepEqual(after.messages.map(({ id }) => id), ["u1", "t1", "a1", "c1-result"]);
  const keys = (state) => toRows(state).map((row) => row.key);
  assert.deepEqual(keys(after), [...keys(before).slice(0, 3), "working"]);
  assert.deepEqual(play(after, { type: "MESSAGES_SNAPSHOT", messages }).messages, after.messages);
});

test("usage and time stand under the answer", () => {
  const state = play(asked(), ...text("a1", "Hi"), finished({ usage: [{ inputTokens: 10, outputTokens: 2 }, { inputTokens: 5 }] }));
  assert.deepEqual(toRows(state).at(-1), {
    key: "a1-footer",
    kind: "footer",
    footer: { seconds: 2, input: 15, output: 2 },
    text: "Hi",
    last: true,
    used: null,
  });
});

test("under the last answer stands what the chat has used, as the server counted it, and with each run", () => {
  const total = { input_tokens: 100, output_tokens: 9, cost: 0.02 };
  const opened = restore(initialState(), { id: "t", agent: "a", messages: [{ id: "a0", role: "assistant", content: "Yes" }], usage: { total } });
  assert.deepEqual(toRows(opened).at(-1).used, { input: 100, output: 9, cost: 0.02 });
  const asks = play(startRun(addUserMessage(opened, "u1", "?"), "r1", 0), ...call("c1", "refund", ARGS), interrupted(interrupt("c1")));
  assert.deepEqual(asks.used, opened.used, "the run said nothing of usage");
  const after = play(startRun(asks, "r2", 0), ...text("a2", "Hi"), finished({ usage: [{ inputTokens: 10, outputTokens: 2 }] }));
  assert.deepEqual(toRows(after).at(-1).used, { input: 110, output: 11, cost: null });
  const first = play(startRun({ ...asked(), used: { input: 0, output: 0, cost: null } }, "r", 0), ...text("a1", "Hi"), finished({ usage: [{ inputTokens: 10, outputTokens: 2 }] }));
  assert.equal(toRows(first).at(-1).used, null, "its only run says it already");
});

test("an error says its code; a cancelled run is a stop", () => {
  assert.deepEqual(play(asked(), { type: "RUN_ERROR", code: "limit_reached", message: "m" }).notice, { code: "limit_reached", message: "m" });
  assert.equal(play(asked(), finished({ outcome: { type: "cancelled" } })).notice.code, "abort");
});

test("a run that a limit stopped says which, as an error would", () => {
  const said = { code: "limit_reached", message: "The agent stopped after 20 turns." };
  const end = finished({ outcome: { type: "cancelled" }, metadata: { "agui-gate": { ...said, reason: "max_tokens" } } });
  assert.deepEqual(play(asked(), end).notice, said);
});

test("shared state follows snapshots and deltas; a delta that does not fit changes nothing", () => {
  const state = play(
    asked(),
    { type: "STATE_SNAPSHOT", snapshot: { n: 1 } },
    { type: "STATE_DELTA", delta: [{ op: "replace", path: "/n", value: 2 }] },
    { type: "STATE_DELTA", delta: [{ op: "remove", path: "/nope" }] },
  );
  assert.deepEqual(state.shared, { n: 2 });
});

test("trying again goes back to the last user message", () => {
  const state = rewind(play(asked(), ...call("c1", "refund", ARGS), interrupted(interrupt("c1"))));
  assert.deepEqual([state.messages.map(({ id }) => id), state.interrupts], [["u1"], []]);
});

test("a thread comes back with its open approvals", () => {
  const approval = { id: "apr-1", call_id: "c1", tool: "refund", arguments: { amount: 20 }, editable: ["amount"], message: null, expires_at: null };
  const messages = play(asked(), ...call("c1", "refund", '{"amount":20}')).messages;
  const state = restore(initialState(), { id: "t1", agent: "support", messages, state: { n: 1 }, approvals: [approval] });
  const [ask] = openAsks(state);
  assert.deepEqual([ask.id, ask.callId, ask.fields.map(({ name }) => name)], ["apr-1", "c1", ["amount"]]);
  assert.deepEqual(statuses(state), ["waiting"]);
});

test("events this page does not know change nothing", () => {
  const state = asked();
  assert.equal(reduce(state, { type: "FROM_THE_FUTURE" }, 0), state);
});
