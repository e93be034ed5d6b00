/** What people meet in cards and lists, on both pages: one click for several, edits that last, and words and amounts as people write them. */

import assert from "node:assert/strict";
import { accessible } from "../axe.mjs";
import { CLOCK, answer, done, open, say, threadOf, toolsAre } from "../builtin.mjs";
import { becomes, counts, shows } from "../eventually.mjs";
import { call, calls, refund, says } from "../stage.mjs";

const PHONE = { viewport: { width: 390, height: 780 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true };
const ORDERS = ["1001", "1002", "1003"];
const archive = (order_id) => call("archive_order", { order_id });

/** The demo's own way to two cards, and one click for both. */
export async function builtinApproveAll(t) {
  const page = await open(t); // no script: the demo's pretend model answers
  await page.getByRole("button", { name: "Cancel orders 1002 and 1004" }).click();
  await page.locator(".card").nth(1).waitFor();
  await becomes(() => page.locator("#batch").innerText().then((text) => text.split(/\s*\n\s*/)), ["2 approvals wait for you", "Approve all 2"]);
  await t.shot(page, "open");
  await accessible(page, "two cards");
  await page.getByRole("button", { name: "Approve all 2" }).click();
  await done(page);
  await counts(page.locator('.rows .tool[data-status="done"] .tool-name[title="cancel_order"]'), 2);
  await counts(page.locator(".card"), 0);
  await page.reload();
  await counts(page.locator('.rows .tool[data-status="done"] .tool-name[title="cancel_order"]'), 2);
  await t.shot(page, "done");
}

/** Not where something can be edited, and only for what isn't decided; on a phone, too. */
export async function builtinApproveRest(t) {
  await t.script(calls("Three to put away.", ...ORDERS.map(archive)), says("All put away."), calls("Both.", archive("1001"), refund()), says("Left alone."));
  const page = await open(t, PHONE);
  await say(page, "Put them away");
  const all = page.getByRole("button", { name: /^Approve all/ });
  await shows(all, /^Approve all 3$/);
  await t.shot(page, "three");
  await page.locator(".card").first().getByRole("button", { name: "Reject" }).click();
  await page.locator(".card").first().getByRole("button", { name: "Reject" }).click();
  await shows(all, /^Approve all 2$/);
  await t.shot(page, "two");
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "no sideways scrolling");
  await all.click();
  await answer(page, "All put away.");
  await toolsAre(page, ["archive_order:rejected", "archive_order:done", "archive_order:done"]);
  await say(page, "And both of these");
  await page.locator(".card").nth(1).waitFor();
  await counts(page.locator("#batch:visible"), 1);
  await counts(page.locator("#batch-all:visible"), 0, "what can be edited is looked at one by one");
}

/** A reload keeps what was typed into a card, until it is left or sent; an amount that the tool doesn't take goes nowhere. */
export async function builtinKeepsEdit(t) {
  await t.script(calls("I'll refund it.", refund()), says("Refunded in part."));
  const page = await open(t);
  await say(page, "Refund ten cents of order 1003");
  const amount = page.locator(".field input");
  await page.getByRole("button", { name: "Edit" }).click();
  await amount.fill("-5");
  await page.getByRole("button", { name: "Approve with changes" }).click();
  await shows(page.locator(".field-error"), /Amount \(€\) must be more than 0\./);
  await t.shot(page, "refused");
  await amount.fill("0.05");
  await page.reload();
  await becomes(() => amount.inputValue(), "0.05");
  await t.shot(page, "reloaded");
  await page.getByRole("button", { name: "Back" }).click();
  await page.reload();
  await page.locator('.card[data-mode="view"]').waitFor();
  await page.getByRole("button", { name: "Edit" }).click();
  await becomes(() => amount.inputValue(), "0.1", "it was left");
  await amount.fill("0,05"); // many keyboards have no point
  await page.reload();
  await becomes(() => amount.inputValue(), "0,05");
  await page.getByRole("button", { name: "Approve with changes" }).click();
  await answer(page, "Refunded in part.");
  await shows(page.locator(".tool-decision").last(), new RegExp(`^Approved at ${CLOCK}, in the chat · Amount 0\\.10 € → 0\\.05 €$`));
  await toolsAre(page, ["refund:done"]);
}

/** The same on the page made with CopilotKit. */
export async function keepsEdit(t) {
  await t.script(calls("I'll refund it.", refund()), says("Refunded in part."));
  const page = await t.open();
  await t.say(page, "Refund ten cents of order 1003");
  const amount = page.locator("input[name=amount]");
  await t.press(page, "Edit");
  await amount.fill("-5");
  await page.keyboard.press("Enter");
  await shows(page.locator(".field-error:not(:empty)"), /Amount \(€\) must be more than 0\./);
  await t.shot(page, "refused");
  await amount.fill("0.05");
  await page.reload();
  await becomes(() => amount.inputValue(), "0.05");
  await t.shot(page, "reloaded");
  await page.getByRole("button", { name: "Back" }).click();
  await page.reload();
  await t.press(page, "Edit");
  await becomes(() => amount.inputValue(), "0.1", "it was left");
  await amount.fill("0,05"); // many keyboards have no point
  await page.reload();
  await becomes(() => amount.inputValue(), "0,05");
  await page.getByRole("button", { name: "Approve with changes" }).click();
  await t.answered(page, "Refunded in part.");
  await t.chipsAre(page, ["refund:done"]);
  await shows(page.locator('[data-testid="tool-chip"]'), /"refunded": 0\.05/);
}

/** One refund ran. Before that nothing is said; about the same order it is; of the very same call in red. */
const SAME = [
  [refund("1001", 0.1), null],
  [refund("1001", 0.2), { same: false, text: /^Already ran in this chat:.*1001 · 0\.10 €/ }],
  [refund("1001", 0.1), { same: true, text: /^The very same already ran in this chat:.*1001 · 0\.10 €(?!.*0\.20 €).*and 1 more about the same$/ }],
];

export async function builtinSameThing(t) {
  await t.script(...SAME.flatMap(([one], at) => [calls("I'll refund it.", one), says(`Refunded, ${at}.`)]));
  const page = await open(t);
  for (const [at, [, expected]] of SAME.entries()) {
    await say(page, `Refund, ${at}`);
    const card = page.locator(".card");
    await card.waitFor();
    await t.rests(page);
    if (!expected) await counts(card.locator(".card-earlier"), 0);
    else {
      await shows(card.locator(".card-earlier"), expected.text);
      await becomes(() => card.locator(".card-earlier").getAttribute("data-same"), String(expected.same));
    }
    await t.shot(page, `${at}`);
    await card.getByRole("button", { name: "Approve" }).click();
    await answer(page, `Refunded, ${at}.`);
  }
}

export async function sameThing(t) {
  await t.script(...SAME.flatMap(([one], at) => [calls("I'll refund it.", one), says(`Refunded, ${at}.`)]));
  const page = await t.open();
  for (const [at, [, expected]] of SAME.entries()) {
    await t.say(page, `Refund, ${at}`);
    await t.card(page).waitFor();
    const earlier = page.locator(".card-earlier");
    if (!expected) await counts(earlier, 0);
    else {
      await shows(earlier, expected.text);
      await becomes(() => earlier.getAttribute("data-same"), String(expected.same));
    }
    await t.shot(page, `${at}`);
    await t.press(page, "Approve");
    await t.answered(page, `Refunded, ${at}.`);
  }
}

/** Money has two digits, a text has quotes only where a number could stand, a tool has a name for people, and what can't be seen is drawn as what it is. */
const WORDS = calls("Three things.", refund("1003", 64.9), call("label_order", { order_id: "1003", label: "7" }), call("label_order", { order_id: "10\u200b03", label: 7 }));

export async function builtinWords(t) {
  await t.script(WORDS, says("Left alone."));
  const page = await open(t);
  await say(page, "Refund it and label it");
  const cards = page.locator(".card");
  await cards.nth(2).waitFor();
  await becomes(() => cards.locator(".arguments").allTextContents(), ["Order id1003Amount64.90 €", 'Order id1003Label"7"', "Order id10⟦U+200B⟧03Label7"]);
  await shows(page.locator(".rows .tool-preview").last(), /10⟦U\+200B⟧03/);
  await shows(cards.first(), /Refund 64\.90 € for order 1003\?/);
  const names = page.locator(".rows .tool .tool-name");
  await becomes(() => names.allTextContents(), ["Refund", "Label order", "Label order"]);
  await becomes(() => names.evaluateAll((all) => all.map(({ title }) => title)), ["refund", "label_order", "label_order"]);
  await becomes(async () => (await page.locator("main").innerText()).match(/\brefund\b|label_order/g), null, "no tool's own name is to be read");
  await t.shot(page, "cards");
  await accessible(page, "three cards");
}

export async function words(t) {
  await t.script(WORDS, says("Left alone."));
  const page = await t.open({ tall: true });
  await t.say(page, "Refund it and label it");
  await t.card(page).waitFor();
  const expected = ["Order id1003Amount64.90 €", 'Order id1003Label"7"', "Order id10⟦U+200B⟧03Label7"];
  await becomes(async () => (await page.locator(".arguments:visible").allTextContents()).sort(), expected.sort()); // those in cards come last
  await page.locator("main").getByText("Refund 64.90 € for order 1003?").first().waitFor();
  await becomes(async () => (await page.locator("main").innerText()).match(/\brefund\b|label_order/g), null, "no tool's own name is to be read");
  await counts(page.locator('[data-testid="tool-chip"] [title="refund"]'), 1, "it is there on hover");
  await shows(page.locator('[data-testid="tool-chip"] .chip-preview').last(), /10⟦U\+200B⟧03/);
  await t.shot(page, "cards");
}

/** Chats that would read alike are numbered, the oldest one has no number. */
export async function builtinSameTitles(t) {
  await t.script(says("One."), says("Two."));
  const page = await open(t);
  for (const text of ["One.", "Two."]) {
    await say(page, "How much is the kettle?");
    await answer(page, text);
    await page.click("#new-chat");
    await page.locator(".example").first().waitFor();
  }
  await becomes(() => page.locator(".thread-title").allTextContents(), ["How much is the kettle? (2)", "How much is the kettle?"]);
  await t.shot(page, "list");
}

export async function sameTitles(t) {
  await t.script(says("One."), says("Two."));
  const page = await t.open();
  for (const text of ["One.", "Two."]) {
    await t.say(page, "How much is the kettle?");
    await t.answered(page, text);
    await page.getByRole("button", { name: "New chat" }).first().click();
    await page.waitForSelector(".welcome");
  }
  await becomes(() => page.locator(".thread-title").allTextContents(), ["How much is the kettle? (2)", "How much is the kettle?"]);
  await t.shot(page, "list");
}

/** Something is said to a question's chat by a client that leaves the question open: it is kept, and answered after the decision. */
async function sayBeside(t, thread) {
  const server = t.urls.server;
  const { messages } = await (await fetch(`${server}/threads/${thread}`)).json();
  const said = { id: `beside-${t.label}`, role: "user", content: "And what does shipping cost?" };
  const body = { threadId: thread, runId: `run-${t.label}`, messages: [...messages, said], tools: [], context: [], state: {}, forwardedProps: {} };
  const response = await fetch(`${server}/`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  assert.equal(response.status, 200);
  assert.match(await response.text(), /RUN_FINISHED/);
}

const KEPT = /^Your message is kept\. It is answered after your decision/;

export async function builtinKept(t) {
  await t.script(calls("I'll refund it.", refund()), says("Refunded. Shipping is free."));
  const page = await open(t);
  await say(page, "Refund ten cents of order 1003");
  await page.locator(".card").waitFor();
  await sayBeside(t, threadOf(page));
  for (const again of [false, true]) {
    if (again) await page.reload();
    await page.locator(".user", { hasText: "shipping" }).waitFor();
    await shows(page.locator(".cut[role=status]"), KEPT);
  }
  await t.shot(page, "kept");
  await page.getByRole("button", { name: "Approve" }).click();
  await answer(page, "Shipping is free.");
  await counts(page.locator(".cut[role=status]"), 0);
}

export async function kept(t) {
  await t.script(calls("I'll refund it.", refund()), says("Refunded. Shipping is free."));
  const page = await t.open();
  await t.say(page, "Refund ten cents of order 1003");
  await t.card(page).waitFor();
  await t.idle(page);
  await sayBeside(t, threadOf(page));
  await page.reload();
  await page.getByText("And what does shipping cost?").first().waitFor();
  await shows(page.getByTestId("kept"), KEPT);
  await t.shot(page, "kept");
  await t.press(page, "Approve");
  await t.answered(page, "Shipping is free.");
  await counts(page.getByTestId("kept"), 0);
}

/** A phone has no keys to tell of; Esc closes the drawer where there is one. */
export async function builtinPhone(t) {
  await t.script(calls("I'll refund it.", refund()), says("Left alone."));
  const page = await open(t, PHONE);
  await say(page, "Refund ten cents of order 1003");
  await page.locator(".card").waitFor();
  await counts(page.locator("kbd:visible"), 0);
  await shows(page.locator("#fine-print"), /^Actions that need your approval never run without it\.$/);
  await t.shot(page, "card");
  await page.click("#menu");
  assert.deepEqual(await page.evaluate(() => [document.getElementById("main").inert, document.activeElement.id]), [true, "new-chat"], "what the drawer covers takes no focus");
  await page.locator("#sidebar.open").waitFor();
  await page.keyboard.press("Escape");
  await page.locator("#sidebar:not(.open)").waitFor({ state: "attached" });
  await becomes(() => page.evaluate(() => document.activeElement.id), "menu", "the focus is where it came from");
}

export async function phone(t) {
  await t.script(calls("I'll refund it.", refund()), says("Left alone."));
  const page = await t.openUrl(`${t.urls.server}/copilot/`, PHONE);
  await page.waitForSelector(".welcome");
  await t.say(page, "Refund ten cents of order 1003");
  await t.card(page).waitFor();
  await counts(page.locator("kbd:visible"), 0);
  await counts(page.getByText(/Esc goes/).filter({ visible: true }), 0);
  await t.shot(page, "card");
  await page.getByRole("button", { name: "Chats" }).click();
  await page.waitForSelector('.sidebar[data-open="true"]');
  await counts(page.locator("select[aria-label=Connection]"), 0, "that is for who develops");
  await t.shot(page, "menu");
  await page.keyboard.press("Escape");
  await page.waitForSelector('.sidebar[data-open="false"]', { state: "attached" });
}
