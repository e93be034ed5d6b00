/** What a person does who looks closely: decides half, then says something; on the page made with CopilotKit. */

import assert from "node:assert/strict";
import { shows } from "../eventually.mjs";
import { call, calls, says } from "../stage.mjs";

const TWO = [call("refund", { order_id: "1003", amount: 0.1 }), call("archive_order", { order_id: "1003" })];

/** What was decided goes out with the message; only what was not is cancelled. */
export async function saidAfterHalf(t) {
  await t.script(calls("Two things.", ...TWO), says("One of them is done."));
  const page = await t.open();
  await t.say(page, "Do two things");
  await t.press(page, "Approve", "refund");
  await t.card(page, "archive_order").waitFor();
  await t.say(page, "Only that one");
  await t.answered(page, "One of them is done.");
  await t.chipsAre(page, ["refund:done", t.style === "card" ? "archive_order:superseded" : "archive_order:stopped"]);
  const told = page.getByTestId(t.style === "card" ? "gate-decision" : "chip-decided").filter({ hasText: /^Approved at/ });
  await told.waitFor();
  if (t.style === "card") return;
  await shows(page.getByTestId("chip-decided").last(), /^Cancelled at .*, in the chat$/);
}

/** Whoever goes back to the question takes back what was decided and not sent, too. */
export async function askedAnewAfterHalf(t) {
  await t.script(calls("Two things.", ...TWO), says("Nothing is done."));
  const page = await t.open();
  await t.say(page, "Do two things");
  await t.press(page, "Approve", "refund");
  await t.card(page, "archive_order").waitFor();
  await page.getByTestId("copilot-user-message").hover();
  await page.getByTestId("copilot-edit-button").click();
  const dialog = page.getByRole("dialog", { name: "Edit your message" });
  await dialog.getByRole("textbox", { name: "Message" }).fill("Do nothing");
  await dialog.getByRole("button", { name: "Send" }).click();
  await t.answered(page, "Nothing is done.");
  const { calls: records } = await (await fetch(`${t.urls.server}/threads/${new URL(page.url()).hash.slice(3)}`)).json();
  assert.deepEqual(
    records.map(({ tool, state }) => `${tool}:${state}`),
    ["refund:cancelled", "archive_order:cancelled"],
  );
}
