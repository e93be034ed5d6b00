/** The conversation goes on, or waits to, after something was decided elsewhere (T6). */

import assert from "node:assert/strict";
import { accessible } from "../axe.mjs";
import { becomes, counts } from "../eventually.mjs";
import { calls, refund, says } from "../stage.mjs";
import { decide } from "./told.mjs";

/** Decided elsewhere without "continue": the chat says that the assistant has not read it, and goes on when asked to. */
export async function unread(t) {
  await t.script(calls("I'll refund it.", refund()), says("Now I know."));
  const page = await t.open();
  await t.say(page, "Refund ten cents of order 1003");
  await t.card(page).waitFor();
  await t.idle(page);
  await counts(page.getByTestId("unread"), 0);
  await decide(t, page, "refund", { approved: true });
  const row = page.getByTestId("unread");
  await row.waitFor();
  await becomes(() => row.textContent(), "The assistant has not read this yet.Go on");
  await t.shot(page, "told");
  await accessible(page, "not read yet");
  await page.reload();
  await row.waitFor();
  await row.getByRole("button", { name: "Go on" }).dblclick();
  await t.answered(page, "Now I know.");
  await counts(row, 0);
  await t.chipsAre(page, ["refund:done"]);
  await becomes(() => t.userMessages(page), 1);
}

/** Another client lets it go on, and is done before this page looks again: the answer is shown all the same. */
export async function goneOn(t) {
  await t.script(calls("I'll refund it.", refund()), says("Somebody asked me to go on."));
  const page = await t.open();
  await t.say(page, "Refund ten cents of order 1003");
  await t.card(page).waitFor();
  await t.idle(page);
  await decide(t, page, "refund", { approved: true });
  const row = page.getByTestId("unread");
  await row.waitFor();
  await goOn(t, page);
  await t.answered(page, "Somebody asked me to go on.");
  await counts(row, 0);
  await t.chipsAre(page, ["refund:done"]);
}

/** Another client lets it go on, and is done, while this page is being told how the conversation stands: it looks once more. */
export async function goneOnMeanwhile(t) {
  await t.script(calls("I'll refund it.", refund()), says("It went on meanwhile."));
  const page = await t.open();
  await t.say(page, "Refund ten cents of order 1003");
  await t.card(page).waitFor();
  await t.idle(page);
  let decided;
  const late = async (route) => {
    const response = await route.fetch(); // how it stands before it goes on
    await decided; // the page may have seen it before it was over, and no run begins before that
    await goOn(t, page);
    await route.fulfill({ response });
  };
  await page.route(readsConversation, late, { times: 1 });
  decided = decide(t, page, "refund", { approved: true });
  await decided;
  await t.answered(page, "It went on meanwhile.");
  await t.chipsAre(page, ["refund:done"]);
  await counts(page.getByTestId("unread"), 0);
}

/** Whether a request asks for the whole conversation, over any connection. */
const readsConversation = (url) => /\/connect$|\/threads\/[^/?]+$/.test(url.href);

/** Another client's run on the page's chat, to its end. */
async function goOn(t, page) {
  const threadId = new URL(page.url()).hash.slice(3);
  const { messages } = await (await fetch(`${t.urls.server}/threads/${threadId}`)).json();
  const body = { threadId, runId: `on-${threadId}`, messages, tools: [], context: [], state: {}, forwardedProps: {} };
  const run = await fetch(`${t.urls.server}/agents/support`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  assert.match(await run.text(), /RUN_FINISHED/);
}

/** What comes from elsewhere is in sight for who was at the end of the chat; who reads further up is left there. */
export async function staysAtEnd(t) {
  const long = Array.from({ length: 30 }, (_, at) => `Paragraph ${at} of a long answer.`).join("\n\n");
  await t.script(says(long), calls("I'll refund it.", refund()), says(`It was refunded.\n\n${long}\n\nThat is the end.`), calls("Once more.", refund("1002")), says(`Again.\n\n${long}\n\nThe very end.`));
  const page = await t.open();
  const isInSight = (text) =>
    page.waitForFunction((wanted) => {
      const last = [...document.querySelectorAll('[data-testid="copilot-assistant-message"] p')].findLast((each) => each.textContent.includes(wanted));
      return last && last.getBoundingClientRect().bottom <= document.querySelector('[data-testid="copilot-input-overlay"]').getBoundingClientRect().top;
    }, text);
  await t.say(page, "Tell me a lot");
  await t.answered(page, "Paragraph 29");
  await t.say(page, "Refund ten cents of order 1003");
  await t.card(page).waitFor();
  await t.idle(page);
  await decide(t, page, "refund", { approved: true, continue: true });
  await t.answered(page, "That is the end.");
  await isInSight("That is the end.");
  await t.shot(page, "end");
  await t.rests(page);
  await t.say(page, "Once more");
  await t.card(page).waitFor();
  await t.idle(page);
  await page.getByTestId("copilot-scroll-content").hover();
  await page.mouse.wheel(0, -1500);
  await page.getByTestId("copilot-scroll-to-bottom").waitFor();
  const at = () => page.getByTestId("copilot-scroll-content").evaluate((node) => Math.round(node.getBoundingClientRect().top));
  const before = await atRest(page, at);
  await decide(t, page, "refund", { approved: true, continue: true });
  await t.answered(page, "The very end.");
  await becomes(() => at(), before);
}

/** What `read` says once it has said the same for ten frames: a wheel's way takes some. */
async function atRest(page, read) {
  let [now, since] = [await read(), 0];
  while (since < 10) {
    await page.evaluate(() => new Promise(requestAnimationFrame));
    const next = await read();
    [now, since] = [next, next === now ? since + 1 : 0];
  }
  return now;
}
