/** Decided in another tab, or without any page. */

import assert from "node:assert/strict";
import { calls, refund, says } from "../stage.mjs";

const REAL_TURN = calls("I'll refund it.", refund());

/** What one tab decides, the other one notices by itself: its card settles, and the answer is there too. */
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
  assert.equal(await t.card(second).count(), 0);
  assert.equal(await t.userMessages(second), 1);
  assert.equal(await second.getByText("I'll refund it.").count(), 1);
  assert.equal(await second.inputValue('[data-testid="copilot-chat-textarea"]'), "half a thought");
  await t.shot(second, "second");
  await t.script(says("Both can go on."));
  await t.say(second, "And now?");
  await t.answered(second, "Both can go on.");
}

/** Decided without any page (`POST /approvals/{id}`, as the command line does): the card settles, and the chat goes on. */
export async function decidedElsewhere(t) {
  await t.script(REAL_TURN, says("It was refunded, as you can see."));
  const page = await t.open();
  await t.say(page, "Refund ten cents of order 1003");
  await t.card(page).waitFor();
  await t.idle(page);
  const thread = new URL(page.url()).hash.slice(3);
  const { approvals } = await (await fetch(`${t.urls.server}/approvals`)).json();
  const { id } = approvals.find(({ thread_id }) => thread_id === thread);
  const answer = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ approved: true }) };
  assert.equal((await fetch(`${t.urls.server}/approvals/${id}`, answer)).status, 200);
  await t.chipsAre(page, ["refund:done"]);
  assert.equal(await t.card(page).count(), 0);
  await t.shot(page, "settled");
  await t.say(page, "What happened?");
  await t.answered(page, "It was refunded, as you can see.");
  await t.chipsAre(page, ["refund:done"]);
}

/** Answered before the other tab could notice: the late answer gets what was decided, and nothing runs twice. */
export async function lateAnswer(t) {
  await t.script(REAL_TURN, says("Refunded once."), says("It was refunded before."));
  const first = await t.open();
  await t.say(first, "Refund ten cents of order 1003");
  await t.card(first).waitFor();
  await t.idle(first);
  const second = await t.tab(first);
  await second.route("**/approvals", (route) => route.fulfill({ status: 204 })); // it doesn't notice
  await t.card(second).waitFor();
  await t.press(first, "Approve");
  await t.answered(first, "Refunded once.");
  await t.press(second, "Approve");
  await second.waitForFunction(() => !document.querySelector('[data-testid="gate-card"]'));
  await t.idle(second);
  await second.reload();
  await t.answered(second, "Refunded once.");
  await t.chipsAre(second, ["refund:done"]);
}
