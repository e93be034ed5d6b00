/** Things go wrong: the page says what happened and what to do, and goes on without a reload. */

import assert from "node:assert/strict";
import { drawn } from "../browser.mjs";
import { becomes, counts } from "../eventually.mjs";
import { call, calls, refund, says } from "../stage.mjs";

const REFUSED = /Failed to load resource|HTTP \d|Runtime (info|answered)|agent|connect|fetch|CopilotKit|ERR_/i;

/** The provider breaks off in the middle: a readable error, and the next message works. */
export async function providerFails(t) {
  const broken = { ...says("This will never be complete, whatever happens to it."), fault: { kind: "failed", after_events: 6, code: "server_error", message: "The model had an accident." } };
  await t.script(broken, says("Fine again."));
  const page = await t.open();
  page.allow(REFUSED);
  const end = await withoutEnd(page, '"Try"');
  await t.say(page, "Try");
  await t.banner(page).waitFor();
  assert.ok((await t.banner(page).textContent()).length > 30);
  await t.shot(page, "banner");
  await t.script(says("Whole this time."), broken);
  await page.getByRole("button", { name: "Try again" }).click(); // which counts as soon as the run has ended
  await end();
  await t.answered(page, "Whole this time.");
  await counts(page.getByText("This will"), 0, "the half answer is gone");
  await becomes(() => t.userMessages(page), 1);
  await t.say(page, "Once more");
  await t.banner(page).waitFor();
  await t.script(says("Fine again."));
  await t.say(page, "Again");
  await t.answered(page, "Fine again.");
  await counts(t.banner(page), 0, "the next message takes the banner away");
}

/** The answer to `said` has everything but its end, until what this returns is called. */
async function withoutEnd(page, said) {
  await page.evaluate((text) => {
    const send = window.fetch;
    const isOver = new Promise((resolve) => (window.endAnswer = resolve));
    window.fetch = async (...request) => {
      const response = await send(...request);
      const isAnswer = String(request[1]?.body).includes(text) && response.ok;
      return isAnswer ? new Response(response.body.pipeThrough(new TransformStream({ flush: () => isOver })), response) : response;
    };
  }, said);
  return () => page.evaluate(() => window.endAnswer());
}

export async function serverAway(t) {
  await t.script(says("Welcome back."));
  const page = await t.open();
  page.allow(REFUSED);
  await page.getByTestId("copilot-chat-textarea").fill("Anybody there?");
  await page.locator('[data-testid="copilot-send-button"]:enabled').waitFor(); // the chat has found its agent, and takes messages
  await t.stop("server");
  await t.send(page);
  await t.banner(page).waitFor();
  await t.shot(page, "banner");
  await t.idle(page);
  await t.start("server");
  await page.getByRole("button", { name: "Try again" }).click();
  await t.answered(page, "Welcome back.");
  await counts(t.banner(page), 0);
  await becomes(() => t.userMessages(page), 1, "what was said is not lost");
}

/** A server that wants a token: asked for at the start and when it isn't good any more; then everything works. */
export async function guarded(t) {
  if (t.via === "runtime") await t.start("guarded runtime");
  await t.script(calls("I'll refund it.", refund()), says("Refunded for Alice."), says("Alice again."));
  const page = await t.open({ server: t.urls.guarded });
  page.allow(REFUSED);
  await t.banner(page, "unauthorized").waitFor();
  await t.shot(page, "token");
  const refused = page.waitForResponse((response) => response.status() === 401 && /looking-glass/.test(response.request().headers().authorization));
  await page.fill("input[name=token]", "looking-glass");
  await page.keyboard.press("Enter");
  await refused;
  await page.fill("input[name=token]", "wonderland");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".welcome");
  await t.say(page, "Refund ten cents of order 1003");
  await t.press(page, "Approve");
  await t.answered(page, "Refunded for Alice.");

  const refuse = (route) => route.continue({ headers: { ...route.request().headers(), authorization: "Bearer worn-out" } });
  await page.route(/agents|copilotkit/, refuse);
  const late = t.via === "direct" ? await refusedLate(page, refuse) : null;
  await t.say(page, "Are you still there?");
  await t.banner(page, "unauthorized").waitFor();
  await t.shot(page, "banner");
  await page.unroute(/agents|copilotkit/);
  await t.idle(page);
  await late?.();
  await page.fill("input[name=token]", "wonderland");
  await page.keyboard.press("Enter");
  await t.answered(page, "Alice again.");
  await counts(t.banner(page), 0);
  await becomes(() => t.userMessages(page), 2, "what was said went out by itself, once");
  if (t.via === "runtime") await t.stop("guarded runtime");
}

/** What the client asks after a failure is refused late. Once that is asked, what this returns has the refusal arrive before what is sent next. */
async function refusedLate(page, refuse) {
  const asked = page.waitForRequest(/\/info$/);
  const refused = page.waitForResponse(/\/info$/);
  let release;
  let isOver = false;
  const isReleased = new Promise((resolve) => (release = resolve));
  const hold = async (route) => {
    if (isOver) return route.continue();
    await isReleased;
    isOver = true;
    await refuse(route);
  };
  const overtake = async (route) => {
    release();
    await (await refused).finished();
    await drawn(page);
    await route.continue();
  };
  await page.route(/\/info$/, hold);
  return async () => {
    await asked;
    await page.route("**/run", overtake, { times: 1 });
  };
}

/** More than the server takes: told, taken back, and the conversation goes on. */
export async function tooLarge(t) {
  await t.script(says("Go ahead."), says("Short enough."));
  const page = await t.open();
  page.allow(REFUSED);
  await t.say(page, "May I?");
  await t.answered(page, "Go ahead.");
  await t.say(page, "x".repeat(70_000));
  await t.banner(page, "too_large").waitFor();
  await t.shot(page, "banner");
  await t.idle(page);
  await page.getByRole("button", { name: "Take it back" }).click();
  await t.say(page, "In short");
  await t.answered(page, "Short enough.");
  await counts(t.banner(page), 0);
  await becomes(() => t.userMessages(page), 2);
}

/** Two tabs write to one thread at once: the later one is told that it is busy, and can go on afterwards. */
export async function busy(t) {
  await t.script(calls("Counting.", call("stock_report", { seconds: 120 })), says("There are 42."), says("Your turn."), says("Both are through."));
  const first = await t.open();
  await first.waitForSelector(".welcome");
  const others = first.context().pages(); // those that are parked may read something, too
  const read = first.context().waitForEvent("requestfinished", (request) => /\/connect$/.test(request.url()) && !others.includes(request.frame().page()));
  const second = await t.tab(first);
  second.allow(REFUSED);
  await read; // else it would read what the first one says, and wait for its end
  await drawn(second);
  await t.idle(second);
  await t.say(first, "Start");
  await t.chipsAre(first, ["stock_report:running"]);
  await t.say(second, "Me too");
  await t.banner(second, t.via === "runtime" ? "no_answer" : "thread_busy").waitFor(); // the runtime just ends the stream
  await t.shot(second, "banner");
  await t.finish();
  await t.answered(first, "There are 42.");
  await t.rests(first);
  await t.idle(second);
  await second.getByRole("button", { name: "Try again" }).click();
  await t.answered(second, "Your turn.");
  await counts(t.banner(second), 0);
  await t.rests(second);
  await t.say(first, "And now?");
  await t.answered(first, "Both are through.");
}

/** A stream that just ends (a proxy that gave up, say). */
export async function cutStream(t) {
  await t.script(says("Whole again."));
  const page = await t.open();
  page.allow(REFUSED);
  await page.waitForSelector(".welcome");
  const events = [
    { type: "RUN_STARTED", threadId: new URL(page.url()).hash.slice(3), runId: "r" },
    { type: "TEXT_MESSAGE_START", messageId: "cut-1", role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "cut-1", delta: "Half an ans" },
  ];
  const pattern = t.via === "browser" ? "**/agents/support" : "**/run";
  await page.route(pattern, (route) => route.fulfill({ contentType: "text/event-stream", body: events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("") }));
  await t.say(page, "Go");
  await t.banner(page, "incomplete").waitFor();
  await t.shot(page, "banner");
  await page.unroute(pattern);
  await t.say(page, "Again");
  await t.answered(page, "Whole again.");
}

/** The runtime's address is wrong: told, and another connection works at once, for the same conversation. */
export async function wrongAddress(t) {
  await t.script(says("Right address."));
  const page = await t.openUrl(t.address().replace(encodeURIComponent("/api/copilotkit"), encodeURIComponent("/api/nothing")));
  page.allow(REFUSED);
  await t.banner(page, "wrong_address").waitFor();
  await t.shot(page, "banner");
  await page.locator("select[aria-label=Connection]:visible").selectOption("direct");
  await page.waitForSelector(".welcome");
  await counts(t.banner(page), 0);
  await t.say(page, "Hello?");
  await t.answered(page, "Right address.");
}

/** Nothing can be decided any more: by the page's clock, then by the server's word, which takes the card away. */
const isOver = (page) => page.waitForFunction(() => {
    const card = document.querySelector(".gate-card")?.shadowRoot;
    return /Expired/.test(`${document.querySelector("main")?.textContent}${card?.textContent}`) && !card?.querySelector("button:enabled");
  });

/** Nobody answers in time: the card says so and can't be used any more, and the chat goes on. */
export async function expired(t) {
  await t.script(calls("I'll close the shop.", { type: "function_call", name: "close_shop", arguments: {} }), says("It stays open."));
  const page = await t.open();
  await t.say(page, "Close the shop");
  await isOver(page);
  await t.chipsAre(page, ["close_shop:expired"]);
  await t.shot(page, "card");
  await t.say(page, "And now?");
  await t.answered(page, "It stays open.");
  await t.chipsAre(page, ["close_shop:expired"]);
}

/** One of two is decided, the other one expires: what was decided counts. */
export async function halfExpired(t) {
  await t.script(calls("Two things.", refund(), { type: "function_call", name: "close_shop", arguments: {} }), says("One of them is done."));
  const page = await t.open();
  await t.say(page, "Do two things");
  await t.press(page, "Approve", "refund"); // the answers go out together, as soon as there is nothing left to wait for
  await t.answered(page, "One of them is done.");
  await t.chipsAre(page, ["refund:done", "close_shop:expired"]);
  await t.shot(page, "done");
}
