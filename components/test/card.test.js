/** The card as a state machine: what it shows after what a person, the page and the server do. */

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { fromInterrupt } from "../core/asks.js";
import { createCard } from "../core/card.js";

/** @import { Options } from "../core/card.js" */
/** @import { Ask, CallRecord, Decision } from "../core/types.js" */

/** @type {Map<string, string>} */
const kept = new Map();
let isOff = false;

/** @template T @param {T} value */
const unlessOff = (value) => {
  if (isOff) throw new Error("switched off");
  return value;
};
Object.defineProperty(globalThis, "sessionStorage", {
  value: {
    getItem: (/** @type {string} */ key) => unlessOff(kept.get(key) ?? null),
    setItem: (/** @type {string} */ key, /** @type {string} */ value) => unlessOff(kept).set(key, value),
    removeItem: (/** @type {string} */ key) => unlessOff(kept).delete(key),
  },
});
beforeEach(() => {
  kept.clear();
  isOff = false;
});

const T0 = Date.parse("2026-11-22T12:00:00Z");
const editedArgs = { properties: { order_id: { const: "A1" }, amount: { type: "number", minimum: 1 } }, required: ["amount"] };

/** @param {Partial<Ask>} [more] */
const ask = (more) => ({ ...fromInterrupt({ id: "apr-c1", reason: "tool_call", toolCallId: "c1", responseSchema: { properties: { approved: {}, editedArgs } }, metadata: { tool: "refund", arguments: { order_id: "A1", amount: 20 } } }), ...more });

/** @param {Partial<Ask>} [more] @param {Options} [options] */
function open(more, options) {
  /** @type {unknown[]} */
  const told = [];
  const card = createCard(ask(more), {
    now: () => T0,
    onDecide: (decision) => told.push(["decide", decision]),
    onUndo: () => told.push(["undo"]),
    onLeave: () => told.push(["leave"]),
    ...options,
  });
  return { card, told };
}

/** @type {CallRecord} */
const DONE = { state: "done", decision: { approved: true } };

test("a yes is given once", () => {
  const { card, told } = open();
  card.approve();
  card.approve();
  card.reject();
  assert.deepEqual([told, card.state.mode, card.isAtWork()], [[["decide", { approved: true }]], "sending", false]);
});

test("an edit is sent with what changed, and not with what is wrong", () => {
  const { card, told } = open();
  card.edit();
  assert.deepEqual([card.state.mode, card.state.texts, card.isAtWork()], ["edit", { amount: "20" }, true]);
  card.type("amount", "0");
  assert.equal(card.submit(), false);
  assert.deepEqual([told, card.state.problems], [[], { amount: "Amount must be at least 1." }]);
  card.type("amount", "12,5");
  assert.equal(card.submit(), true);
  assert.deepEqual(told, [["decide", { approved: true, edits: { amount: 12.5 } }]]);
});

test("an edit that changes nothing is a plain yes", () => {
  const { card, told } = open();
  card.edit();
  card.type("amount", "20.0");
  card.submit();
  assert.deepEqual(told, [["decide", { approved: true }]]);
});

test("a no has a reason if one was written", () => {
  for (const [typed, decision] of /** @type {[string, Decision][]} */ ([[" not now ", { approved: false, reason: "not now" }], ["  ", { approved: false }]])) {
    const { card, told } = open();
    card.reject();
    card.typeReason(typed);
    card.submit();
    assert.deepEqual(told, [["decide", decision]]);
  }
});

test("a reload in an edit keeps what was typed, until it is left or answered", () => {
  const { card } = open();
  card.edit();
  assert.equal(open().card.state.mode, "edit", "from the moment it is opened");
  card.type("amount", "7");
  const again = open().card;
  assert.deepEqual([again.state.mode, again.state.texts], ["edit", { amount: "7" }]);
  again.back();
  assert.equal(open().card.state.mode, "view");
});

test("without storage the card works too", () => {
  isOff = true;
  const { card, told } = open();
  card.edit();
  card.type("amount", "7");
  card.submit();
  assert.deepEqual(told, [["decide", { approved: true, edits: { amount: 7 } }]]);
});

test("what is expired can't be answered", () => {
  const { card, told } = open({ expiresAt: "2026-11-22T11:59:59Z" });
  card.approve();
  card.edit();
  assert.deepEqual([told, card.state.mode, card.state.left, card.isOpen()], [[], "view", 0, false]);
  assert.equal(open({ expiresAt: "no date" }).card.state.left, null);
});

test("time goes on by the server's clock", () => {
  let now = T0;
  const { card } = open({ expiresAt: "2026-11-22T12:00:02Z" }, { now: () => now });
  const lefts = [card.state.left];
  for (now = T0 + 1000; now <= T0 + 3000; now += 1000) {
    card.tick();
    lefts.push(card.state.left);
  }
  assert.deepEqual(lefts, [2, 1, 0, 0]);
});

test("a record closes the card; who was at an answer hears that it is gone", () => {
  const { card, told } = open();
  card.edit();
  card.setRecord({ state: "pending" });
  assert.equal(card.state.mode, "edit");
  card.setRecord(DONE);
  assert.deepEqual([card.state.mode, told, open().card.state.mode], ["closed", [["leave"]], "view"]);
  card.approve();
  assert.equal(told.length, 1);
});

test("a decision that isn't sent can be taken back; the page says when it is", () => {
  const { card, told } = open();
  card.approve();
  card.setDraft({ approved: true });
  card.undo();
  assert.deepEqual([told.at(-1), card.state.mode], [["undo"], "decided"]);
  card.setDraft(null);
  assert.deepEqual([card.state.mode, card.state.decision], ["view", null]);
});

test("an answer that wasn't taken is asked for again, with what was typed", () => {
  const { card } = open();
  card.edit();
  card.type("amount", "12");
  card.submit();
  card.reopen("Too much.");
  assert.deepEqual([card.state.mode, card.state.texts.amount, card.state.refused, card.isOpen()], ["edit", "12", "Too much.", true]);
  card.back();
  card.reject();
  card.typeReason("no");
  card.submit();
  card.reopen();
  assert.deepEqual([card.state.mode, card.state.reason], ["reject", "no"]);
});

test("more that becomes known about an ask leaves what is being typed", () => {
  const { card } = open();
  card.edit();
  card.type("amount", "12");
  card.setAsk(ask({ message: "20 euros?" }));
  assert.deepEqual([card.state.mode, card.state.texts.amount, card.state.ask.message], ["edit", "12", "20 euros?"]);
  card.setAsk(ask({ key: "c2" }));
  assert.equal(card.state.mode, "view");
});

test("the same ask, refused, opens what was sent", () => {
  const { card } = open();
  card.approve();
  card.setAsk(ask({ message: "20 euros?" }));
  assert.equal(card.state.mode, "sending");
  card.setAsk(ask({ refused: "No." }));
  assert.deepEqual([card.state.mode, card.state.refused], ["view", "No."]);
});

test("a question is answered with what is filled in, or declined", () => {
  const { fields } = fromInterrupt({ id: "q1", reason: "input_required", responseSchema: { properties: { size: { type: "string" }, count: { type: "integer" } }, required: ["size"] } });
  const { card, told } = open({ kind: "question", fields });
  assert.deepEqual([card.state.mode, card.isAtWork(), card.submit(), card.state.problems], ["question", false, false, { size: "Size is needed." }]);
  card.type("size", "M");
  assert.deepEqual([card.isAtWork(), card.submit(), told], [true, true, [["decide", { approved: true, answer: { size: "M" } }]]]);
  const other = open({ kind: "question", fields });
  other.card.reject({ now: true });
  assert.deepEqual(other.told, [["decide", { approved: false }]]);
});

test("what was sent elsewhere is shown as on its way, and is asked again where it wasn't taken", () => {
  const { card, told } = open();
  card.setSent({ approved: true });
  assert.deepEqual([card.state.mode, card.state.decision, told], ["sending", { approved: true }, []]);
  card.setSent(null);
  assert.deepEqual([card.state.mode, card.state.decision], ["view", null]);
  card.setRecord(DONE);
  card.setSent({ approved: true });
  assert.equal(card.state.mode, "closed");
});
