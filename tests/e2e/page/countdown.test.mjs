import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./support.mjs";

const { formatLeft } = await page("countdown.js");

for (const [seconds, text] of [[5, "5 s"], [65, "1:05"], [3600, "1 h"], [12_060, "3 h 21 min"], [200_000, "2 d"]]) {
  test(`${seconds} seconds left are "${text}"`, () => assert.equal(formatLeft(seconds), text));
}
