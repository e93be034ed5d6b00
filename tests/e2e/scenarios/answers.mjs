/** An answer that is not complete says so, at once and after a reload; one that is merely left goes on. */

import { atRest, open, say } from "../builtin.mjs";
import { becomes, counts, shows } from "../eventually.mjs";
import { says } from "../stage.mjs";

const WORDS = ["I **look ", "up the ", ...Array.from({ length: 2000 }, (_, at) => `word${at} `)];
const slowly = { output: [{ type: "message", deltas: WORDS, text: WORDS.join("") }], fault: { kind: "slow", ms: 150 } };
const broken = { ...says("I **look up the order, and then I will tell what it says."), fault: { kind: "failed", after_events: 8, code: "server_error", message: "The model had an accident." } };
const few = ["I look ", "up ", ...Array.from({ length: 30 }, () => "and on "), "to the end."];
const leisurely = { output: [{ type: "message", deltas: few, text: few.join("") }], fault: { kind: "slow", ms: 150 } };
const CUT = /^This answer was cut off before it was complete\.$/;
const FAILED = /agent|HTTP|RUN_ERROR|provider/i;

export async function builtinCutOff(t) {
  await t.script(slowly, broken);
  const page = await open(t);
  await say(page, "Where is order 1002?");
  await page.getByText("word1 ").waitFor();
  await page.click("#send");
  await page.locator(".notice.stopped").waitFor();
  await t.rests(page);
  await t.shot(page, "stopped");
  await counts(page.locator(".prose strong"), 1, "half markdown is closed");
  await page.reload();
  await shows(page.locator(".row.cut"), CUT);
  await counts(page.locator(".prose strong"), 1);
  await becomes(async () => (await page.locator(".prose").textContent()).includes("**"), false);
  await t.shot(page, "stopped-reloaded");
  page.allow(FAILED);
  await say(page, "Again");
  await page.locator(".notice").waitFor();
  await t.shot(page, "broken");
  await page.reload();
  await counts(page.locator(".row.cut"), 2);
  await t.shot(page, "broken-reloaded");
}

export async function cutOff(t) {
  await t.script(slowly, broken);
  const page = await t.open();
  await t.say(page, "Where is order 1002?");
  await page.getByText("word1 ").waitFor();
  await page.click('[data-testid="copilot-send-button"]');
  await t.idle(page);
  await shows(page.getByTestId("cut"), CUT);
  await t.shot(page, "stopped");
  await t.rests(page);
  await page.reload();
  await shows(page.getByTestId("cut"), CUT);
  await t.shot(page, "stopped-reloaded");
  page.allow(FAILED);
  await t.say(page, "Again");
  await t.banner(page).waitFor();
  await t.idle(page);
  await counts(page.getByTestId("cut"), 2);
  await t.shot(page, "broken");
  await page.reload();
  await counts(page.getByTestId("cut"), 2);
  await t.shot(page, "broken-reloaded");
}

/** A reload in the middle of an answer is no stop: it comes to its end, and is whole. */
export async function builtinLeft(t) {
  await t.script(leisurely);
  const page = await open(t);
  await say(page, "Where is order 1002?");
  await page.getByText("I look up").waitFor();
  await page.reload();
  await page.getByText("to the end.").waitFor();
  await counts(page.locator(".row.cut"), 0);
  await counts(page.locator(".prose"), 1);
  await atRest(page);
  await becomes(() => page.locator(".thread-title").allTextContents(), ["Where is order 1002?"]);
  await t.shot(page, "whole");
}

export async function left(t) {
  await t.script(leisurely);
  const page = await t.open();
  await t.say(page, "Where is order 1002?");
  await page.getByText("I look up").waitFor();
  await page.reload();
  await page.getByText("to the end.").waitFor();
  await t.idle(page);
  await counts(page.getByTestId("cut"), 0);
  await counts(page.locator('[data-testid="copilot-assistant-message"]'), 1);
  await t.shot(page, "whole");
}
