/** What the scenarios of the inbox share. */

import assert from "node:assert/strict";
import { becomes, eventually } from "./eventually.mjs";
import { see } from "./browser.mjs";

/** A chat of its own, begun without a page, in which the calls of `turn` wait. Returns its id. */
export async function waiting(t, text, turn, { server = t.urls.server, headers = {} } = {}) {
  await t.script(turn);
  const id = crypto.randomUUID();
  const tools = t.style === "card" ? [{ name: "confirm_changes", description: "", parameters: { type: "object" } }] : [];
  const messages = [{ id: crypto.randomUUID(), role: "user", content: text }];
  const body = { threadId: id, runId: crypto.randomUUID(), state: {}, messages, tools, context: [], forwardedProps: {} };
  const response = await fetch(`${server}/agents/support`, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });
  assert.match(await response.text(), /RUN_FINISHED/);
  return id;
}

/** The chat's line in the inbox, in the order in which its calls were made. */
export const item = (page, thread, at = 0) => page.locator(`#inbox .item[data-thread="${thread}"]`).nth(at);

/** Open the inbox, and in it the calls of these chats. */
export async function openInbox(page, ...threads) {
  await page.locator("#inbox-open").click();
  for (const thread of threads) await expand(item(page, thread));
}

export async function expand(item) {
  const line = item.locator(".line-button");
  if ((await line.getAttribute("aria-expanded")) === "false") await line.click();
}

/** Wait until the chat has gone on in the background, and its assistant has said `text`. */
export const wentOn = (t, thread, text) =>
  eventually(async () => {
    const { messages, run } = await (await fetch(`${t.urls.server}/threads/${thread}`)).json();
    assert.notEqual(run.status, "running");
    assert.ok(messages.at(-1).content?.includes(text), `it did not say: ${text}`);
  });

/** What became of the call of an opened line. */
export const ended = (item, text) => item.locator(".detail .line", text ? { hasText: text } : {});

/** From here on nobody sees the page, so that it learns nothing until it is clicked. */
export const noticesNothing = (page) => see(page, "hidden");

/** The ledger says that a tool of this chat runs. */
export const isClaimed = (t, thread) =>
  becomes(async () => (await (await fetch(`${t.urls.server}/threads/${thread}?view=calls`)).json()).calls.map(({ state }) => state), ["claimed"]);
