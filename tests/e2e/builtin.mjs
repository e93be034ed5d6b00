/** What the scenarios of the built-in page share. */

import assert from "node:assert/strict";
import { TIMEOUT } from "./browser.mjs";
import { becomes, OFTEN } from "./eventually.mjs";

export const CLOCK = String.raw`\d\d:\d\d(?: on \d+ \w+ \d{4})?`; // with the day, once midnight has passed

/** The page on `server`, asked to show approvals in the style that this run is about. */
export const open = (t, options, server = t.own ?? t.urls.server) => t.openUrl(`${server}/${t.style === "card" ? "?hitl=card" : ""}`, options);
export const tools = (page) => page.$$eval(".rows .tool", (all) => all.map((tool) => `${tool.querySelector(".tool-name").title}:${tool.dataset.status}`));

/** No answer is being written: the page can be left, and something else be said. A run that is left is stopped. */
export const atRest = (page) => page.locator('#rows[aria-busy="false"]').waitFor({ state: "attached" });

/** What was said last is answered. */
export async function done(page) {
  await page.locator(".footer").last().waitFor();
  await atRest(page);
}

/** Type and send it; the page may put it back. */
export async function type(page, text) {
  await atRest(page);
  await page.fill("#input", text);
  await page.press("#input", "Enter");
}

/** Say it: it stands in the conversation, and its run has begun. */
export async function say(page, text) {
  await type(page, text);
  await page.locator(".user", { hasText: text }).last().waitFor();
}

/** The assistant has said it, and whatever else it says. */
export async function answer(page, text) {
  await page.locator(".prose", { hasText: text }).last().waitFor();
  await atRest(page);
}

export async function toolsAre(page, expected) {
  const wanted = expected.join();
  await page
    .waitForFunction((list) => [...document.querySelectorAll(".rows .tool")].map((tool) => `${tool.querySelector(".tool-name").title}:${tool.dataset.status}`).join() === list, wanted, { timeout: TIMEOUT, polling: OFTEN })
    .catch(async () => assert.deepEqual(await tools(page), expected));
}

export const decision = (page) => page.locator(".rows .tool-decision:visible").last();

/** The focus is, in the end, on what `selector` says. */
export const focusIs = (page, selector, message) => becomes(async () => (await focused(page)).evaluate((element, wanted) => element.matches(wanted), selector), true, message ?? selector);

/** What has the focus, also inside of an element. */
export const focused = (page) =>
  page.evaluateHandle(() => {
    let element = document.activeElement;
    while (element.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    return element;
  });

/** The chat that the page shows. */
export const threadOf = (page) => decodeURIComponent(new URL(page.url()).hash.slice(3));

/** Decide a thread's open approval out of band, as the command line does; returns the server's answer. */
export async function decide(t, page, body, { server = t.own ?? t.urls.server, headers = {}, tool, thread = threadOf(page) } = {}) {
  const { approvals } = await (await fetch(`${server}/approvals?limit=100`, { headers })).json();
  const { id } = approvals.find((approval) => approval.thread_id === thread && (!tool || approval.tool === tool));
  const response = await fetch(`${server}/approvals/${id}`, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
}

/** The page waits as long as the server takes to say whether a chat is still there; else it waits a second. */
export const isPatient = (page) =>
  page.evaluate(() => {
    const usual = window.setTimeout;
    window.setTimeout = (act, ms, ...more) => (ms === 1000 ? 0 : usual(act, ms, ...more));
  });

/** Requests to `urls` pass by here. `hold()`: none is under way, and those that come now wait until what it returns is called. */
export async function watched(page, urls) {
  const underWay = new Set();
  let free = Promise.resolve();
  const pass = async (route) => route.fulfill({ response: await route.fetch() });
  await page.route(urls, async (route) => {
    await free;
    const passing = pass(route);
    underWay.add(passing);
    await passing.finally(() => underWay.delete(passing));
  });
  return {
    async hold() {
      let release;
      free = new Promise((resolve) => (release = resolve));
      while (underWay.size > 0) await Promise.all(underWay);
      return release;
    },
  };
}
