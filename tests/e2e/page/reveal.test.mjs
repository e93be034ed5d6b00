/** Characters that can't be seen are drawn as what they are. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./support.mjs";

const { hides, reveal } = await page("reveal.js");
const { parseJson, parseObject } = await page("json.js");
const { fromText, emptiness, labelsOf, showValue } = await page("fields.js");

for (const [text, shown] of [
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
]) {
  test(`${JSON.stringify(text)} is drawn as ${shown}`, () => assert.deepEqual([reveal(text), hides(text)], [shown, true]));
}

for (const text of ["", "plain", "two\nlines\tand a tab\r\n", "👩‍👩‍👧‍👦 ❤️ 👍🏽 1️⃣ #️⃣ 🏳️‍🌈 🧑🏽‍⚕️", "می‌خواهم", "क्‍ष", "Größe 10 €", "שלום"]) {
  test(`${JSON.stringify(text)} stays as it is`, () => assert.deepEqual([reveal(text), hides(text)], [text, false]));
}

test("no digit of a number is lost (T3)", () => {
  const text = '{"id":9007199254740993,"n":-9007199254740993,"s":"9007199254740993 \\" 1","f":1.5,"e":1e3,"huge":1e400,"list":[12345678901234567890]}';
  assert.deepEqual(parseJson(text), { id: "9007199254740993", n: "-9007199254740993", s: '9007199254740993 " 1', f: 1.5, e: 1000, huge: "1e400", list: ["12345678901234567890"] });
  assert.equal(parseObject("[1]"), null);
  assert.equal(fromText({ kind: "integer", label: "Id" }, " 9007199254740993 "), "9007199254740993");
  assert.equal(fromText({ kind: "integer", label: "Id" }, "12"), 12);
});

test("names that would read alike, or like nothing, are shown as they are", () => {
  const labels = labelsOf(["order_id", "isAdmin", "is_admin", "", " ", "__"]);
  assert.deepEqual([...labels.values()], ["Order id", "isAdmin", "is_admin", "“”", "“ ”", "__"]);
});

test("an empty list is not told as no list", () => {
  const values = [null, undefined, "", [], {}, 0, false, [[]]];
  assert.deepEqual(values.map(emptiness), ["None", "None", "Empty", "Empty list", "Empty object", null, null, null]);
});

test("text that reads as something else is in quotes", () => {
  const texts = ["1", " -2.5e3 ", "true", "Yes", "null", "None", "Empty list", " ", '"1"', "1003 €", "2026-11-23", "noon", "[]", "9007199254740993"];
  const shown = ['"1"', '" -2.5e3 "', '"true"', '"Yes"', '"null"', '"None"', '"Empty list"', '" "', '"\\"1\\""', "1003 €", "2026-11-23", "noon", "[]", "9007199254740993"];
  assert.deepEqual(texts.map(showValue), shown);
  assert.deepEqual([1, true, null].map(showValue), ["1", "true", "null"]);
});
