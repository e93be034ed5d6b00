/** The list of chats: what waits comes first and says what it is; what has expired waits for nobody. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./support.mjs";

const { apart, nextExpiry, sections } = await page("threads.js");

const NOW = new Date(2026, 10, 22, 12).getTime();
const iso = (minutes) => new Date(NOW + minutes * 60_000).toISOString();
const thread = (id, minutes, title = id) => ({ id, agent: "support", title, updated_at: iso(minutes) });
const approval = (id, thread_id, more = {}) => ({ id, thread_id, agent: "support", tool: "refund", arguments: { amount: 20 }, message: null, asked_at: iso(-1), expires_at: null, ...more });

test("what waits comes first, once a chat, with the words of what is asked", () => {
  const found = sections([thread("a", -1), thread("b", -2)], [approval("1", "b"), approval("2", "b"), approval("3", "z", { message: "Pay?" })], NOW);
  assert.deepEqual(found.map(([name, members]) => [name, members.map(({ id }) => id)]), [["Waiting for you (3)", ["b", "z"]], ["Today", ["a"]]]);
  assert.deepEqual(found[0][1].map(({ title, waits }) => [title, waits]), [["b", "Refund · 20 (and 1 more)"], ["Refund", "Pay?"]]);
});

test("what somebody else has to approve doesn't wait for this person", () => {
  const you = (may) => ({ you: { may, agreed: false, why: "Who asked can't." } });
  const named = (...approvals) => sections([thread("a", -1)], approvals, NOW)[0][0];
  assert.equal(named(approval("1", "a", you(["reject"]))), "Waiting for others (1)");
  assert.equal(named(approval("1", "a", you(["reject"])), approval("2", "a", you(["approve", "reject"]))), "Waiting for you (2)");
  const [[name, members]] = sections([], [approval("1", "a", you(["reject"])), approval("2", "b", you(["approve"])), approval("3", "b", you(["reject"])), approval("4", "c")], NOW);
  assert.deepEqual([name, members.map(({ isOthers }) => isOthers)], ["Waiting for you (4)", [true, false, false]]);
});

test("what has expired waits for nobody; when the next one does is known", () => {
  const approvals = [approval("1", "a", { expires_at: iso(-1) }), approval("2", "b", { expires_at: iso(5) })];
  const found = sections([thread("a", -1), thread("b", -2)], approvals, NOW);
  assert.deepEqual(found.map(([name, members]) => [name, members.map(({ id }) => id)]), [["Waiting for you (1)", ["b"]], ["Today", ["a"]]]);
  assert.equal(nextExpiry(approvals, NOW), Date.parse(iso(5)));
  assert.equal(nextExpiry([approval("3", "c")], NOW), null);
});

test("chats are grouped by day", () => {
  const found = sections([thread("a", -1), thread("b", -24 * 60), thread("c", -72 * 60, null)], [], NOW);
  assert.deepEqual(found.map(([name, members]) => [name, members.map(({ title }) => title)]), [["Today", ["a"]], ["Yesterday", ["b"]], ["Earlier", ["New chat"]]]);
});

test("chats of the same title are told apart: by a number, which the oldest has not", () => {
  const threads = apart([thread("c", -1, "Hello"), thread("b", -2, "Other"), thread("a", -3, "Hello")]);
  const [[, listed]] = sections(threads, [], NOW);
  assert.deepEqual(listed.map(({ id, title, number }) => [id, title, number]), [["c", "Hello", 2], ["b", "Other", undefined], ["a", "Hello", undefined]]);
});
