import assert from "node:assert/strict";
import { test } from "node:test";
import { page } from "./support.mjs";

const { formatLeft } = await page("countdown.js");
const { learnTime, serverNow } = await page("servertime.js");

for (const [seconds, text] of [[5, "5 s"], [65, "1:05"], [3600, "1 h"], [12_060, "3 h 21 min"], [200_000, "2 d"]]) {
  test(`${seconds} seconds left are "${text}"`, () => assert.equal(formatLeft(seconds), text));
}

test("what has expired is so by the server's clock", () => {
  const HOUR = 3_600_000; // ms
  const off = () => Math.round((Date.now() - serverNow()) / HOUR);
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
