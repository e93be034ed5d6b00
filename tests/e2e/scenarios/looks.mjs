/** How it looks and how it is operated: themes, narrow screens, the keyboard, axe. */

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { call, calls, refund, says } from "../stage.mjs";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const SERIOUS = ["serious", "critical"];

/** No serious finding of axe on what is on screen. */
async function accessible(page, where) {
  await page.evaluate(() => Promise.all(document.getAnimations().map((animation) => animation.finished.catch(() => {}))).then(() => {}, () => {}));
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(await source());
  const { violations } = await page.evaluate(() => globalThis.axe.run(document));
  const findings = violations.filter(({ impact }) => SERIOUS.includes(impact));
  const told = findings.map(({ id, help, nodes }) => `${where}: ${id} (${help}) ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
  assert.deepEqual(told, []);
}

const source = async () => (await import("node:fs/promises")).readFile(AXE, "utf8");

const TURN = {
  output: [
    { type: "reasoning", summary: ["The order exists, so a refund is possible."] },
    { type: "message", text: "I'll refund **order 1003**." },
    call("get_order", { order_id: "1003" }),
    refund(),
  ],
};

export async function accessibility(t) {
  for (const colorScheme of ["light", "dark"]) {
    await t.script(TURN, says("Done, with a [link](https://example.com) and `code`."));
    const page = await t.open({ colorScheme });
    await page.waitForSelector(".example");
    await t.shot(page, `${colorScheme}-empty`);
    await accessible(page, `${colorScheme} empty`);
    await t.say(page, "Refund ten cents of order 1003");
    await t.card(page).waitFor();
    await t.chipsAre(page, ["get_order:done", "refund:waiting"]);
    await page.locator('[data-testid="tool-chip"] summary').first().click();
    await t.shot(page, `${colorScheme}-card`);
    await accessible(page, `${colorScheme} card`);
    await t.press(page, "Edit");
    await t.shot(page, `${colorScheme}-edit`);
    await accessible(page, `${colorScheme} edit`);
    await page.keyboard.press("Enter");
    await t.answered(page, "Done, with a");
    await t.shot(page, `${colorScheme}-done`);
    await accessible(page, `${colorScheme} done`);
  }
}

/** From the first key to the approval without a mouse. */
export async function keyboard(t) {
  await t.script(calls("I'll refund it.", refund()), says("Keyed in."));
  const page = await t.open();
  await page.waitForSelector(".example");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  await page.focus('[data-testid="copilot-chat-textarea"]');
  await page.keyboard.type("Refund ten cents of order 1003");
  await page.keyboard.press("Enter");
  await t.card(page).waitFor();
  await page.focus("main");
  for (let at = 0; at < 25; at += 1) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement.textContent === "Approve")) break;
  }
  await t.shot(page, "focus");
  await page.keyboard.press("Enter");
  await t.answered(page, "Keyed in.");
}

export async function narrow(t) {
  await t.script(calls("I'll refund it.", refund()), says("Done on a small screen."));
  const page = await t.open({ viewport: { width: 390, height: 780 }, deviceScaleFactor: 2 });
  await page.waitForSelector(".example");
  await t.shot(page, "empty");
  await t.say(page, "Refund ten cents of order 1003");
  await t.card(page).waitFor();
  await t.shot(page, "card");
  await accessible(page, "narrow card");
  await t.press(page, "Approve");
  await t.answered(page, "Done on a small screen.");
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "no sideways scrolling");
  await page.getByRole("button", { name: "Chats" }).click();
  await page.getByRole("button", { name: "New chat" }).first().waitFor();
  await page.waitForFunction(() => document.activeElement?.className === "new-chat");
  await t.shot(page, "menu");
  await page.keyboard.press("Escape");
  await page.waitForSelector('.sidebar[data-open="false"]', { state: "attached" });
}
