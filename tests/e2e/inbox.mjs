/** What the scenarios of the inbox share. */

import assert from "node:assert/strict";

export const SOON = 8000; // ms in which a stale card settles: three seconds, and what a busy machine needs

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
export const item = (page, thread, at = 0) => page.locator(`.inbox-item[data-thread="${thread}"]`).nth(at);

/** Open the inbox, and in it the calls of these chats. */
export async function openInbox(page, ...threads) {
  await page.locator("#inbox-open").click();
  for (const thread of threads) await expand(item(page, thread));
}

export async function expand(item) {
  const line = item.locator(".inbox-line");
  if ((await line.getAttribute("aria-expanded")) === "false") await line.click();
}

/** Wait until the chat has gone on in the background, and its assistant has said `text`. */
export async function wentOn(t, page, thread, text) {
  for (let tries = 0; tries < 300; tries += 1) {
    const { messages, run } = await (await fetch(`${t.urls.server}/threads/${thread}`)).json();
    if (run.status !== "running" && messages.at(-1).content?.includes(text)) return;
    await page.waitForTimeout(50);
  }
  throw new Error(`it did not say: ${text}`);
}
