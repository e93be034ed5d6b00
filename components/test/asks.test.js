/** One shape of an ask, made from an interrupt, a card and an approval; and the answer to each. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { fromApproval, fromCard, fromCardAnswer, fromInterrupt, toApproval, toCardAnswer, toPayload, toResume, together } from "../core/asks.js";

const ARGS = { order_id: "A1", amount: 20 };
const SCHEMA = { type: "object", properties: { order_id: { type: "string" }, amount: { type: "number", minimum: 1 } }, required: ["order_id", "amount"] };
const responseSchema = { type: "object", properties: { approved: { type: "boolean" }, editedArgs: SCHEMA }, required: ["approved"] };
const interrupt = (more = {}) => ({ id: "apr-c1", reason: "tool_call", toolCallId: "c1", message: "Run refund?", responseSchema, metadata: { tool: "refund", arguments: ARGS }, ...more });

test("only the gate's fields can be edited, with the tool's types", () => {
  const { fields } = fromInterrupt(interrupt({ metadata: { tool: "refund", arguments: ARGS, editable: ["amount"] } }));
  assert.deepEqual(fields.map(({ name, kind, min, required }) => [name, kind, min, required]), [["amount", "number", 1, true]]);
  assert.deepEqual(fromInterrupt(interrupt({ responseSchema: {} })).fields, []);
});

test("what a schema holds fast is no field", () => {
  const editedArgs = { properties: { order_id: { const: "A1" }, amount: { readOnly: true, type: "number" }, gone: false, note: { type: "string" } } };
  assert.deepEqual(fromInterrupt(interrupt({ responseSchema: { properties: { approved: {}, editedArgs } } })).fields.map(({ name }) => name), ["note"]);
});

test("the server's stock sentence is no message; a written one is, without what is said elsewhere", () => {
  assert.equal(fromInterrupt(interrupt()).message, undefined);
  const metadata = { tool: "refund", arguments: ARGS, refused: "Too much.", agent: "warehouse", already_ran: [{ arguments: ARGS, at: null, state: "done", replaced: false }] };
  const ask = fromInterrupt(interrupt({ metadata, message: "Too much. warehouse asks: 20 euros? Already ran in this thread: amount=20." }));
  assert.deepEqual([ask.message, ask.refused, ask.agent, ask.earlier?.length], ["20 euros?", "Too much.", "warehouse", 1]);
});

test("hostile metadata makes an ask all the same", () => {
  for (const metadata of [null, "x", { already_ran: "no" }, { already_ran: [{}, null, { arguments: 1 }] }]) assert.deepEqual(fromInterrupt(interrupt({ metadata })).earlier, []);
});

test("an answer replaces all arguments, and only where something changed", () => {
  const ask = fromInterrupt(interrupt());
  assert.deepEqual(toResume(ask, { approved: true, edits: { amount: 15 } }), { interruptId: "apr-c1", status: "resolved", payload: { approved: true, editedArgs: { order_id: "A1", amount: 15 } } });
  assert.deepEqual(toPayload(ask, { approved: true, edits: {} }), { approved: true });
  assert.deepEqual(toPayload(ask, { approved: false, reason: "no", edits: { amount: 1 } }), { approved: false, reason: "no" });
  assert.deepEqual(toApproval(ask, { approved: true, edits: { amount: 15 } }), { approved: true, continue: true, edited_arguments: { order_id: "A1", amount: 15 } });
});

test("a card is answered with its own result, which can be read again", () => {
  const card = { function_name: "refund", function_call_id: "c1", function_arguments: ARGS, steps: [{ description: "Give the money back?" }], editable: ["amount"], function_parameters: SCHEMA };
  const ask = fromCard(card, "k1");
  assert.ok(ask);
  assert.deepEqual([ask.id, ask.key, ask.message, ask.fields[0]?.min], ["k1", "c1", "Give the money back?", 1]);
  const answer = toCardAnswer(ask, { approved: true, edits: { amount: 5 } });
  assert.deepEqual(answer, { accepted: true, edited_arguments: { order_id: "A1", amount: 5 } });
  assert.deepEqual(fromCardAnswer(JSON.stringify(answer)), { approved: true, edits: { order_id: "A1", amount: 5 } });
  assert.equal(fromCardAnswer("{}"), null);
  assert.equal(fromCard({ function_name: "refund" }, "k1"), null, "cut off in mid-stream");
  assert.equal(fromCard({ ...card, steps: [{ description: "Execute refund" }] }, "k1")?.message, undefined);
});

test("an approval of a list asks as its interrupt does", () => {
  const row = { id: "apr-c1", call_id: "c1", tool: "refund", agent: null, arguments: ARGS, message: null, expires_at: "2026-11-22T12:00:00Z", editable: ["amount"], schema: SCHEMA };
  const ask = fromApproval(row);
  assert.deepEqual([ask.id, ask.key, ask.kind, ask.expiresAt, ask.fields[0]?.min], ["apr-c1", "c1", "approval", "2026-11-22T12:00:00Z", 1]);
  assert.deepEqual(fromApproval({ ...row, schema: null }, SCHEMA).fields, ask.fields);
  const asker = (/** @type {string} */ agent) => fromApproval({ ...row, agent, thread: { agent: "support" } }).agent;
  assert.deepEqual([asker("support"), asker("warehouse")], [null, "warehouse"]);
});

test("a question is answered with what its schema asks for, or declined", () => {
  const ask = fromInterrupt({ id: "q1", reason: "input_required", message: "Which size?", responseSchema: { properties: { size: { enum: ["S", "M"] } }, required: ["size"] } });
  assert.deepEqual([ask.kind, ask.key, ask.fields[0]?.kind, ask.message], ["question", "q1", "choice", "Which size?"]);
  assert.deepEqual(toResume(ask, { approved: true, answer: { size: "M" } }), { interruptId: "q1", status: "resolved", payload: { size: "M" } });
  assert.deepEqual(toResume(ask, { approved: false }), { interruptId: "q1", status: "cancelled" });
  const asked = (/** @type {any} */ responseSchema) => fromInterrupt({ id: "q2", reason: "input_required", message: "Why?", responseSchema }).fields.map(({ name, kind }) => [name, kind]);
  assert.deepEqual(asked(undefined), [["answer", "text"]]);
  assert.deepEqual(asked({ properties: { answer: { type: "object", properties: { name: {} } } } }), [["answer", "json"]], "an object is typed as JSON");
});

test("several that nobody may edit are approved together, as long as none has expired", () => {
  const plain = fromInterrupt(interrupt({ responseSchema: {} }));
  assert.equal(together([plain, plain], 0).length, 2);
  assert.deepEqual(together([plain], 0), []);
  assert.deepEqual(together([plain, fromInterrupt(interrupt())], 0), [], "what can be edited is looked at one by one");
  assert.deepEqual(together([plain, { ...plain, expiresAt: "2026-01-01T00:00:00Z" }], Date.parse("2026-01-02")), []);
});

test("what several people decide is shown as somebody edited it, and a yes says what it was shown", () => {
  const row = { id: "apr_1", call_id: "c1", tool: "refund", agent: "support", arguments: { amount: 10 }, effective_arguments: { amount: 9999 }, editable: ["amount"], needs: 2 };
  const ask = fromApproval(row);
  assert.deepEqual(ask.arguments, { amount: 9999 });
  assert.deepEqual(toApproval(ask, { approved: true }), { approved: true, effective_arguments: { amount: 9999 }, continue: true });
  assert.deepEqual(toApproval(ask, { approved: false }), { approved: false, continue: true });
  const [card, asked] = [fromCard({ function_name: "refund", function_call_id: "c1", function_arguments: { amount: 9999 }, needs: 2 }, "card"), fromInterrupt(interrupt({ metadata: { arguments: { amount: 9999 }, needs: 2 } }))];
  assert.deepEqual(card && toCardAnswer(card, { approved: true }), { accepted: true, effective_arguments: { amount: 9999 } });
  assert.deepEqual(toResume(asked, { approved: true }).payload, { approved: true, effective_arguments: { amount: 9999 } });
  const { needs: _, effective_arguments: __, ...alone } = row;
  assert.deepEqual(toApproval(fromApproval(alone), { approved: true }), { approved: true, continue: true });
});
