/** The list of chats: readable, and what can be done with a chat says what it does. */

import assert from "node:assert/strict";
import { accessible } from "../axe.mjs";
import { drawn, see } from "../browser.mjs";
import { becomes, counts, eventually, shows } from "../eventually.mjs";
import { call, calls, refund, says } from "../stage.mjs";

const menu = (page, title) => page.getByRole("button", { name: `More about “${title}”` });
const item = (page, name) => page.getByRole("menuitem", { name });

/** Titles in full, times, rename; deleting asks first and deletes on the server. */
export async function threadMenu(t) {
  const title = `What is the state of order 1002, and of 1003? (${t.label})`;
  await t.script(says("It is on its way."));
  const page = await t.open();
  await t.say(page, title);
  await t.answered(page, "It is on its way.");
  const mine = t.thread(page, title);
  await mine.waitFor();
  await shows(mine.locator("time"), /\d\d:\d\d/);
  await eventually(async () => {
    const [shown, whole] = await mine.locator(".thread-title").evaluate((node) => [node.clientHeight, node.scrollHeight]);
    assert.ok(shown > 30, "two lines of it are shown");
    assert.ok(whole <= 3 * shown);
  });
  await mine.hover();
  await menu(page, title).click();
  await item(page, "Delete…").waitFor();
  await t.shot(page, "menu");
  await accessible(page, "thread menu");
  await page.keyboard.press("Enter"); // the focus is on the first item
  const field = page.getByRole("textbox", { name: "Title" });
  await field.fill("Order 1002");
  await t.shot(page, "rename");
  await page.keyboard.press("Enter");
  await t.thread(page, "Order 1002").waitFor();
  const id = new URL(page.url()).hash.slice(3);
  const stored = async () => (await fetch(`${t.urls.server}/threads/${id}`)).status;
  await t.thread(page, "Order 1002").first().hover();
  await menu(page, "Order 1002").first().click();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Delete this chat?" });
  await dialog.waitFor();
  await t.shot(page, "delete");
  await accessible(page, "delete dialog");
  await page.keyboard.press("Enter"); // the focus is on Cancel
  await dialog.waitFor({ state: "detached" });
  await becomes(() => stored(), 200, "nothing is deleted without a yes");
  await t.thread(page, "Order 1002").first().hover();
  await menu(page, "Order 1002").first().click();
  await item(page, "Delete…").click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.waitForSelector(".welcome");
  await becomes(() => stored(), 404, "it is deleted on the server");
}

/** A list that was asked for before a change, and comes after it, doesn't take it back. */
export async function listedLate(t) {
  await t.script(says("It is on its way."));
  const page = await t.open();
  await t.say(page, "Where is order 1002?");
  await t.answered(page, "It is on its way.");
  await t.thread(page, "Where is order 1002?").waitFor();
  let release, asks;
  const isReleased = new Promise((resolve) => (release = resolve));
  const isAsked = new Promise((resolve) => (asks = resolve));
  const late = async (route) => {
    const response = await route.fetch();
    asks(route.request());
    await isReleased;
    await route.fulfill({ response });
  };
  await page.route(/\/threads\?/, late, { times: 1 });
  await see(page, "visible");
  const request = await isAsked;
  await t.thread(page, "Where is").hover();
  await menu(page, "Where is order 1002?").click();
  await item(page, "Rename").click();
  await page.getByRole("textbox", { name: "Title" }).fill("Order 1002");
  await page.keyboard.press("Enter");
  await t.thread(page, "Order 1002").waitFor();
  release();
  await (await request.response()).finished();
  await drawn(page);
  await counts(t.thread(page, "Order 1002"), 1);
  assert.equal(await t.thread(page, "Where is").count(), 0);
}

/** A chat says that it waits, as long as it does: not once nobody answered in time. */
export async function waitsForYou(t) {
  const title = `Close the shop (${t.label})`;
  await t.script(calls("I'll close it.", call("close_shop", {})), calls("I'll refund it.", refund()));
  const page = await t.open();
  await t.say(page, title);
  await t.chipsAre(page, ["close_shop:expired"]);
  await page.waitForFunction((name) => ![...document.querySelectorAll(".thread")].find((row) => row.textContent.includes(name))?.querySelector(".thread-waits"), title);
  await page.getByRole("button", { name: "New chat" }).first().click();
  await page.waitForSelector(".welcome");
  await t.say(page, `Refund order 1003 (${t.label})`);
  await t.card(page).waitFor();
  await t.thread(page, `Refund order 1003 (${t.label})`).locator(".thread-waits").waitFor();
  await t.shot(page, "waits");
}

/** What isn't running isn't offered; what the address names is. */
export async function connections(t) {
  const options = async (page) => page.locator("select[aria-label=Connection]:visible option").allTextContents();
  const page = await t.openUrl(`${t.urls.server}/copilot/`);
  await page.waitForSelector(".welcome");
  await becomes(() => options(page), [], "only who develops is offered these");
  await page.goto(`${t.urls.server}/copilot/?dev`);
  await page.waitForSelector(".welcome");
  await becomes(() => options(page), ["CopilotKit routes of the server", "HttpAgent in the browser"]);
  const other = await t.openUrl(`${t.urls.server}/copilot/?dev&via=runtime&runtime=${encodeURIComponent(`${t.urls.runtime}/api/copilotkit`)}`);
  await other.waitForSelector(".welcome");
  await becomes(async () => (await options(other)).length, 3);
  await other.locator("select[aria-label=Connection]:visible").selectOption("direct");
  await becomes(async () => (await options(other)).length, 3, "the way back stays");
}
