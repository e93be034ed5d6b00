import assert from "node:assert/strict";
import { test } from "node:test";
import { ARGS, asked, call, finished, interrupt, interrupted, page, play, result } from "./support.mjs";

const { openAsks, toAnswers, together } = await page("asks.js");
const { toRows } = await page("rows.js");

const newId = () => "new";
const CARD = JSON.stringify({
  function_name: "refund",
  function_call_id: "c1",
  function_arguments: { order_id: "A1", amount: 20 },
  steps: [{ description: "Give the money back?", status: "enabled" }],
  editable: ["amount"],
  function_parameters: { type: "object", properties: { amount: { type: "number", minimum: 1 } } },
});

const TOOL_SCHEMA = { type: "object", properties: { order_id: { type: "string" }, amount: { type: "number", minimum: 1 } }, required: ["order_id", "amount"] };

function editable(extra) {
  const properties = { approved: { type: "boolean" }, editedArgs: TOOL_SCHEMA };
  return interrupt("c1", { responseSchema: { type: "object", properties, required: ["approved"] }, ...extra });
}

const waiting = (...interrupts) => play(asked(), ...call("c1", "refund", ARGS), ...call("c2", "refund", ARGS), interrupted(...interrupts));

test("only the gate's fields can be edited, with the tool's types", () => {
  const metadata = { tool: "refund", arguments: { order_id: "A1", amount: 20 }, editable: ["amount"] };
  const [{ fields }] = openAsks(waiting(editable({ metadata })));
  assert.deepEqual(fields.map(({ name, kind, min, required }) => [name, kind, min, required]), [["amount", "number", 1, true]]);
  assert.deepEqual(openAsks(waiting(interrupt("c1")))[0].fields, []);
});

test("an answer to an interrupt replaces all arguments, and only where something changed", () => {
  const [ask] = openAsks(waiting(editable()));
  const answer = (decision) => toAnswers([ask], { [ask.key]: decision }, newId).resume[0];
  assert.deepEqual(answer({ approved: true, edits: { amount: 15 } }), {
    interruptId: "apr-c1",
    status: "resolved",
    payload: { approved: true, editedArgs: { order_id: "A1", amount: 15 } },
  });
  assert.deepEqual(answer({ approved: true, edits: {} }).payload, { approved: true });
  assert.deepEqual(answer({ approved: false, reason: "no" }).payload, { approved: false, reason: "no" });
});

test("asks without a decision are not answered", () => {
  const asks = openAsks(waiting(interrupt("c1"), interrupt("c2")));
  assert.equal(asks.length, 2);
  assert.deepEqual(toAnswers(asks, { c2: { approved: true } }, newId).resume.map((entry) => entry.interruptId), ["apr-c2"]);
});

test("a card stands for its call, is no chip of its own, and is answered with a tool message", () => {
  const state = play(asked(), ...call("c1", "refund", ARGS), ...call("k1", "confirm_changes", CARD, "a2"), finished());
  const rows = toRows(state).filter((row) => row.kind === "tool");
  assert.deepEqual(rows.map((row) => [row.name, row.status]), [["refund", "waiting"]]);
  const [ask] = openAsks(state);
  assert.deepEqual([ask.style, ask.callId, ask.message, ask.fields.length, ask.fields[0].min], ["card", "c1", "Give the money back?", 1, 1]);
  const { resume, messages } = toAnswers([ask], { c1: { approved: true, edits: { amount: 5 } } }, newId);
  assert.deepEqual(resume, []);
  assert.deepEqual(messages, [{ id: "new", role: "tool", toolCallId: "k1", content: '{"accepted":true,"edited_arguments":{"order_id":"A1","amount":5}}' }]);
});

test("a card that was closed or cut off asks nothing", () => {
  const start = [...call("c1", "refund", ARGS), ...call("k1", "confirm_changes", CARD, "a2")];
  assert.deepEqual(openAsks(play(asked(), ...start, result("k1", "{}"), finished())), []);
  assert.deepEqual(openAsks(play(asked(), ...start, result("c1", "{}"), finished())), []);
  assert.deepEqual(openAsks(play(asked(), ...call("k1", "confirm_changes", CARD.slice(0, 40)), finished())), []);
});

test("a question is answered with what its schema asks for, or declined", () => {
  const responseSchema = { type: "object", properties: { size: { enum: ["S", "M"] } }, required: ["size"] };
  const state = play(asked(), interrupted({ id: "q1", reason: "input_required", message: "Which size?", responseSchema }));
  const [ask] = openAsks(state);
  assert.deepEqual([ask.kind, ask.fields[0].kind, toRows(state).at(-1).ask.id], ["question", "choice", "q1"]);
  const answer = (decision) => toAnswers([ask], { q1: decision }, newId).resume[0];
  assert.deepEqual(answer({ approved: true, answer: { size: "M" } }), { interruptId: "q1", status: "resolved", payload: { size: "M" } });
  assert.deepEqual(answer({ approved: false }), { interruptId: "q1", status: "cancelled" });
});

test("several that nobody may edit are approved together, as long as none has expired", () => {
  const plain = (id, extra) => interrupt(id, { metadata: { tool: "refund", arguments: { order_id: id }, editable: [] }, ...extra });
  const keys = (state, now = 0) => together(state, now).map(({ key }) => key);
  assert.deepEqual(keys(waiting(plain("c1"), plain("c2"))), ["c1", "c2"]);
  assert.deepEqual(keys(waiting(plain("c1"))), []);
  assert.deepEqual(keys(waiting(plain("c1"), editable())), [], "what can be edited is looked at one by one");
  assert.deepEqual(keys(waiting(plain("c1"), plain("c2", { expiresAt: "2026-01-01T00:00:00Z" })), Date.parse("2026-01-02")), []);
  const state = waiting(plain("c1"), plain("c2"));
  assert.deepEqual(keys({ ...state, drafts: { c1: { approved: false } } }), [], "one is left");
});
