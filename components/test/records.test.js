/** What is said of a call is the ledger's word (T4). */

import assert from "node:assert/strict";
import { test } from "node:test";
import { earlierIn, earlierText } from "../core/earlier.js";
import { changesOf, clock, decisionLine, isLate, learn, recordText, shortClock } from "../core/records.js";
import { GERMAN } from "../core/german.js";
import { unitsFor } from "../core/units.js";

/** @import { Ask, CallRecord, State } from "../core/types.js" */

const AT = new Date(2026, 10, 22, 12, 3).toISOString();
const NOW = Date.parse(AT) + 60_000;
const decision = (more = {}) => ({ approved: true, by: "alice", at: AT, way: "http", ...more });
/**
 * @param {State} state
 * @param {Partial<CallRecord>} [more]
 * @returns {CallRecord}
 */
const record = (state, more = {}) => ({ id: "apr-c1", call_id: "c1", tool: "refund", state, decision: decision(), ...more });

for (const [told, already, line] of /** @type {[CallRecord, boolean, string | null][]} */ ([
  [record("done"), false, "Approved by alice at 12:03, outside the chat"],
  [record("done"), true, "Already approved by alice at 12:03, outside the chat"],
  [record("done", { decision: decision({ by: "local", way: "shell" }) }), false, "Approved at 12:03, in the shell"],
  [record("rejected", { decision: decision({ approved: false, way: "card" }) }), true, "Already rejected by alice at 12:03, in the chat"],
  [record("cancelled", { decision: decision({ approved: false, way: "message" }) }), false, "Cancelled by alice at 12:03, in the chat"],
  [record("expired", { decision: null }), true, "It expired before the answer came"],
  [record("superseded", { decision: null }), false, null],
]))
  test(`${told.state}${already ? ", late" : ""}: ${line}`, () => assert.equal(decisionLine(told, { already, now: NOW }), line));

test("another day's time has its date", () => {
  assert.deepEqual([clock(AT, NOW + 86_400_000), shortClock(AT, NOW + 86_400_000), clock("nonsense")], ["12:03 on 22 Nov 2026", "22 Nov", ""]);
});

test("an edit is told with both values and their unit", () => {
  const edited = record("done", { arguments: { amount: 20, note: "a", to: "x" }, effective_arguments: { amount: 12.5, note: "a b", to: "x" } });
  const unit = unitsFor(edited.arguments ?? {}, { message: "Refund 20 € for A1?" });
  assert.deepEqual(changesOf(edited, {}, unit), ["Amount 20 € → 12.50 €", "Note “a” → “a b”"]);
});

test("a line says what became of the call, and of the answer from here", () => {
  const edited = record("failed", { arguments: { amount: 20 }, effective_arguments: { amount: 12.5 }, message: "20 €?", decision: decision({ reason: "as agreed\u202e" }) });
  assert.deepEqual(recordText(edited, { now: NOW, call: "Refund" }), {
    text: "Approved by alice at 12:03, outside the chat · Refund · Amount 20 € → 12.50 € · “as agreed⟦U+202E⟧” · it failed",
    note: null,
  });
  assert.equal(recordText(record("done"), { now: NOW, late: true })?.note, "Your answer came too late and changed nothing.");
  assert.equal(recordText(record("done"), { now: NOW, unsent: true })?.note, "What you were about to answer was not sent.");
  assert.equal(recordText(record("expired", { decision: null }), { now: NOW })?.text, "Expired before it was decided");
  assert.equal(recordText(record("pending", { decision: null })), null);
  assert.equal(recordText(record("done"), { now: NOW, strings: GERMAN })?.text, "Freigegeben von alice um 12:03, außerhalb des Chats");
});

test("an answer is late where something else was decided", () => {
  const edited = record("done", { arguments: { amount: 20 }, effective_arguments: { amount: 5 } });
  assert.equal(isLate(record("done"), { approved: true }), false);
  assert.equal(isLate(record("done"), { approved: false }), true);
  assert.equal(isLate(edited, { approved: true }), true);
  assert.equal(isLate(edited, { approved: true, edits: { amount: 5 } }), false);
  assert.equal(isLate(edited, { approved: true }, { amount: 5 }), false, "an edit of somebody else, which was shown");
  assert.equal(isLate(edited, { approved: true }, { amount: 20 }), true);
  assert.equal(isLate(record("pending", { decision: null }), { approved: true }), false);
});

test("a freeze that was lifted is not told any more", () => {
  const frozen = learn({}, [["c1", { ...record("pending", { decision: null }), frozen: "This is frozen." }]]);
  assert.equal(frozen.c1 && "frozen" in frozen.c1, true);
  assert.equal(learn(frozen, [["c1", record("pending", { decision: null })]]).c1?.frozen, undefined);
});

test("what is settled doesn't open again by an older word", () => {
  const done = learn({}, [["c1", record("done")]]);
  assert.equal(learn(done, [["c1", record("pending", { decision: null })]]).c1?.state, "done");
  assert.equal(learn(done, [["c1", record("claimed")]]).c1?.state, "done");
});

test("what ran before is told: the very same, or else what is about the same, the latest three", () => {
  /** @type {Ask} */
  const ask = { id: "a", key: "c9", callId: "c9", kind: "approval", tool: "refund", arguments: { order_id: "A1", amount: 5 }, fields: [] };
  /** @param {string} id @param {string} order @param {number} amount @param {State} [state] */
  const ran = (id, order, amount, state = "done") => record(state, { id, call_id: id, arguments: { order_id: order, amount }, message: `Refund ${amount} €?` });
  const about = earlierIn(ask, [ran("1", "A1", 1), ran("2", "A2", 5), ran("3", "A1", 2, "failed"), ran("4", "A1", 3, "rejected"), ran("c9", "A1", 5)]);
  assert.deepEqual(about.map(({ arguments: { amount } }) => amount), [1, 2]);
  const told = earlierText({ ...ask, earlier: about });
  assert.deepEqual([told?.isSame, told?.title, told?.lines.length], [false, "Already ran in this chat:", 2]);
  assert.match(told?.lines[1] ?? "", /^A1 · 2 € · failed at /);
  const same = earlierText({ ...ask, earlier: [...about, { arguments: { amount: 5, order_id: "A1" }, at: null, state: "done", replaced: true }] });
  assert.deepEqual(same, { isSame: true, title: "The very same already ran in this chat:", lines: ["5 · A1 · ran, in an answer that was replaced", "and 2 more about the same"] });
  const many = earlierText({ ...ask, earlier: [1, 2, 3, 4, 5].map((amount) => ({ arguments: { order_id: "A1", amount: amount + 10 }, at: null, state: "failed" })) });
  assert.deepEqual([many?.title, many?.lines.at(-1), many?.lines.length], ["Already tried in this chat:", "and 2 more about the same", 4]);
  assert.equal(earlierText(ask), null);
});
