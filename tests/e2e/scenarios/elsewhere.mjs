/** Decided in another tab, or without any page. */

import { drawn } from "../browser.mjs";
import { becomes, counts } from "../eventually.mjs";
import { call, calls, refund, says } from "../stage.mjs";
import { blind, decide } from "./told.mjs";

const REAL_TURN = calls("I'll refund it.", refund());

/** What one tab decides, the other one notices, by itself or when one comes back to it: its card settles, and the answer is there too. */
export async function twoTabs(t) {
  await t.script(REAL_TURN, says("Refunded once."));
  const first = await t.open();
  await t.say(first, "Refund ten cents of order 1003");
  await t.card(first).waitFor();
  await t.idle(first);
  const second = await t.tab(first);
  await t.card(second).waitFor();
  await t.idle(second);
  await second.fill('[data-testid="copilot-chat-textarea"]', "half a thought");
  await t.press(first, "Approve");
  await t.answered(first, "Refunded once.");
  await t.answered(second, "Refunded once.");
  await t.chipsAre(second, ["refund:done"]);
  await counts(t.card(second), 0);
  await becomes(() => t.userMessages(second), 1);
  await counts(second.getByText("I'll refund it."), 1);
  await becomes(() => second.inputValue('[data-testid="copilot-chat-textarea"]'), "half a thought");
  await t.shot(second, "second");
  await t.rests(second);
  await t.script(says("Both can go on."));
  await t.say(second, "And now?");
  await t.answered(second, "Both can go on.");
}

/** Decided without any page (`POST /approvals/{id}`, as the command line does): the card settles, what was typed in it is told as not sent, and the chat goes on. */
export async function decidedElsewhere(t) {
  await t.script(REAL_TURN, says("It was refunded, as you can see."));
  const page = await t.open();
  await t.say(page, "Refund ten cents of order 1003");
  await t.card(page).waitFor();
  await t.idle(page);
  await t.press(page, "Edit");
  await page.keyboard.type("0.05");
  await decide(t, page, "refund", { approved: true });
  await t.chipsAre(page, ["refund:done"]);
  await counts(t.card(page), 0);
  const said = t.style === "card" ? page.getByTestId("gate-decision") : page.getByTestId("chip-decided");
  await said.filter({ hasText: /^Already approved .*\. What you were about to answer was not sent\.$/ }).waitFor();
  await t.shot(page, "settled");
  await t.say(page, "What happened?");
  await t.answered(page, "It was refunded, as you can see.");
  await t.chipsAre(page, ["refund:done"]);
}

/** One of two decided here (which goes out with the other one), the other one elsewhere: what was decided here stays. */
export async function halfDecided(t) {
  await t.script(calls("Two things.", refund(), call("archive_order", { order_id: "1003" })), says("Both are settled."));
  const page = await t.open();
  await t.say(page, "Do two things");
  await t.card(page, "refund").waitFor();
  await t.idle(page);
  await t.press(page, "Reject", "refund");
  await page.keyboard.press("Enter");
  await t.card(page, "archive_order").waitFor();
  await decide(t, page, "archive_order", { approved: true });
  // The last open one is settled: what was decided here goes out with it.
  await t.answered(page, "Both are settled.");
  await t.chipsAre(page, ["refund:rejected", "archive_order:done"]);
  await t.shot(page, "half");
}

/** The other one is decided elsewhere and takes its time: what was decided here waits for it, and goes out by itself. */
export async function halfAtWork(t) {
  await t.script(calls("Two things.", refund(), call("pack_order", { seconds: 60 })), says("Both are settled."));
  const page = await t.open();
  await t.say(page, "Do two things");
  await t.card(page, "refund").waitFor();
  await t.idle(page);
  await t.press(page, "Reject", "refund");
  await page.keyboard.press("Enter");
  await t.card(page, "pack_order").waitFor();
  const decided = decide(t, page, "pack_order", { approved: true });
  await page.getByTestId("gate-decision").filter({ hasText: /it is running$/ }).waitFor();
  await looksAgain(page);
  await t.finish();
  await decided;
  await t.answered(page, "Both are settled.");
  await t.chipsAre(page, ["refund:rejected", "pack_order:done"]);
}

/** The page has read the records once more, and drawn what it knows. */
export async function looksAgain(page) {
  const read = page.waitForResponse(/[?&]view=calls/);
  await (await read).finished();
  await drawn(page);
}

/** Answered before the other tab could notice: the late answer gets what was decided, and nothing runs twice. */
export async function lateAnswer(t) {
  await t.script(REAL_TURN, says("Refunded once."), says("It was refunded before."));
  const first = await t.open();
  await t.say(first, "Refund ten cents of order 1003");
  await t.card(first).waitFor();
  await t.idle(first);
  const second = await t.tab(first);
  await t.card(second).waitFor();
  await t.idle(second);
  await blind(second);
  await t.press(first, "Approve");
  await t.answered(first, "Refunded once.");
  const late = second.waitForResponse((response) => response.request().method() === "POST" && /\/(run|agents\/support)$/.test(response.url()));
  await t.press(second, "Approve");
  await (await late).finished();
  await t.idle(second);
  await second.reload();
  await t.answered(second, "Refunded once.");
  await t.chipsAre(second, ["refund:done"]);
}
