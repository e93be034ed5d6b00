/** The built-in page under one's fingers: keys, and the list of chats. */

import assert from "node:assert/strict";
import { accessible } from "../axe.mjs";
import { answer, done, focused, focusIs, open, say, toolsAre } from "../builtin.mjs";
import { becomes, counts, shows } from "../eventually.mjs";
import { call, calls, refund, says } from "../stage.mjs";

const nameOf = async (page) => (await focused(page)).evaluate((element) => element.className || element.id);

/** One letter a button, as it says; only on the card, and never while somebody types. */
export async function builtinKeys(t) {
  await t.script(calls("Three.", refund("1001"), refund("1002"), refund("1003")), says("Settled."));
  const page = await open(t);
  await say(page, "Refund three");
  await page.locator(".card").nth(2).waitFor();
  await becomes(() => page.locator(".card").first().getByRole("button").evaluateAll((all) => all.map((each) => each.getAttribute("aria-keyshortcuts"))), ["A", "E", "R"]);
  await becomes(() => page.locator(".card").first().locator("kbd").allTextContents().then(String), "A,E,R");
  await page.getByText("Esc goes to the card. There A approves, E edits, R rejects.").waitFor();
  await page.keyboard.type("are");
  await becomes(() => page.inputValue("#input"), "are");
  await counts(page.locator(".card-line"), 0, "typing decides nothing");
  await page.fill("#input", "");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("a");
  await counts(page.locator(".card-line"), 0, "a key that goes nowhere decides nothing");
  await page.keyboard.press("Escape");
  await becomes(() => nameOf(page), "card");
  await t.shot(page, "focus");
  await page.keyboard.press("e");
  await becomes(() => page.locator(".card").first().getAttribute("data-mode"), "edit");
  await page.keyboard.press("Escape");
  await becomes(() => nameOf(page), "card");
  await becomes(() => page.locator(".card").first().getAttribute("data-mode"), "view");
  for (const where of ["card", "card", "input"]) {
    await page.keyboard.press("Escape");
    await becomes(() => nameOf(page), where);
  }
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+a");
  await counts(page.locator(".card-line"), 0, "nor does somebody else's shortcut");
  await page.keyboard.press("a");
  await page.locator(".card-line", { hasText: "Will approve" }).waitFor();
  await focusIs(page, ".card[data-mode=view]");
  await page.keyboard.press("e");
  await page.keyboard.type("0.05");
  await becomes(() => page.locator(".card input").inputValue(), "0.05", "in a field letters and digits are text");
  await page.keyboard.press("Enter");
  await page.locator(".card-line").nth(1).waitFor();
  await focusIs(page, ".card[data-mode=view]");
  await page.keyboard.press("r");
  await page.keyboard.type("area"); // a reason, and no decision
  await page.keyboard.press("Enter");
  await answer(page, "Settled.");
  await toolsAre(page, ["refund:done", "refund:done", "refund:rejected"]);
}

/** Chats are the server's: titles to be read, times, renaming, and deleting that asks. */
export async function builtinChats(t) {
  await t.script(says("Hello."), calls("I'll refund it.", refund()));
  const page = await open(t);
  await say(page, "A first message that is far too long for the narrow list of chats on the left");
  await done(page);
  const item = (text) => page.locator(".thread-item", { hasText: text });
  const { threads: [{ title }] } = await (await fetch(`${t.urls.server}/threads`)).json();
  assert.match(title, /^A first message that is far too long for the narrow list of chats/);
  await becomes(() => item("A first message").locator(".thread").getAttribute("title"), title);
  await shows(item("A first message").locator("time"), /^(\d\d:\d\d|\d+ \w+)$/); // the day, once midnight has passed
  await menu(page, "A first message", "Rename…");
  await becomes(() => page.getByLabel("Title").inputValue(), title);
  await accessible(page, "rename");
  await page.keyboard.type("Greetings");
  await becomes(() => page.getByLabel("Title").inputValue(), "Greetings", "the title is selected");
  await page.keyboard.press("Enter");
  await item("Greetings").waitFor();
  await becomes(() => page.title(), "Greetings · agui-gate");
  await page.click("#new-chat");
  await say(page, "Give some money back");
  await page.locator(".card").waitFor();
  await page.locator("#threads").getByText(/^Waiting for you \(\d+\)$/).waitFor();
  await shows(item("Give some money").locator(".thread-waits"), /^Refund 0\.10 € for order 1003\?$/);
  await t.shot(page, "list");
  await menu(page, "Give some money", "Delete…");
  await shows(page.getByRole("dialog"), /deleted on the server, so it is gone in every browser.*will not run/);
  await t.shot(page, "delete");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.locator(".card").waitFor();
  await menu(page, "Give some money", "Delete…");
  page.allow(/404.*view=calls/); // the page may look at its open card just when the chat is gone
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.locator(".example").first().waitFor();
  await becomes(() => page.locator(".thread-title").allTextContents().then((all) => all.filter((one) => /Give some money|Greetings/.test(one))), ["Greetings"]);
  await item("Greetings").locator(".thread").click();
  await answer(page, "Hello.");
}

/** What has expired waits for nobody. */
export async function builtinExpired(t) {
  await t.script(calls("I'll close.", call("close_shop", {})), says("It stays open."));
  const page = await open(t);
  await say(page, "Close the shop");
  await page.locator('.tool[data-status="expired"]').waitFor();
  const waiting = page.locator(".thread-item", { hasText: "Close the shop" }).first();
  await waiting.locator(".thread-waits").waitFor({ state: "detached" });
  await say(page, "And now?");
  await answer(page, "It stays open.");
}

async function menu(page, chat, entry) {
  await page.locator(".thread-item", { hasText: chat }).hover();
  await page.getByRole("button", { name: new RegExp(`^Rename or delete “${chat}`) }).click();
  await page.getByRole("menuitem", { name: entry }).click();
  await page.getByRole("dialog").waitFor();
}
