/** "Waiting for you": what waits in any chat is looked at and decided from one list (T6). */

import assert from "node:assert/strict";
import { accessible } from "../axe.mjs";
import { becomes, counts, eventually, shows } from "../eventually.mjs";
import { call, calls, refund, says } from "../stage.mjs";
import { AT, button, elsewhere, expand, inbox, item, items, line, openInbox, OUTSIDE, settled } from "../waiting.mjs";

/** A call of another chat is looked at and approved without opening that chat, which goes on. */
export async function inboxApproves(t) {
  const chat = await elsewhere(t, calls("I'll refund it.", refund()), says("It went through."));
  const page = await t.open();
  await openInbox(page);
  const waiting = await item(page, chat.title);
  const card = waiting.locator("agui-confirm-card");
  await card.getByRole("heading", { name: "Refund" }).waitFor();
  await card.getByText("Refund 0.10 € for order 1003?").waitFor();
  await shows(card, /Expires in .*Order id1003Amount0.10 €/);
  await card.getByRole("button", { name: "Edit" }).waitFor();
  await t.shot(page, "open");
  await accessible(page, "an open item");
  await card.getByRole("button", { name: "Approve" }).click();
  await line(waiting).filter({ hasText: new RegExp(`^Approved ${AT}${OUTSIDE} · Refund · 1003 · 0.10 €$`) }).waitFor();
  await becomes(() => page.evaluate(() => document.activeElement.shadowRoot?.activeElement.className), "line-button", "the focus stays at the item");
  await t.thread(page, chat.title).locator(".thread-waits").waitFor({ state: "detached" });
  await t.shot(page, "decided");
  await accessible(page, "a decided item");
  await waiting.getByRole("button", { name: "Open chat" }).click();
  await inbox(page).waitFor({ state: "detached" });
  await t.answered(page, "It went through.");
  await t.chipsAre(page, ["refund:done"]);
  await counts(page.getByTestId("unread"), 0);
}

/** By keys alone: the list, a reason, the next one; a letter in the reason is text. */
export async function inboxRejects(t) {
  const chat = await elsewhere(t, calls("I'll refund it.", refund()), says("Then not."));
  const page = await t.open();
  await button(page).focus();
  await page.keyboard.press("Enter");
  await inbox(page).waitFor();
  const waiting = items(page, chat.title);
  await waiting.waitFor();
  if ((await waiting.locator(".line-button").getAttribute("aria-expanded")) === "false") {
    await waiting.locator(".line-button").focus();
    await page.keyboard.press("Enter");
  }
  await waiting.getByRole("button", { name: "Approve" }).focus();
  await page.keyboard.press("r");
  const reason = waiting.getByRole("textbox", { name: "Reason (optional)" });
  await reason.waitFor();
  await page.keyboard.type("are");
  await page.keyboard.press("Escape"); // back, and the list stays
  await waiting.getByRole("button", { name: "Approve" }).waitFor();
  await page.keyboard.press("r");
  await page.keyboard.type("no receipt");
  await t.shot(page, "reason");
  await page.keyboard.press("Enter");
  await line(waiting).filter({ hasText: new RegExp(`^Rejected ${AT}${OUTSIDE} · Refund · 1003 · 0.10 € · “no receipt”$`) }).waitFor();
  assert.equal((await settled(t, chat, "rejected")).decision.reason, "no receipt");
  await page.keyboard.press("Escape");
  await inbox(page).waitFor({ state: "detached" });
  await eventually(async () => assert.notEqual(await page.evaluate(() => document.activeElement.localName), "body", "the focus is somewhere"));
}

/** The call of the open chat, decided from the list: its card settles in this tab and in another one, and the answer comes. */
export async function inboxHere(t) {
  await t.script(calls("I'll refund it.", refund()), says("Decided from the list."));
  const page = await t.open();
  await t.say(page, "Refund ten cents of order 1003");
  await t.card(page).waitFor();
  await t.idle(page);
  const other = await t.tab(page);
  await t.card(other).waitFor();
  await t.idle(other);
  await page.bringToFront();
  await openInbox(page);
  const waiting = await item(page, "this chat");
  await waiting.getByRole("button", { name: "Approve" }).click();
  await line(waiting).filter({ hasText: new RegExp(`^Approved ${AT}${OUTSIDE}`) }).waitFor();
  await counts(page.locator('.chat [data-testid="gate-card"]'), 0);
  await t.answered(page, "Decided from the list.");
  await t.shot(page, "behind");
  await page.keyboard.press("Escape");
  await t.chipsAre(page, ["refund:done"]);
  await other.bringToFront();
  await counts(t.card(other), 0);
  await t.answered(other, "Decided from the list.");
  await t.chipsAre(other, ["refund:done"]);
  await t.rests(other);
  await t.script(says("All fine."));
  await t.say(other, "Thanks");
  await t.answered(other, "All fine.");
}

/** Two calls of one chat: the conversation goes on with the second decision, and the second card says what already ran. */
export async function inboxTwoOfOne(t) {
  const chat = await elsewhere(t, calls("Twice.", refund("1003", 0.1), refund("1003", 0.2)), says("Both done."));
  const page = await t.open();
  await openInbox(page);
  const both = items(page, chat.title);
  const [first, second] = [both.filter({ hasText: "0.10 €" }), both.filter({ hasText: "0.20 €" })];
  for (const waiting of [first, second]) await expand(waiting);
  await first.getByRole("button", { name: "Approve" }).click();
  await first.getByText("The conversation doesn't continue yet. Another call on this thread is still pending.").waitFor();
  await second.getByText("Already ran in this chat:").waitFor();
  await t.shot(page, "one");
  await second.getByRole("button", { name: "Approve" }).click();
  await line(second).filter({ hasText: /^Approved/ }).waitFor();
  await first.getByText("The conversation doesn't continue yet.").waitFor({ state: "detached" });
  await second.getByRole("button", { name: "Open chat" }).click();
  await t.answered(page, "Both done.");
  await t.chipsAre(page, ["refund:done", "refund:done"]);
}

/** While the open chat runs, something of another one is decided: both go on. */
export async function inboxMeanwhile(t) {
  const chat = await elsewhere(t, calls("I'll refund it.", refund()), { ...says("The other one."), when: { user: "Please" } });
  const count = calls("Counting.", call("stock_report", { seconds: 120 }));
  await t.script({ ...count, when: { user: "How many" } }, { ...says("The other one."), when: { user: "Please" } }, { ...says("There are 42."), when: { user: "How many" } });
  const page = await t.open();
  await t.say(page, "How many are there?");
  await t.chipsAre(page, ["stock_report:running"]);
  await openInbox(page);
  const waiting = await item(page, chat.title);
  await waiting.getByRole("button", { name: "Approve" }).click();
  await line(waiting).filter({ hasText: /^Approved/ }).waitFor();
  await waiting.getByRole("button", { name: "Open chat" }).waitFor();
  await settled(t, chat, "done");
  await page.keyboard.press("Escape");
  await t.chipsAre(page, ["stock_report:running"]);
  await t.finish();
  await t.answered(page, "There are 42.");
  await becomes(() => t.userMessages(page), 1);
}

/** Thirty of them, long ones, ones with what can't be seen, numbers that a browser would round; on a phone too. */
export async function inboxMany(t) {
  const orders = Array.from({ length: 27 }, (_, at) => refund(`20${at}`, 10 + at));
  const many = await elsewhere(t, calls("Many refunds.", ...orders));
  const long = await elsewhere(t, calls("I'll write.", call("send_email", { to: "Ben\u200b", subject: "Pay \u202e05.001 to Ann", body: "A very long text. ".repeat(200) })));
  const wide = await elsewhere(t, calls("I'll put it away.", call("archive_order", { order_id: "9007199254740993".repeat(12) })));
  const big = await elsewhere(t, calls("I'll count.", { type: "function_call", name: "credit_points", arguments: '{"points": 9007199254740993}' }));
  for (const options of [{ colorScheme: "dark" }, { colorScheme: "light", viewport: { width: 390, height: 780 }, deviceScaleFactor: 2 }]) {
    const page = await t.open(options);
    const name = options.viewport ? "phone" : options.colorScheme;
    await button(page).waitFor();
    await shows(button(page), /\(30\)/);
    await t.shot(page, `${name}-closed`);
    await openInbox(page);
    await items(page, big.title).waitFor();
    await counts(items(page, many.title), 27);
    await t.shot(page, `${name}-list`);
    await accessible(page, `${name} list`);
    const points = await item(page, big.title);
    await shows(points.locator("agui-confirm-card"), /Points9007199254740993/);
    await item(page, wide.title);
    const mail = await item(page, long.title);
    await mail.locator("dd .hidden-character").nth(1).waitFor();
    await becomes(() => mail.locator("dd .hidden-character").allTextContents(), ["⟦U+200B⟧", "⟦U+202E⟧"]);
    await mail.getByRole("button", { name: "Reject" }).click();
    await mail.scrollIntoViewIfNeeded();
    await t.shot(page, `${name}-long`);
    await becomes(() => inbox(page).evaluate((dialog) => dialog.scrollWidth <= dialog.clientWidth), true, "no sideways scrolling");
    await accessible(page, `${name} long`);
  }
}

/** What was asked in one style is decided on a page in the other one. */
export async function askedOtherwise(t) {
  await t.script(calls("I'll refund it.", refund()), says("You have it back."));
  const page = await t.open();
  await t.say(page, `Refund ten cents (${t.label})`);
  await t.card(page).waitFor();
  const url = new URL(page.url());
  url.searchParams.set("hitl", t.style === "card" ? "interrupt" : "card");
  const other = await t.tab(page, url.href);
  await t.card(other).waitFor();
  await t.press(other, "Approve");
  await t.answered(other, "You have it back.");
  await t.chipsAre(other, ["refund:done"]);
}
