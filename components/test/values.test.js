/** Values for people: what can't be seen is shown, no digit is lost, units are said where they are known. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { formatLeft } from "../core/countdown.js";
import { parseJson, parseObject } from "../core/json.js";
import { hides, pieces, reveal } from "../core/reveal.js";
import { learnTime, serverNow } from "../core/servertime.js";
import { GERMAN } from "../core/german.js";
import { ENGLISH, fill, loadStrings, stringsFor } from "../core/strings.js";
import { unitsFor } from "../core/units.js";
import { emptiness, humanize, labelsOf, shorten, showValue, summary, withUnit } from "../core/values.js";

for (const [text, shown] of /** @type {[string, string][]} */ ([
  ["a\u202eb", "a⟦U+202E⟧b"],
  ["\u2066x\u2069", "⟦U+2066⟧x⟦U+2069⟧"],
  ["1\u200b0", "1⟦U+200B⟧0"],
  ["pay\u00adpal", "pay⟦U+00AD⟧pal"],
  ["\ufeff", "⟦U+FEFF⟧"],
  ["a\u{e0041}b", "a⟦U+E0041⟧b"],
  ["a\u0000b\u001b[2J", "a⟦U+0000⟧b⟦U+001B⟧[2J"],
  ["a\u2028b", "a⟦U+2028⟧b"],
  ["a\ud800b", "a⟦U+D800⟧b"],
  ["\u3164x", "⟦U+3164⟧x"],
  ["a\rb", "a⟦U+000D⟧b"],
  ["a\ufe0fb", "a⟦U+FE0F⟧b"],
  ["ab\u200dcd", "ab⟦U+200D⟧cd"],
  ["1\u200d0", "1⟦U+200D⟧0"],
  ["1\ufe0f0", "1⟦U+FE0F⟧0"],
  ["😀\u200d1", "😀⟦U+200D⟧1"],
  ["😀\ufe0f\ufe0e", "😀\ufe0f⟦U+FE0E⟧"],
  ["a\u2800b", "a⟦U+2800⟧b"],
]))
  test(`${JSON.stringify(text)} is drawn as ${shown}`, () => assert.deepEqual([reveal(text), hides(text)], [shown, true]));

for (const text of ["", "plain", "two\nlines\tand a tab\r\n", "👩‍👩‍👧‍👦 ❤️ 👍🏽 1️⃣ #️⃣ 🏳️‍🌈 🧑🏽‍⚕️", "می‌خواهم", "क्‍ष", "Größe 10 €", "שלום"])
  test(`${JSON.stringify(text)} stays as it is`, () => assert.deepEqual([reveal(text), hides(text)], [text, false]));

test("a hidden character is told apart", () => assert.deepEqual(pieces("a\u202e"), [{ text: "a" }, { text: "⟦U+202E⟧", isHidden: true }]));

test("no digit of a number is lost (T3)", () => {
  const text = '{"id":9007199254740993,"n":-9007199254740993,"s":"9007199254740993 \\" 1","f":1.5,"e":1e3,"huge":1e400,"list":[12345678901234567890]}';
  assert.deepEqual(parseJson(text), { id: "9007199254740993", n: "-9007199254740993", s: '9007199254740993 " 1', f: 1.5, e: 1000, huge: "1e400", list: ["12345678901234567890"] });
  assert.equal(parseObject("[1]"), null);
});

test("names that would read alike, or like nothing, are shown as they are", () => {
  const labels = labelsOf(["order_id", "isAdmin", "is_admin", "", " ", "__"]);
  assert.deepEqual([...labels.values()], ["Order id", "isAdmin", "is_admin", "“”", "“ ”", "__"]);
});

test("names become labels", () => assert.deepEqual(["order_id", "orderId", "to"].map(humanize), ["Order id", "Order id", "To"]));

test("an empty list is not told as no list", () => {
  const values = [null, undefined, "", [], {}, 0, false, [[]]];
  assert.deepEqual(values.map((value) => emptiness(value)), ["None", "None", "Empty", "Empty list", "Empty object", null, null, null]);
});

test("text that reads as something else is in quotes", () => {
  const texts = ["1", " -2.5e3 ", "true", "Yes", "null", "None", "Empty list", " ", '"1"', "1003 €", "2026-11-23", "noon", "[]", "9007199254740993"];
  const shown = ['"1"', '" -2.5e3 "', '"true"', '"Yes"', '"null"', '"None"', '"Empty list"', '" "', '"\\"1\\""', "1003 €", "2026-11-23", "noon", "[]", "9007199254740993"];
  assert.deepEqual(texts.map((text) => showValue(text)), shown);
  assert.deepEqual([1, true, null].map((value) => showValue(value)), ["1", "true", "null"]);
  assert.deepEqual([showValue("1003", { type: "string" }), showValue("1003", { type: ["string", "number"] })], ["1003", '"1003"']);
});

test("a summary tells what is there, however deep, and cuts no sign in half", () => {
  assert.equal(summary({ id: "1003", to: { street: "A", zip: null }, tags: ["x", "y"], fast: true, note: "" }), "1003 · A · x · y");
  assert.equal(shorten("😀😀😀", 2), "😀…");
});

test("money has two digits behind the point, or none; nothing else has", () => {
  assert.deepEqual(["64.9", "64.95", "20", "0.125"].map((text) => withUnit(text, "€")), ["64.90 €", "64.95 €", "20 €", "0.125 €"]);
  assert.equal(withUnit("1.5", "kg"), "1.5 kg");
  assert.equal(unitsFor({ amount: 64.9 }, { message: "Refund 64.90 € for 1003?" })("amount", 64.9), "€");
});

for (const [context, unit] of /** @type {[any, string | null][]} */ ([
  [{ schema: { properties: { amount: { unit: "kg" } } } }, "kg"],
  [{ schema: { properties: { amount: { unit: 5 } } } }, null],
  [{ schema: { properties: { amount: { description: "In euros." } } } }, "€"],
  [{ message: "Refund $20 now?" }, "$"],
  [{ message: "Refund 20.00 EUR now?" }, "EUR"],
  [{ message: "Refund 120 € or 20.5 €?" }, null],
  [{}, null],
]))
  test(`the unit by ${JSON.stringify(context)} is ${unit}`, () => assert.equal(unitsFor({ amount: 20 }, context)("amount", 20), unit));

test("two numbers that are the same have no unit by a message", () => {
  assert.equal(unitsFor({ amount: 20, days: 20 }, { message: "20 €?" })("days", 20), null);
});

for (const [seconds, text] of /** @type {[number, string][]} */ ([[5, "5 s"], [65, "1:05"], [3600, "1 h"], [12_060, "3 h 21 min"], [200_000, "2 d"]]))
  test(`${seconds} seconds left are "${text}"`, () => assert.equal(formatLeft(seconds), text));

test("what has expired is so by the server's clock", () => {
  const HOUR = 3_600_000; // ms
  const off = () => Math.round((Date.now() - serverNow()) / HOUR);
  /** @param {number} ahead */
  const told = (ahead) => learnTime(new Date(Date.now() - ahead).toUTCString());
  told(2 * HOUR);
  assert.equal(off(), 2);
  learnTime(null);
  learnTime("nonsense");
  assert.equal(off(), 2, "an answer that doesn't say when says nothing");
  told(-3 * HOUR);
  assert.equal(off(), -3);
  told(20_000);
  assert.equal(Math.abs(Date.now() - serverNow()) < 1000, true, "a slow answer is no other time");
});

test("both languages say everything, with the same blanks", () => {
  /** @param {string} text */
  const blanks = (text) => (text.match(/\{\w+\}/g) ?? []).sort();
  assert.deepEqual(Object.keys(GERMAN).sort(), Object.keys(ENGLISH).sort());
  for (const [key, text] of Object.entries(ENGLISH)) assert.deepEqual(blanks(GERMAN[key] ?? ""), blanks(text), key);
});

test("a page's own words count more, then the language once it was read, then English", async () => {
  const own = { approve: "Los" };
  assert.equal(stringsFor("de-AT", own).reject, "Reject");
  await loadStrings("de-AT");
  assert.deepEqual([loadStrings("de"), loadStrings("en"), loadStrings("xx"), loadStrings(null)], [null, null, null, null]);
  const words = stringsFor("de-AT", own);
  assert.deepEqual([words.approve, words.reject, stringsFor("xx").reject, stringsFor("de-AT", own)], ["Los", "Ablehnen", "Reject", words]);
  assert.equal(fill(stringsFor("de"), "isLeast", { label: "Betrag", limit: 1 }), "Betrag muss mindestens 1 sein.");
});
