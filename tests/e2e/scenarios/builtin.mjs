/** The built-in page, clicked through; `t.style` is the way it is asked to show approvals. */

import assert from "node:assert/strict";
import { accessible } from "../axe.mjs";
import { CLOCK, answer, atRest, done, open, say, toolsAre } from "../builtin.mjs";
import { becomes, counts, shows } from "../eventually.mjs";
import { call, calls, refund, says } from "../stage.mjs";

const TURN = calls("I'll refund it.", refund());

export async function builtinApprove(t) {
  await t.script(TURN, says("Refunded."));
  const page = await open(t);
  await page.locator(".example").first().waitFor();
  await t.shot(page, "empty");
  await accessible(page, "empty");
  await say(page, "Refund ten cents of order 1003");
  await page.locator(".card").waitFor();
  await t.shot(page, "card");
  await accessible(page, "card");
  await page.getByRole("button", { name: "Approve" }).click();
  await done(page);
  await toolsAre(page, ["refund:done"]);
  await page.reload();
  await toolsAre(page, ["refund:done"]);
  await counts(page.locator(".card"), 0);
  await t.shot(page, "reloaded");
}

export async function builtinReject(t) {
  await t.script(TURN, says("Left alone."));
  const page = await open(t);
  await say(page, "Refund ten cents of order 1003");
  await page.getByRole("button", { name: "Reject" }).click();
  await page.keyboard.type("Not now");
  await page.keyboard.press("Enter");
  await done(page);
  await toolsAre(page, ["refund:rejected"]);
  await shows(page.locator(".tool-decision"), /Not now/);
  await t.shot(page, "rejected");
}

/** Two cards: one approved and sent by itself, the other left behind by a new message. */
export async function builtinPartial(t) {
  await t.script(calls("Both.", refund("1001"), refund("1002")), says("Both settled."));
  const page = await open(t);
  await say(page, "Refund both");
  await page.locator(".card").nth(1).waitFor();
  await page.locator(".card").first().getByRole("button", { name: "Approve" }).click();
  await t.shot(page, "one-decided");
  await page.click("#batch-send");
  await toolsAre(page, ["refund:done", "refund:waiting"]);
  await page.locator(".card").waitFor();
  await page.fill("#input", "Forget");
  await shows(page.locator("#fine-print"), /^If you send this, the open approval is cancelled\. It will not run\.$/);
  await t.shot(page, "left-behind");
  await accessible(page, "something is written while one waits");
  await page.fill("#input", "");
  await shows(page.locator("#fine-print"), /Esc goes to the card/);
  await say(page, "Forget the other one");
  await done(page);
  await toolsAre(page, ["refund:done", t.style === "card" ? "refund:superseded" : "refund:stopped"]);
}

export async function builtinReloadOpen(t) {
  await t.script(TURN, says("Refunded after the reload."));
  const page = await open(t);
  await say(page, "Refund ten cents of order 1003");
  await page.locator(".card").waitFor();
  await page.reload();
  await page.locator(".card").waitFor();
  await page.getByRole("button", { name: "Approve" }).click();
  await done(page);
  await toolsAre(page, ["refund:done"]);
}

export async function builtinConversation(t) {
  await t.script(calls("Looking.", call("get_order", { order_id: "1002" })), says("It is on its way."), says("Still on its way."));
  const page = await open(t);
  await say(page, "Where is order 1002?");
  await done(page);
  await page.getByRole("button", { name: "Try again" }).click();
  await answer(page, "Still on its way.");
  await counts(page.locator(".user"), 1);
  await t.script(calls("Counting.", call("stock_report", { seconds: 60 })), says("As you like."));
  await say(page, "Count the stock");
  await page.locator('.tool[data-status="running"]').waitFor();
  await page.click("#send");
  await page.locator(".notice.stopped").waitFor();
  await atRest(page);
  await t.rests(page); // a thread that is still busy would be asked again, and for a while only
  await say(page, "Never mind");
  await answer(page, "As you like.");
  await page.click("#new-chat");
  await page.locator(".example").first().waitFor();
  await page.goBack();
  await answer(page, "As you like.");
}

export async function builtinNarrow(t) {
  await t.script(TURN, says("Refunded on a small screen."));
  const page = await open(t, { viewport: { width: 390, height: 780 }, deviceScaleFactor: 2, colorScheme: "dark" });
  await say(page, "Refund ten cents of order 1003");
  await page.locator(".card").waitFor();
  await t.shot(page, "card");
  await accessible(page, "narrow dark card");
  await page.getByRole("button", { name: "Approve" }).click();
  await done(page);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "no sideways scrolling");
  await becomes(() => page.evaluate(() => document.activeElement.id), "input", "the focus is back where one types");
  await shows(page.locator("#announcer"), /^Refunded on a small screen/);
  await page.click("#menu");
  await page.locator("#sidebar.open").waitFor();
  await t.shot(page, "menu");
  await accessible(page, "narrow dark menu");
  await page.getByRole("link", { name: "The CopilotKit page" }).click();
  await page.getByText("Built with CopilotKit").waitFor({ state: "attached" });
}
