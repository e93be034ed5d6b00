/** What takes a moment: assertions are tried until they hold, and fail as they did the last time; requests are held until all are made. */

import assert from "node:assert/strict";
import { TIMEOUT } from "./browser.mjs";

export const OFTEN = 50; // ms between tries

/** Try `check` until it throws nothing, for at most so many ms. */
export async function eventually(check, most = TIMEOUT) {
  const until = Date.now() + most;
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

/** The text of an element, with what its shadow has. */
export const textOf = (locator) =>
  locator.evaluate((element) => {
    const of = (node) => (node.nodeType === Node.TEXT_NODE ? node.data : [...(node.shadowRoot ?? node).childNodes].map(of).join(""));
    return of(element).replace(/\s+/g, " ").trim();
  });

/** The text of a locator is, in the end, one that the pattern matches. */
export const shows = (locator, pattern) => eventually(async () => assert.match(await textOf(locator), pattern));

/** There are, in the end, so many of them. */
export const counts = (locator, number, message) => becomes(() => locator.count(), number, message);

/** From here on what the pages send to `pattern` is held until each of them has sent something: none can hear of another's before. */
export async function together(pattern, ...pages) {
  const sent = new Set();
  let release;
  const allSent = new Promise((resolve) => (release = resolve));
  const hold = (page) => async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    if (sent.add(page).size === pages.length) release();
    await allSent;
    return route.continue();
  };
  for (const page of pages) await page.route(pattern, hold(page));
}
