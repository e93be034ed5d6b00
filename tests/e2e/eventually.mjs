/** Assertions about a page, which may take a moment: they are tried until they hold, and fail as they did the last time. */

import assert from "node:assert/strict";
import { TIMEOUT } from "./browser.mjs";

const OFTEN = 50; // ms between tries

/** Try `check` until it throws nothing. */
export async function eventually(check) {
  const until = Date.now() + TIMEOUT;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > until) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, OFTEN));
  }
}

/** What is read is, in the end, what is expected. */
export const becomes = (read, expected, message) => eventually(async () => assert.deepEqual(await read(), expected, message));

/** The text of a locator is, in the end, one that the pattern matches. */
export const shows = (locator, pattern) => eventually(async () => assert.match(await locator.textContent(), pattern));

/** There are, in the end, so many of them. */
export const counts = (locator, number, message) => becomes(() => locator.count(), number, message);
