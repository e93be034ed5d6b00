/** Talk: stopping, long answers, many turns, several threads. */

import assert from "node:assert/strict";
import { becomes, counts, shows } from "../eventually.mjs";
import { longFrames } from "../frames.mjs";
import { call, calls, refund, says } from "../stage.mjs";

const WORDS = Array.from({ length: 4000 }, (_, at) => `word${at} `);
const slowly = (turn, ms) => ({ ...turn, fault: { kind: "slow", ms } });
const streamed = (deltas) => ({ output: [{ type: "message", deltas, text: deltas.join("") }] });
const stop = (page) => page.click('[data-testid="copilot-send-button"]');

export async function stopText(t) {
  await t.script(slowly(streamed(WORDS), 150), says("Back again."));
  const page = await t.open();
  await t.say(page, "Tell me a long story");
  await page.getByText("word5 ").waitFor();
  await stop(page);
  await t.idle(page);
  assert.ok(!(await page.textContent("main")).includes("word3999"));
  await shows(page.getByTestId("cut"), /cut off before it was complete/);
  await t.shot(page, "stopped");
  await t.rests(page);
  await t.say(page, "And now?");
  await t.answered(page, "Back again.");
  await counts(t.banner(page), 0, "stopping is no error");
  await counts(page.getByTestId("cut"), 1);
}

/** An example chosen before the page knows its agents is said once it does: the agent until then is another one, which goes. */
export async function saidEarly(t) {
  await t.script(says("It is on its way."));
  const page = await t.open();
  let release;
  const isReleased = new Promise((resolve) => (release = resolve));
  await page.route("**/copilotkit/info", (route) => isReleased.then(() => route.continue()));
  await page.reload();
  const example = page.locator(".example").first();
  const text = (await example.innerText()).trim();
  await example.click();
  release();
  await t.answered(page, "It is on its way.");
  await becomes(() => page.getByTestId("copilot-user-message").allInnerTexts().then((all) => all.map((one) => one.trim())), [text]);
}

/** From here on the page's next run is held until its stop was answered; what is returned waits for that, and lets it go. */
async function overtaken(page) {
  const isStop = (url) => /\/stop\//.test(url.pathname);
  let release;
  const isReleased = new Promise((resolve) => (release = resolve));
  await page.route(/\/run$/, (route) => isReleased.then(() => route.continue()), { times: 1 });
  const answered = page.waitForResponse((response) => isStop(new URL(response.url())));
  return async () => {
    assert.equal((await (await answered).json()).stopped, false);
    release();
  };
}

/** Stopped before there was a word of an answer, and while it was thought about: said at once, and after a reload. */
export async function stopThought(t) {
  const nothing = { ...says("Never said."), fault: { kind: "hang", after_events: 1 }, when: { user: "nothing" }, repeat: true };
  const thought = { output: [{ type: "reasoning", summary: [WORDS.join("")] }], when: { user: "Think" } };
  await t.script(nothing, slowly(thought, 50), { ...says("Back again."), when: { user: "now" } });
  const page = await t.open();
  const release = await overtaken(page); // the stop arrives before what it stops
  await t.say(page, "Tell me nothing");
  await page.locator('[data-testid="copilot-send-button"][aria-label="Stop"]').waitFor();
  await stop(page);
  await release();
  await shows(page.getByTestId("cut"), /Stopped before there was an answer/);
  await page.reload();
  await shows(page.getByTestId("cut"), /Stopped before there was an answer/);
  await t.rests(page);
  await t.say(page, "Think");
  await page.getByText("word5 ").waitFor();
  await stop(page);
  await shows(page.getByTestId("cut"), /cut off before it was complete/);
  await page.reload();
  await shows(page.getByTestId("cut"), /cut off before it was complete/);
  await t.shot(page, "reloaded");
  await t.rests(page);
  await t.say(page, "And now?");
  await t.answered(page, "Back again.");
  await counts(page.getByTestId("cut"), 1);
}

export async function stopTool(t) {
  await t.script(calls("Counting.", call("stock_report", { seconds: 60 })), says("Let's not count."));
  const page = await t.open();
  await t.say(page, "Count the stock");
  await t.chipsAre(page, ["stock_report:running"]);
  await page.getByRole("progressbar", { name: "Shelves" }).waitFor();
  await shows(page.getByTestId("activity"), /1 of 3/);
  await t.shot(page, "running");
  await stop(page);
  await t.idle(page);
  await t.chipsAre(page, ["stock_report:stopped"]);
  await t.rests(page);
  await t.say(page, "Never mind");
  await t.answered(page, "Let's not count.");
  await t.chipsAre(page, ["stock_report:stopped"]);
}

/** An approval, then a tool of the page, then a stop: after each the chat can go on. */
export async function approvesThenStops(t) {
  const dark = calls("Done, and dark.", call("set_theme", { theme: "dark" }));
  await t.script(calls("I'll refund it.", refund()), dark, calls("Counting.", call("stock_report", { seconds: 60 })), says("Where were we?"));
  const page = await t.open();
  await t.say(page, "Refund ten cents of order 1003, then count");
  await t.press(page, "Approve");
  await page.waitForSelector("html.dark", { state: "attached" });
  await t.chipsAre(page, ["refund:done", "set_theme:done", "stock_report:running"]);
  await stop(page);
  await t.idle(page);
  await t.chipsAre(page, ["refund:done", "set_theme:done", "stock_report:stopped"]);
  await t.rests(page);
  await t.say(page, "And now?");
  await t.answered(page, "Where were we?");
  await counts(t.banner(page), 0);
}

export async function twoThreads(t) {
  const turn = (word) => ({ ...slowly(streamed(Array.from({ length: 40 }, () => `${word} `).concat(`${word}-end`)), 20), when: { user: word } });
  await t.script(turn("apple"), turn("pear"));
  const first = await t.open();
  const second = await t.open();
  await Promise.all([t.say(first, "apple"), t.say(second, "pear")]);
  await Promise.all([t.answered(first, "apple-end"), t.answered(second, "pear-end")]);
  for (const [page, other] of [[first, "pear"], [second, "apple"]]) {
    assert.ok(!(await page.textContent('[data-testid="copilot-chat"]')).includes(other));
  }
}

/** Two thousand pieces: all of them arrive, and frames don't take longer than 200 ms, but for one garbage collection. */
export async function longAnswer(t) {
  const deltas = Array.from({ length: 2000 }, (_, at) => (at % 40 === 39 ? `w${at}.\n\n` : `w${at} `));
  await t.script(streamed(deltas));
  const page = await t.open();
  await page.waitForSelector(".welcome");
  const long = await longFrames(page, async () => {
    await t.say(page, "Everything, please");
    await t.answered(page, "w1999.");
  });
  assert.ok(long.length <= 1, `frames longer than 200 ms: ${long}`);
  const text = () => page.locator('[data-testid="copilot-assistant-message"]').last().textContent();
  await becomes(async () => (await text()).match(/w\d+/g), deltas.map((_, at) => `w${at}`));
}

/** Twenty turns with a tool each: nothing is there twice, nothing is stuck, and a reload brings back the same. */
export async function twentyTurns(t) {
  const page = await t.open();
  await t.script(...Array.from({ length: 20 }, (_, at) => [
    calls(`Looking, ${at}.`, call("get_order", { order_id: "1002" })),
    says(`Answer ${at}.`),
  ]).flat());
  for (let at = 0; at < 20; at += 1) {
    await t.say(page, `Question ${at}?`);
    await t.answered(page, `Answer ${at}.`);
  }
  const whole = Array.from({ length: 20 }, (_, at) => [`Question ${at}?`, `Looking, ${at}.`, "get_order:done", `Answer ${at}.`]).flat();
  await becomes(() => everything(page), whole);
  await page.reload();
  await t.answered(page, "Answer 19.");
  await becomes(() => everything(page), whole);
}

/**
 * All that the chat shows, in order: questions, answers, chips with their status. A long chat keeps only the rows near
 * the screen in the document, by their number; so scroll until there is none left that was not seen.
 */
async function everything(page) {
  await page.mouse.move(700, 400);
  await page.mouse.wheel(0, -300); // as a person: the chat stops following its end
  const rows = await page.evaluate(collect);
  assert.ok(rows.length > 60 && rows.every(Boolean), `rows that were never seen: ${rows.flatMap((row, at) => (row ? [] : [at]))}`);
  return rows.flat();
}

/** Every row of the list, at its number. Runs in the page. */
async function collect() {
  const list = document.querySelector('[data-testid="copilot-message-list"]');
  let scroller = list;
  while (scroller.scrollHeight <= scroller.clientHeight || !/auto|scroll/.test(getComputedStyle(scroller).overflowY)) scroller = scroller.parentElement;
  const text = (node) => node.textContent.match(/Looking, \d+\.|Answer \d+\.|Question \d+\?/g) ?? [];
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const drawn = async () => {
    await frame();
    await frame();
    const written = () => [...list.querySelectorAll('[data-testid="copilot-assistant-message"]')].every((message) => text(message).length > 0);
    for (let tries = 0; tries < 100 && !written(); tries += 1) await frame(); // text comes later than its row
  };
  const rows = [];
  const read = () => {
    for (const row of list.querySelectorAll("[data-index]")) {
      const chips = [...row.querySelectorAll('[data-testid="tool-chip"]')].map((chip) => `${chip.dataset.tool}:${chip.dataset.status}`);
      rows[row.dataset.index] = [...text(row), ...chips];
    }
  };
  for (let tries = 0; tries < 100 && !list.querySelector('[data-index="0"]'); tries += 1) {
    scroller.scrollTop = 0; // again and again: until the wheel is noticed, the chat goes back to its end
    await drawn();
  }
  for (let moves = 0; moves < 300; moves += 1) {
    await drawn();
    read();
    if (scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - 2) break; // rows measure themselves as they appear, so the end moves
    scroller.scrollTop += scroller.clientHeight / 2;
  }
  return Array.from(rows, (row) => row ?? null);
}

/** Regenerate, usage, the thread list, a new chat and the way back. */
export async function threads(t) {
  await t.script(says("First try."), says("Second try."), says("More of it."), says("Third try."));
  const page = await t.open();
  await t.say(page, `A question for the list (${t.label})`);
  await t.answered(page, "First try.");
  await shows(page.getByTestId("usage"), /tokens in/);
  await page.click('[data-testid="copilot-regenerate-button"]');
  await t.answered(page, "Second try.");
  await counts(page.getByText("First try."), 0);
  await shows(page.getByTestId("usage"), /out · this chat: [\d,]+ tokens/); // what was taken back was used, too
  await becomes(() => t.userMessages(page), 1);
  await t.shot(page, "usage");
  await t.say(page, "More");
  await t.answered(page, "More of it.");
  await page.locator('[data-testid="copilot-regenerate-button"]').first().click(); // of the first answer: what came after goes too
  await t.answered(page, "Third try.");
  await becomes(() => t.userMessages(page), 1);
  const mine = t.thread(page, `A question for the list (${t.label})`);
  await mine.waitFor();
  await page.getByRole("button", { name: "New chat" }).first().click();
  await page.waitForSelector(".welcome");
  await mine.click();
  await t.answered(page, "Third try.");
  await shows(page.getByTestId("usage"), /this chat: [\d,]+ tokens/); // by the server, which keeps it
  await page.goBack();
  await page.waitForSelector(".welcome");
  await t.shot(page, "new");
}

/** What CopilotKit's client asks for suggestions, through its Node runtime and through the server's own routes: no thread. */
export async function suggestions(t) {
  const bases = { runtime: `${t.urls.runtime}/api/copilotkit`, direct: `${t.urls.server}/copilotkit` };
  const idea = call("copilotkitSuggest", { suggestions: [{ title: "Refund it", message: "Refund order 1003" }] });
  await t.script({ output: [idea] });
  const id = `suggestion-${t.label}`;
  const body = {
    threadId: id,
    runId: "r",
    messages: [{ id: "s", role: "user", content: "Suggest what the user could say next." }],
    tools: [{ name: "copilotkitSuggest", description: "Suggest", parameters: { type: "object", properties: {} } }],
    context: [],
    state: {},
    forwardedProps: { toolChoice: { type: "function", function: { name: "copilotkitSuggest" } } },
  };
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  const answer = await fetch(`${bases[t.via]}/agent/support/suggest`, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await answer.text();
  assert.match(text, /copilotkitSuggest/);
  assert.match(text, /RUN_FINISHED/);
  assert.equal((await fetch(`${t.urls.server}/threads/${id}`)).status, 404);
  const { body: sent } = (await t.journal()).at(-1);
  assert.deepEqual(sent.tools.map(({ name }) => name), ["copilotkitSuggest"]);
}
