/** What the scenarios of the list "Waiting for you" share. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { eventually } from "./eventually.mjs";
import { says } from "./stage.mjs";

export const AT = String.raw`at \d\d:\d\d(?: on \d+ \w+ \d{4})?`; // with the day, once midnight has passed
export const OUTSIDE = ", outside the chat";

export const button = (page) => page.getByTestId("inbox-button");
export const inbox = (page) => page.getByRole("dialog", { name: /^Waiting for you/ });
export const line = (scope) => scope.locator(".detail :is(.line, .card-refused)");

/** A chat of its own in which `turn` waits for a person; nobody has it open. Returns its id and title. */
export async function elsewhere(t, turn, then = says("Done as you said.")) {
  await t.script(turn, then);
  const title = `Please (${randomUUID().slice(0, 8)})`;
  const id = randomUUID();
  const tools = t.style === "card" ? [{ name: "confirm_changes", description: "", parameters: { type: "object" } }] : [];
  const body = { threadId: id, runId: randomUUID(), messages: [{ id: randomUUID(), role: "user", content: title }], tools, context: [], state: {}, forwardedProps: {} };
  const run = await fetch(`${t.urls.server}/agents/support`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  assert.match(await run.text(), /RUN_FINISHED/);
  return { id, title };
}

export async function openInbox(page) {
  await button(page).click();
  await inbox(page).waitFor();
}

/** The record of the first call of a chat, when it is as `state` says. */
export const settled = (t, chat, state) =>
  eventually(async () => {
    const { calls: [record], run } = await (await fetch(`${t.urls.server}/threads/${chat.id}?view=calls`)).json();
    assert.equal(record.state, state);
    assert.notEqual(run?.status, "running");
    return record;
  });

export const items = (page, text, tool) => inbox(page).locator(tool ? `.item[data-tool="${tool}"]` : ".item").filter({ hasText: text });

/** The item of a chat, opened. */
export async function item(page, title, tool) {
  const found = items(page, title, tool);
  await found.waitFor();
  await expand(found);
  return found;
}

export async function expand(item) {
  const line = item.locator(".line-button");
  if ((await line.getAttribute("aria-expanded")) === "false") await line.click();
}
