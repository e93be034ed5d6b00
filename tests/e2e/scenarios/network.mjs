/** The server is killed, or can't be reached: what was said and decided is neither lost nor told as something else. */

import assert from "node:assert/strict";
import { answer, atRest, decision, open, say, threadOf, toolsAre } from "../builtin.mjs";
import { drawn } from "../browser.mjs";
import { becomes, counts, shows } from "../eventually.mjs";
import { isClaimed } from "../inbox.mjs";
import { call, calls, refund, says } from "../stage.mjs";
import { decide } from "./told.mjs";

const AWAY = /ERR_|Failed to fetch|network error|agent|connect|CopilotKit/i;
const WORDS = Array.from({ length: 4000 }, (_, at) => `word${at} `);
const STORY = { output: [{ type: "message", deltas: WORDS, text: WORDS.join("") }], fault: { kind: "slow", ms: 150 } };

/** Killed while it answers, and back: it never kept what was said, so the page does, and Retry says it again. */
export async function builtinKilled(t) {
  await t.script(STORY);
  const page = await open(t);
  page.allow(AWAY);
  await say(page, "Tell me a story");
  await page.getByText("word5 ").waitFor();
  await t.kill("server");
  await broke(page);
  await t.script(says("Once upon a time."));
  await t.start("server");
  await comesBack(page);
  await counts(page.getByText("word5 "), 0, "the page has read what the server has");
  await becomes(() => page.locator(".user").allTextContents().then(String), "Tell me a story");
  await t.shot(page, "kept");
  await page.getByRole("button", { name: "Retry" }).click();
  await answer(page, "Once upon a time.");
  await counts(page.locator(".user"), 1);
}

/**
 * Killed while an approved tool runs: as long as nobody knows more, the page says what was answered, and asks nothing anew. Once the
 * server is back it is told that the run was lost, once, also to who opens the chat then, and that the call may have taken effect.
 */
export async function builtinKilledAtWork(t) {
  await t.script(calls("I'll pack it.", call("pack_order", { seconds: 60 })), says("I don't know whether it is packed."));
  const page = await open(t);
  page.allow(AWAY);
  await say(page, "Pack it");
  await page.getByRole("button", { name: "Approve" }).click();
  await toolsAre(page, ["pack_order:running"]);
  await isClaimed(t, threadOf(page));
  await t.kill("server");
  await broke(page);
  await page.locator(".card-line", { hasText: "Will approve" }).waitFor();
  await counts(page.getByRole("button", { name: "Approve" }), 0);
  await t.shot(page, "away");
  await t.start("server");
  await comesBack(page);
  await toldAsLost(page);
  await page.reload();
  await toldAsLost(page);
  await t.shot(page, "lost");
  await page.getByRole("button", { name: "Go on" }).click();
  await answer(page, "I don't know whether it is packed.");
  await toolsAre(page, ["pack_order:unknown"]);
}

async function toldAsLost(page) {
  await shows(decision(page), /^Approved at/);
  await toolsAre(page, ["pack_order:unknown"]);
  await becomes(() => page.locator(".notice-code").allTextContents().then(String), "interrupted");
  await shows(page.locator(".notice-what"), LOST);
  await counts(page.getByRole("button", { name: "Retry" }), 0);
}

/** The same on the CopilotKit page. */
export async function killed(t) {
  await t.script(STORY);
  const page = await t.open();
  page.allow(AWAY);
  page.allow(/^unhandled: $/); // the client leaves the broken stream's error to nobody as well
  await t.say(page, "Tell me a story");
  await page.getByText("word5 ").waitFor();
  await t.kill("server");
  await t.banner(page).waitFor();
  await t.idle(page);
  await t.script(says("Once upon a time."));
  await t.start("server");
  await t.shot(page, "back");
  await page.getByRole("button", { name: "Try again" }).click();
  await t.answered(page, "Once upon a time.");
  await counts(page.getByText("word5 "), 0, "the half answer is gone");
  await becomes(() => t.userMessages(page), 1);
  await counts(t.banner(page), 0);
}

/** Killed while an approved tool runs, and back: who opens the chat is told, once, that the run was lost, and it goes on when asked to. */
export async function killedAtWork(t) {
  await t.script(calls("I'll pack it.", call("pack_order", { seconds: 60 })), says("I don't know whether it is packed."));
  const page = await t.open();
  page.allow(AWAY);
  page.allow(/^unhandled: $/);
  await t.say(page, "Pack it");
  await t.card(page).waitFor();
  await t.idle(page);
  await t.press(page, "Approve");
  await isClaimed(t, new URL(page.url()).hash.slice(3));
  await t.kill("server");
  await t.idle(page);
  await t.start("server");
  await page.reload();
  const banner = t.banner(page, "interrupted");
  await shows(banner, LOST);
  await t.idle(page);
  await t.chipsAre(page, ["pack_order:unknown"]); // the server settles it by itself
  await counts(page.getByText("it is running"), 0);
  await counts(page.getByTestId("cut"), 0, "what was said is whole");
  await drawn(page);
  await counts(page.getByTestId("unread"), 0, "it is told once");
  await counts(t.banner(page), 1);
  await t.shot(page, "left");
  await banner.getByRole("button", { name: "Go on" }).click();
  await t.answered(page, "I don't know whether it is packed.");
  await t.chipsAre(page, ["pack_order:unknown"]);
  await counts(t.banner(page), 0);
  await becomes(() => t.userMessages(page), 1);
}

/** A message never left, and then something else happened in the chat, which is read again: the message stays, and so does how to send it. */
export async function saidToNobody(t) {
  await t.script(calls("I'll refund it.", refund()), says("It was refunded, and I hurry."));
  const page = await t.open();
  await t.say(page, "Refund ten cents of order 1003");
  await t.card(page).waitFor();
  await t.idle(page);
  page.allow(AWAY);
  await page.route(/\/run$|\/agents\/support$/, (route) => route.abort("connectionrefused"));
  await t.say(page, "And hurry");
  await t.banner(page, "network").waitFor();
  await t.idle(page);
  await page.unroute(/\/run$|\/agents\/support$/);
  await decide(t, page, "refund", { approved: true });
  await t.banner(page, "incomplete").waitFor();
  await t.chipsAre(page, ["refund:done"]);
  await becomes(() => t.userMessages(page), 2);
  await t.shot(page, "kept");
  await page.getByRole("button", { name: "Try again" }).click();
  await t.answered(page, "It was refunded, and I hurry.");
  await becomes(() => t.userMessages(page), 2);
}

const LOST = /^The server process that ran this was lost\./;

/** The person comes back to the page: it looks at once, else as seldom as it has got used to with a server that is away. */
const comesBack = (page) => page.evaluate(() => dispatchEvent(new Event("focus")));

const broke = (page) => page.locator(".notice-code", { hasText: "incomplete" }).waitFor({ state: "attached" });
