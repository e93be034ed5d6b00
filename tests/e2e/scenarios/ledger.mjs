/** The built-in page shows the ledger's word: decided elsewhere, late, edited, replaced, hidden in the text. */

import assert from "node:assert/strict";
import { accessible } from "../axe.mjs";
import { CLOCK, answer, decide, decision, done, focusIs, isPatient, open, say, threadOf, toolsAre, type, watched } from "../builtin.mjs";
import { becomes, counts, eventually, shows, together } from "../eventually.mjs";
import { ended, item, noticesNothing, openInbox, waiting } from "../inbox.mjs";
import { call, calls, refund, says } from "../stage.mjs";

const TURN = calls("I'll refund it.", refund());

/** Decided without any page, with an edit: open pages settle by themselves, and see the conversation go on. */
export async function builtinElsewhere(t) {
  await t.script(TURN, says("Refunded, as somebody else decided."));
  const first = await open(t);
  await say(first, "Refund ten cents of order 1003");
  await first.locator(".card").waitFor();
  const second = await t.tab(first);
  await second.locator(".card").waitFor();
  const { run } = await decide(t, first, { approved: true, edited_arguments: { order_id: "1003", amount: 0.05 }, continue: true });
  assert.ok(run.key);
  for (const page of [second, first]) {
    await page.bringToFront();
    await answer(page, "as somebody else decided");
    await toolsAre(page, ["refund:done"]);
    await counts(page.locator(".card"), 0);
    await shows(decision(page), new RegExp(`^Approved at ${CLOCK}, outside the chat · Amount 0\\.10 € → 0\\.05 €$`));
  }
  await t.shot(first, "settled");
  await first.reload();
  await done(first);
  await shows(decision(first), new RegExp(`^Approved at ${CLOCK}, outside the chat · Amount 0\\.10 € → 0\\.05 €$`));
  await first.locator(".tool-line > summary").click();
  await shows(first.locator(".tool-body .arguments"), /Amount0\.05 €was 0\.10 €/);
  await t.shot(first, "edited");
  await accessible(first, "an edited call");
}

/** Approved elsewhere, then rejected in a tab that could not notice: the tab says what is true. */
export async function builtinLate(t) {
  await t.script(TURN, says("It was refunded."));
  const page = await open(t);
  page.allow(/503/);
  await page.route("**/threads/*view=calls", (route) => route.fulfill({ status: 503, json: { error: { code: "unavailable", message: "…" } } }));
  await say(page, "Refund ten cents of order 1003");
  await page.locator(".card").waitFor();
  await decide(t, page, { approved: true });
  await page.getByRole("button", { name: "Reject" }).click();
  await page.keyboard.press("Enter");
  await answer(page, "It was refunded.");
  await toolsAre(page, ["refund:done"]);
  const late = new RegExp(`^Already approved at ${CLOCK}, outside the chat\\. Your answer came too late and changed nothing\\.$`);
  await shows(decision(page), late);
  await t.shot(page, "late");
}

/** Decided elsewhere while the reason is being typed: what was typed is not sent, and the page says why. */
export async function builtinOvertaken(t) {
  await t.script(TURN, says("It was refunded."));
  const page = await open(t);
  await say(page, "Refund ten cents of order 1003");
  await page.getByRole("button", { name: "Reject" }).click();
  await page.keyboard.type("too much");
  await decide(t, page, { approved: true });
  await toolsAre(page, ["refund:done"]);
  const told = new RegExp(`^Already approved at ${CLOCK}, outside the chat\\. What you were about to answer was not sent\\.$`);
  await shows(decision(page), told);
  await focusIs(page, "summary", "the focus is where the card was");
  await page.keyboard.type(" for this");
  await becomes(() => page.inputValue("#input"), "", "what is typed on does not become a message");
  await t.shot(page, "overtaken");
  await page.waitForFunction(() => !document.querySelector("[aria-current] .thread-waits"));
  await accessible(page, "overtaken");
  await page.getByRole("button", { name: "Go on" }).click();
  await answer(page, "It was refunded.");
  await counts(page.locator(".unread"), 0);
}

/** A run may be over before the page is drawn again: an answer from here is never told as one that was not sent. */
export async function builtinBetweenFrames(t) {
  await t.script(TURN, says("I left it alone."));
  const page = await open(t);
  await say(page, "Refund ten cents of order 1003");
  await page.getByRole("button", { name: "Reject" }).click();
  await page.keyboard.type("too much");
  await page.evaluate(() => {
    const [draw, held] = [requestAnimationFrame, []];
    window.requestAnimationFrame = (frame) => held.push(frame);
    window.drawAgain = () => {
      window.requestAnimationFrame = draw;
      for (const frame of held) draw(frame);
    };
  });
  const over = new Promise((resolve) => {
    let answered = false;
    page.on("requestfinished", (request) => {
      if (request.method() === "POST") answered = true;
      else if (answered && request.url().endsWith("view=calls")) resolve();
    });
  });
  await page.keyboard.press("Enter");
  await over;
  await page.evaluate(() => window.drawAgain());
  await answer(page, "I left it alone.");
  await shows(decision(page), new RegExp(`^Rejected at ${CLOCK}, in the chat · “too much”$`));
}

/** Where people have names, the page says who it was. */
export async function builtinNamed(t) {
  await t.script(TURN, says("Refunded for Alice."));
  const page = await open(t, {}, t.urls.guarded);
  page.allow(/401/);
  await page.locator("#token").fill("wonderland");
  await page.locator("#token").press("Enter");
  await page.locator("#token-dialog").waitFor({ state: "hidden" });
  await say(page, "Refund ten cents of order 1003");
  await page.getByRole("button", { name: "Approve" }).click();
  await answer(page, "Refunded for Alice.");
  await shows(decision(page), new RegExp(`^Approved by alice at ${CLOCK}, in the chat$`));
  const headers = { authorization: "Bearer wonderland" };
  const thread = await waiting(t, "Refund once more", TURN, { server: t.urls.guarded, headers });
  await openInbox(page, thread);
  await item(page, thread).locator(".card").waitFor();
  await noticesNothing(page);
  page.allow(/409/);
  await decide(t, page, { approved: true }, { server: t.urls.guarded, headers, thread });
  await item(page, thread).getByRole("button", { name: "Reject" }).click();
  await page.keyboard.press("Enter");
  const late = new RegExp(`^Already approved by alice at ${CLOCK}, outside the chat · .*\\. Your answer came too late and changed nothing\\.$`);
  await ended(item(page, thread), late).waitFor();
}

/** Another answer doesn't undo what ran: the page asks first, keeps it in sight, and the next card says so. */
export async function builtinTryAgain(t) {
  await t.script(TURN, says("Refunded."), TURN, says("Refunded again."));
  const page = await open(t);
  await say(page, "Refund ten cents of order 1003");
  await page.getByRole("button", { name: "Approve" }).click();
  await answer(page, "Refunded.");
  await shows(decision(page), /^Approved at/); // it is known by now that something ran
  const again = page.getByRole("button", { name: "Try again" });
  await again.click();
  const dialog = page.getByRole("dialog");
  await shows(dialog, new RegExp(`Calls that ran stay done.*Refund · 1003 · 0\\.10 € · ran at ${CLOCK}`));
  await accessible(page, "try again");
  await t.shot(page, "asked");
  await becomes(() => page.evaluate(() => document.activeElement.textContent), "Keep this answer");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await becomes(() => page.evaluate(() => document.activeElement.textContent), "Try again", "the focus is back");
  await toolsAre(page, ["refund:done"]);
  await again.click();
  await dialog.getByRole("button", { name: "Try again" }).click();
  await page.locator(".card").waitFor();
  const earlier = new RegExp(`The very same already ran in this chat:1003 · 0\\.10 € · ran at ${CLOCK}, in an answer that was replaced`);
  await shows(page.locator(".card"), earlier);
  const kept = "Ran in an answer that was replaced. What it did stays done.";
  await toolsAre(page, ["refund:done", "refund:waiting"]);
  await page.getByText(kept).waitFor();
  await t.shot(page, "card");
  await accessible(page, "a second card");
  await page.reload();
  await shows(page.locator(".card"), earlier);
  await toolsAre(page, ["refund:done", "refund:waiting"]);
  await shows(decision(page), new RegExp(`^Approved at ${CLOCK}, in the chat$`));
  await page.getByRole("button", { name: "Reject" }).click();
  await page.keyboard.press("Enter");
  await answer(page, "Refunded again.");
  await toolsAre(page, ["refund:done", "refund:rejected"]);
  await counts(page.getByText(kept), 1);
  await counts(page.getByText("Already ran in this thread"), 0, "said once, in the page's own words");
}

/** One says yes and one says no, at the same moment: both pages end with the same, which is what the ledger has. */
export async function builtinRace(t) {
  await t.script(TURN, says("That is settled."), says("That was settled."));
  const first = await open(t);
  first.allow(/409/); // the thread is busy with the other answer: the page tries again by itself
  await say(first, "Refund ten cents of order 1003");
  await first.locator(".card").waitFor();
  const second = await t.tab(first);
  second.allow(/409/);
  await second.getByRole("button", { name: "Reject" }).click();
  await together(/\/agents\/\w+$/, first, second);
  await first.locator(".card .primary").evaluate((button) => button.click());
  await second.locator(".card form").evaluate((form) => form.requestSubmit());
  const { calls: records } = await settled(t, first);
  const status = { done: "refund:done", rejected: "refund:rejected" }[records[0].state];
  for (const page of [first, second]) {
    await page.bringToFront();
    await answer(page, "settled.");
    await toolsAre(page, [status]);
    await shows(decision(page), records[0].decision.approved ? /pproved at/ : /ejected at/);
  }
}

async function settled(t, page) {
  const url = `${t.urls.server}/threads/${threadOf(page)}?view=calls`;
  return eventually(async () => {
    const thread = await (await fetch(url)).json();
    assert.ok(thread.calls[0].decision, "nobody decided");
    assert.notEqual(thread.run.status, "running");
    return thread;
  });
}

/** What was approved elsewhere and takes its time is shown as running, and can't be answered meanwhile. */
export async function builtinSlow(t) {
  await t.script(calls("I'll pack it.", call("pack_order", { seconds: 60 })), says("Packed."));
  const page = await open(t);
  await say(page, "Pack it");
  await page.locator(".card").waitFor();
  const decided = decide(t, page, { approved: true, continue: true });
  await page.locator('.tool[data-status="running"]').waitFor();
  await counts(page.locator(".card"), 0);
  await shows(decision(page), new RegExp(`^Approved at ${CLOCK}, outside the chat$`));
  await t.finish();
  await decided;
  await answer(page, "Packed.");
  await toolsAre(page, ["pack_order:done"]);
}

/** Another tab goes on without an answer: the card here is closed, and what was said there is here. */
export async function builtinMovedOn(t) {
  await t.script(TURN, says("Never mind then."));
  const first = await open(t);
  await say(first, "Refund ten cents of order 1003");
  await first.locator(".card").waitFor();
  const second = await t.tab(first);
  await second.locator(".card").waitFor();
  await say(second, "Never mind");
  await second.bringToFront();
  await first.bringToFront();
  await answer(first, "Never mind then.");
  await toolsAre(first, [t.style === "card" ? "refund:superseded" : "refund:stopped"]);
  await counts(first.locator(".user"), 2);
}

/** The chat is deleted elsewhere while no card is open: the page says so by itself, and what is said next begins another chat. */
export async function builtinGone(t) {
  await t.script(says("Hello."), says("Hello to you."), says("A new beginning."));
  const page = await open(t);
  page.allow(/404/);
  const looks = await watched(page, /view=calls/);
  await say(page, `Good morning (${t.label})`);
  await answer(page, "Hello.");
  const first = threadOf(page);
  const remove = async (id) => assert.equal((await fetch(`${t.urls.server}/threads/${id}`, { method: "DELETE" })).status, 200);
  await remove(first);
  await page.getByText("This chat was deleted.").waitFor();
  await t.shot(page, "told");
  await say(page, "Good morning again");
  await answer(page, "Hello to you.");
  const second = threadOf(page);
  assert.notEqual(second, first);
  const said = await looks.hold(); // the page can't know before that
  await remove(second);
  await isPatient(page);
  await type(page, "Are you still there?");
  said();
  await page.getByText("This chat was deleted.").waitFor();
  await becomes(() => page.inputValue("#input"), "Are you still there?", "nothing that was typed is lost");
  await page.keyboard.press("Enter");
  await answer(page, "A new beginning.");
  for (const id of [first, second]) assert.equal((await fetch(`${t.urls.server}/threads/${id}`)).status, 404, "nothing comes back under an old id");
}

/** One of two is decided here, and the other one elsewhere: what was decided here goes out then. */
export async function builtinHalf(t) {
  await t.script(calls("Two things.", refund(), call("archive_order", { order_id: "1003" })), says("Both are settled."));
  const page = await open(t);
  const looks = await watched(page, /view=calls/);
  await say(page, "Do two things");
  await page.locator(".card").nth(1).waitFor();
  await page.locator(".card").first().getByRole("button", { name: "Reject" }).click();
  await page.keyboard.press("Enter");
  await page.locator(".card-line", { hasText: "Will reject" }).waitFor();
  const said = await looks.hold(); // the page doesn't know while the thread is still busy with the other decision
  await decide(t, page, { approved: true, continue: true }, { tool: "archive_order" });
  await t.rests(page);
  said();
  await answer(page, "Both are settled.");
  await toolsAre(page, ["refund:rejected", "archive_order:done"]);
}
