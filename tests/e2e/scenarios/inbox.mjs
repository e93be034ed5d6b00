/** The built-in page's inbox: what waits in any chat is looked at and decided from the list (T6). */

import assert from "node:assert/strict";
import { accessible } from "../axe.mjs";
import { CLOCK, answer, decide, decision, done, open, say, threadOf, toolsAre } from "../builtin.mjs";
import { becomes, counts, eventually, shows, textOf, together } from "../eventually.mjs";
import { ended, expand, item, noticesNothing, openInbox, waiting, wentOn } from "../inbox.mjs";
import { call, calls, refund, says } from "../stage.mjs";

const OUTSIDE = new RegExp(`^Approved at ${CLOCK}, outside the chat$`);
const DECIDED = new RegExp(`^Approved at ${CLOCK}, outside the chat · `);
const row = (page, title) => page.locator(".thread-item", { hasText: title });
const focused = (page) => page.evaluate(() => (document.activeElement.shadowRoot?.activeElement ?? document.activeElement).className || document.activeElement.id);

/** Two other chats wait: one is approved and one rejected without opening them. Both go on, and say that they have news. */
export async function builtinInbox(t) {
  const first = await waiting(t, "Refund Anna", calls("I'll refund it.", refund()));
  const second = await waiting(t, "Refund Ben", calls("I'll refund it.", refund("1002", 3)));
  await t.script(says("Hello."));
  const page = await open(t);
  await say(page, `Good morning (${t.label})`);
  await done(page);
  await page.evaluate(() => {
    window.heard = [];
    new MutationObserver((changes) => window.heard.push(...changes.flatMap(({ addedNodes }) => [...addedNodes].map((node) => node.textContent)))).observe(document.querySelector("#announcer"), { childList: true });
    new MutationObserver(([{ target }]) => window.heard.push(target.textContent)).observe(document.querySelector("agui-inbox").renderRoot.querySelector(".news"), { childList: true, characterData: true, subtree: true });
  });
  await openInbox(page, first);
  const anna = item(page, first);
  await shows(anna, /Refund Anna/);
  await anna.locator(".card").waitFor();
  await shows(anna.locator(".card"), /Refund 0\.10 € for order 1003\?.*Order id1003Amount0\.10 €/);
  await t.shot(page, "open");
  await accessible(page, "inbox");
  await t.script(calls("Packing.", call("stock_report", { seconds: 60 })), says("Anna has her money."));
  await anna.getByRole("button", { name: "Approve" }).click();
  await row(page, "Refund Anna").locator('[data-mark="working"]').waitFor();
  await becomes(() => focused(page), "line-button", "the focus stays where it was decided");
  await ended(anna, DECIDED).waitFor(); // the chat is at work before the decision's answer is here
  await counts(anna.locator(".primary"), 0);
  await t.finish();
  await row(page, "Refund Anna").locator('[data-mark="new"]').waitFor();
  await page.keyboard.press("Tab");
  const ben = item(page, second);
  await ben.locator(".line-button").focus();
  await page.keyboard.press("Enter");
  await ben.locator(".card").waitFor();
  await page.keyboard.press("Enter");
  await page.keyboard.press("a");
  await page.keyboard.press("Enter");
  assert.ok(await ben.locator(".card").isVisible(), "what nobody could see was not approved");
  await t.script(says("Ben has to wait."));
  await page.keyboard.press("r");
  await page.getByLabel("Reason (optional)").waitFor();
  await page.keyboard.type("a second opinion first");
  await t.shot(page, "reason");
  await accessible(page, "reason");
  await page.keyboard.press("Enter");
  await ended(ben, /outside the chat · .*“a second opinion first”/).waitFor();
  await row(page, "Refund Ben").locator('[data-mark="new"]').waitFor();
  await t.shot(page, "decided");
  await accessible(page, "decided");
  for (const said of [/^Refund: Approved at/, /^New in “Refund Anna”$/, /^Refund: Rejected at/, /^New in “Refund Ben”$/]) {
    await eventually(async () => assert.match((await page.evaluate(() => window.heard)).join("\n"), new RegExp(said, "m")));
  }
  await anna.getByRole("button", { name: "Open chat" }).click();
  await answer(page, "Anna has her money.");
  await counts(row(page, "Refund Anna").locator("[data-mark]"), 0, "what is read is not new");
  await shows(decision(page), OUTSIDE);
  await page.setViewportSize({ width: 1000, height: 700 });
  await t.shot(page, "medium");
  await row(page, "Refund Ben").locator(".thread").first().click();
  await page.locator("#inbox").waitFor({ state: "hidden" }); // where it is over the conversation it gives way to it
  await answer(page, "Ben has to wait.");
}

/** The open chat's own call, decided in the inbox: its cards settle in time, here and in another tab, and the answer streams in. */
export async function builtinInboxHere(t) {
  await t.script(calls("I'll refund it.", refund()), says("You have it back."), calls("I'll pack it.", call("pack_order", { seconds: 0.1 })), says("It is packed."));
  const page = await open(t);
  await say(page, `Refund ten cents (${t.label})`);
  await page.locator(".rows .card").waitFor();
  const thread = threadOf(page);
  const other = await t.tab(page);
  await other.locator(".rows .card").waitFor();
  await openInbox(other, thread);
  await page.bringToFront();
  await openInbox(page, thread);
  await shows(item(page, thread), /this chat/);
  await t.shot(page, "open");
  await item(page, thread).getByRole("button", { name: "Approve" }).click();
  await page.locator(".rows .card").waitFor({ state: "detached" });
  await answer(page, "You have it back.");
  await toolsAre(page, ["refund:done"]);
  await shows(decision(page), OUTSIDE);
  await other.bringToFront();
  await ended(item(other, thread), DECIDED).waitFor();
  await other.locator(".rows .card").waitFor({ state: "detached" });
  await answer(other, "You have it back.");
  await say(other, "And pack it");
  await other.locator(".rows .card").waitFor();
  const second = item(other, thread, 1);
  await expand(second);
  await second.locator(".card").waitFor();
  await other.locator(".rows .card").getByRole("button", { name: "Approve" }).click();
  await ended(second, new RegExp(`^Approved at ${CLOCK}, in the chat · `)).waitFor();
  await answer(other, "It is packed.");
  await t.shot(other, "settled");
}

/** Changed before it is approved: what ran is what was changed, and the item says so. */
export async function builtinInboxEdit(t) {
  const thread = await waiting(t, "Refund Carla", calls("I'll refund it.", refund()));
  const page = await open(t);
  await openInbox(page, thread);
  await t.script(says("Carla has a part of it."));
  await item(page, thread).getByRole("button", { name: "Edit" }).click();
  await page.locator(".inbox .field input").fill("0,05");
  await t.shot(page, "edit");
  await accessible(page, "edit");
  await page.locator(".inbox .field input").press("Enter");
  await ended(item(page, thread), /outside the chat · .*Amount 0.10 € → 0.05 €/).waitFor();
  await row(page, "Refund Carla").locator('[data-mark="new"]').first().waitFor();
}

/** What begins to wait in another chat, and what is decided elsewhere, is there at once, and under nobody's finger: the page follows, and asks for the list much later. */
export async function builtinFollowed(t) {
  const page = await open(t);
  await page.addInitScript(() => {
    const usual = window.setTimeout;
    window.setTimeout = (act, ms, ...more) => (ms === 20_000 ? 0 : usual(act, ms, ...more)); // it never asks by itself
  });
  await page.reload();
  await page.locator(".welcome").waitFor();
  const thread = await waiting(t, "Refund Zoe", calls("I'll refund it.", refund()));
  const waits = row(page, "Refund Zoe").locator(".thread-waits");
  await waits.waitFor();
  await row(page, "Refund Zoe").locator(".thread-title").hover();
  await page.mouse.down();
  await waiting(t, "Refund Ada", calls("I'll refund it.", refund()));
  await row(page, "Refund Ada").locator(".thread-waits").waitFor();
  await page.mouse.up();
  await page.locator(".rows .card").waitFor(); // a click is one, also where the list has changed before it ends
  const count = await page.locator("#inbox-open").textContent();
  assert.match(count, /^\d+ waiting$/);
  await decide(t, page, { approved: false }, { thread });
  await waits.waitFor({ state: "detached" });
  await becomes(async () => (await page.locator("#inbox-open").textContent()) !== count, true);
}

/** Two calls of one chat: the conversation goes on once both are decided; until then the item says what it waits for. */
export async function builtinInboxTwo(t) {
  const thread = await waiting(t, "Refund twins", calls("Both.", refund("1001", 1), refund("1002", 2)));
  const page = await open(t);
  await page.locator("#inbox-open").click();
  await expand(item(page, thread));
  await expand(item(page, thread, 1));
  await item(page, thread, 1).locator(".card").waitFor();
  const again = (button) => button.dispatchEvent(new MouseEvent("click", { detail: 2, bubbles: true, cancelable: true }));
  await item(page, thread, 1).getByRole("button", { name: "Approve" }).evaluate(again); // it moved under the pointer
  await item(page, thread).getByRole("button", { name: "Approve" }).evaluate(doubleClick);
  await item(page, thread).getByText(/Another call on this thread is still pending\./).waitFor();
  await counts(item(page, thread, 1).locator(".card"), 1, "the second click of a double click decides nothing else");
  await t.script(says("Both are settled."));
  await item(page, thread, 1).getByRole("button", { name: "Reject" }).click();
  await page.keyboard.press("Enter");
  await row(page, "Refund twins").locator('[data-mark="new"]').first().waitFor();
  await page.getByText("Nothing else is waiting").or(page.locator("#inbox-title")).first().waitFor();
}

/** Both clicks of a double click, where the first one was aimed at; nothing can happen in between. Runs in the page. */
function doubleClick(button) {
  button.scrollIntoView({ block: "nearest" });
  const { left, top, width, height } = button.getBoundingClientRect();
  const at = (root) => {
    const element = root.elementFromPoint(left + width / 2, top + height / 2);
    return element.shadowRoot ? at(element.shadowRoot) : element;
  };
  const click = (detail) => at(document).dispatchEvent(new MouseEvent("click", { detail, bubbles: true, cancelable: true }));
  [1, 2].forEach(click);
}

/** Two tabs at the same moment, and one that could not notice: each says what is true. */
export async function builtinInboxLate(t) {
  const [raced, stale] = [await waiting(t, "Refund Rita", calls("I'll refund it.", refund())), await waiting(t, "Refund Stan", calls("I'll refund it.", refund()))];
  await t.script(says("That is settled."), says("That is settled too."));
  const [first, second] = [await open(t), await open(t)];
  for (const page of [first, second]) {
    page.allow(/409/);
    await page.bringToFront();
    await openInbox(page, raced, stale);
    for (const thread of [raced, stale]) await item(page, thread).locator(".card").waitFor();
    await noticesNothing(page);
  }
  await together(/\/approvals\/[^?/]+$/, first, second);
  const approve = (page, thread) => item(page, thread).locator(".card .primary").evaluate((button) => button.click());
  for (const page of [first, second]) await approve(page, raced);
  const said = [];
  for (const page of [first, second]) {
    await page.bringToFront();
    await ended(item(page, raced), "outside the chat").waitFor();
    said.push(await textOf(item(page, raced).locator(".inbox-state")));
  }
  const late = new RegExp(`^Already approved at ${CLOCK}, outside the chat.*\\. Your answer came too late and changed nothing\\.$`);
  assert.equal(said.filter((line) => OUTSIDE.test(line)).length, 1, said.join(" | "));
  assert.equal(said.filter((line) => late.test(line)).length, 1, said.join(" | "));
  await first.bringToFront();
  await approve(first, stale);
  await ended(item(first, stale), DECIDED).waitFor();
  await second.bringToFront();
  await item(second, stale).getByRole("button", { name: "Reject" }).click();
  await second.keyboard.press("Enter");
  await ended(item(second, stale), late).waitFor();
  await t.shot(second, "late");
  await accessible(second, "late");
  for (const thread of [raced, stale]) await wentOn(t, thread, "That is settled");
}

/** While the open chat is at work: another chat's call is decided, and then one of its own, which waits for its turn. */
export async function builtinInboxBusy(t) {
  const thread = await waiting(t, "Refund Olga", calls("I'll refund it.", refund()));
  const pack = call("pack_order", { seconds: 60 });
  await t.script(calls("Two things.", pack, refund("1002", 1)), says("Olga has her money."), says("Both are settled."));
  const page = await open(t);
  page.allow(/409/); // the page's own run may find the thread busy with the decision
  await say(page, `Pack it, and refund (${t.label})`);
  await page.locator(".rows .card").nth(1).waitFor();
  const own = threadOf(page);
  await openInbox(page, thread, own);
  await expand(item(page, own, 1));
  await item(page, own, 1).locator(".card").waitFor();
  await page.locator(".rows .card").first().getByRole("button", { name: "Approve" }).click();
  await page.click("#batch-send");
  await page.locator('.rows .tool[data-status="running"]').first().waitFor();
  await item(page, thread).getByRole("button", { name: "Approve" }).click();
  await ended(item(page, thread), "outside the chat").waitFor();
  await wentOn(t, thread, "Olga has her money."); // else this chat would be told that
  await page.locator('.rows .tool[data-status="running"]').first().waitFor(); // it is still at work
  await item(page, own, 1).getByRole("button", { name: "Approve" }).click();
  await item(page, own, 1).locator(".inbox-state", { hasText: "Sending" }).waitFor();
  await t.finish();
  await ended(item(page, own, 1), "outside the chat").waitFor();
  await answer(page, "Both are settled.");
  await toolsAre(page, ["pack_order:done", "refund:done"]);
  await row(page, "Refund Olga").locator('[data-mark="new"]').first().waitFor();
}

/** It is five minutes later. Runs in the page. */
function later() {
  const now = Date.now;
  Date.now = () => now() + 300_000;
}

/** What goes wrong is said in a clear sentence, and nothing that was typed is lost. */
export async function builtinInboxProblems(t) {
  const thread = await waiting(t, "Refund Paul", calls("I'll refund it.", refund()));
  const gone = await waiting(t, "Refund Gone", calls("I'll refund it.", refund()));
  const page = await open(t);
  const overdue = await waiting(t, "Take it back", calls("I'll take it back.", call("take_back", {}))); // within five minutes
  await openInbox(page, overdue, thread, gone);
  await item(page, overdue).locator(".expiry").filter({ hasText: /^Expires in \d:\d\d$/ }).last().waitFor();
  page.allow(/403|404|409|410|503|ERR_/);
  const paul = item(page, thread);
  page.allow(/422/);
  await page.route("**/approvals/apr*", (route) => (route.request().method() === "POST" ? route.fulfill({ status: 422, json: { error: { code: "approval_refused", message: "The tool has changed." } } }) : route.continue()));
  await paul.getByRole("button", { name: "Approve" }).click();
  await paul.getByRole("alert").filter({ hasText: /^The tool has changed\.$/ }).waitFor();
  await page.unroute("**/approvals/apr*");
  await t.shot(page, "refused");
  await accessible(page, "refused");
  await page.evaluate(later);
  await item(page, overdue).locator(".inbox-state").filter({ hasText: "Expired" }).waitFor({ state: "attached" });
  assert.equal((await fetch(`${t.urls.server}/threads/${gone}`, { method: "DELETE" })).status, 200);
  await item(page, gone).getByText(/as this chat was deleted/).waitFor();
  await t.stop("server");
  await paul.getByRole("button", { name: "Reject" }).click();
  await paul.getByLabel("Reason (optional)").fill("no receipt");
  await page.keyboard.press("Enter");
  await paul.getByRole("alert").filter({ hasText: "The server can't be reached." }).waitFor();
  await t.shot(page, "away");
  await t.start("server");
  await t.script(says("Left alone."));
  await paul.getByRole("button", { name: "Reject" }).click(); // the reason is still there
  await ended(paul, "“no receipt”").waitFor();
  await t.shot(page, "settled");
  await wentOn(t, thread, "Left alone.");
}

/** Thirty calls, long arguments and hidden characters on a phone: nothing is cut off, and nothing moves sideways. */
export async function builtinInboxNarrow(t) {
  const long = "This is a long letter. ".repeat(60);
  const mail = call("send_email", { to: "Ben", subject: "Your \u202edednufer\u202c order", body: `${long}${"x".repeat(200)}` });
  const thread = await waiting(t, "Refund everybody", calls("All of them.", mail, ...Array.from({ length: 29 }, (_, at) => refund("1003", 0.01 + at / 100))));
  const page = await open(t, { viewport: { width: 390, height: 780 }, deviceScaleFactor: 2, colorScheme: "dark", hasTouch: true });
  await page.locator("#inbox-open").filter({ hasText: /^30 waiting$/ }).click();
  await item(page, thread, 29).waitFor();
  const first = item(page, thread);
  await expand(first);
  await first.locator(".card").waitFor();
  await shows(first.locator(".card"), /Your ⟦U\+202E⟧dednufer⟦U\+202C⟧ order.*x{200}/);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "no sideways scrolling");
  assert.ok(await page.evaluate(() => document.querySelector(".inbox-scroll").scrollWidth <= innerWidth), "nor in the list");
  assert.ok(await page.evaluate(() => document.querySelector("#main").inert), "what is behind can't be reached");
  await t.shot(page, "long");
  await accessible(page, "narrow dark inbox");
  await first.locator(".line-button").click();
  await page.locator(".inbox-scroll").evaluate((node) => (node.scrollTop = 0));
  await t.shot(page, "many");
  const second = item(page, thread, 1);
  await expand(second);
  await second.getByRole("button", { name: "Approve" }).scrollIntoViewIfNeeded();
  await t.shot(page, "card");
  await second.getByRole("button", { name: "Approve" }).tap();
  await ended(second, "outside the chat").waitFor();
  await t.shot(page, "decided");
  await page.keyboard.press("Escape");
  await page.locator("#inbox").waitFor({ state: "hidden" });
  await becomes(() => focused(page), "inbox-open");
  await page.click("#menu");
  await page.getByRole("button", { name: /^Waiting for you \(\d+\)$/ }).click();
  await item(page, thread, 28).waitFor();
  await expand(item(page, thread));
  await item(page, thread).getByRole("button", { name: "Open chat" }).click();
  await page.locator(".rows .card").first().waitFor();
  await page.locator("#inbox").waitFor({ state: "hidden" }); // it gives way to the chat
}
