/** What the scenarios of the built-in page share. */

import assert from "node:assert/strict";
import { TIMEOUT } from "./browser.mjs";

/** The page on `server`, asked to show approvals in the style that this run is about. */
export const open = (t, options, server = t.own ?? t.urls.server) => t.openUrl(`${server}/${t.style === "card" ? "?hitl=card" : ""}`, options);
export const done = (page) => page.locator(".footer").last().waitFor();
export const tools = (page) => page.$$eval(".rows .tool", (all) => all.map((tool) => `${tool.querySelector(".tool-name").textContent}:${tool.dataset.status}`));

export async function say(page, text) {
  await page.waitForFunction(() => !document.querySelector("#input").disabled);
  await page.fill("#input", text);
  await page.keyboard.press("Enter");
}

export const answer = (page, text) => page.locator(".prose", { hasText: text }).last().waitFor();

export async function toolsAre(page, expected) {
  const wanted = expected.join();
  await page
    .waitForFunction((list) => [...document.querySelectorAll(".rows .tool")].map((tool) => `${tool.querySelector(".tool-name").textContent}:${tool.dataset.status}`).join() === list, wanted, { timeout: TIMEOUT })
    .catch(async () => assert.deepEqual(await tools(page), expected));
}

export const decision = (page) => page.locator(".rows .tool-decision:visible").last();

/** Decide a thread's open approval out of band, as the command line does; returns the server's answer. */
export async function decide(t, page, body, { server = t.own ?? t.urls.server, headers = {}, tool } = {}) {
  const thread = decodeURIComponent(new URL(page.url()).hash.slice(3));
  const { approvals } = await (await fetch(`${server}/approvals`, { headers })).json();
  const { id } = approvals.find((approval) => approval.thread_id === thread && (!tool || approval.tool === tool));
  const response = await fetch(`${server}/approvals/${id}`, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
}
