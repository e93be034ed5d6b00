/** Pages tell what the server's ledger says, whoever clicked what where (T4, T6). */

import assert from "node:assert/strict";
import { accessible } from "../axe.mjs";
import { drawn, quiet } from "../browser.mjs";
import { becomes, counts, shows, textOf } from "../eventually.mjs";
import { call, calls, refund, says } from "../stage.mjs";
import { AT } from "../waiting.mjs";

const REAL_TURN = calls("I'll refund it.", refund());
const HERE = ", in the chat";

const line = (page) => page.getByTestId("gate-decision");
const thread = (page) => new URL(page.url()).hash.slice(3);

const looks = (url) => url.searchParams.get("view") === "calls";

/** A tab that doesn't notice anything by itself, until what this returns is called. */
export async function blind(page, answer = { status: 204 }) {
  await page.route(looks, (route) => route.fulfill(answer));
  await quiet(page); // what it asked before could tell it still
  return () => page.unroute(looks);
}

/** A tab that waits for the records that it asks for, until what this returns is called. */
async function slow(page) {
  let release;
  const isReleased = new Promise((resolve) => (release = resolve));
  await page.route(looks, async (route) => {
    await isReleased;
    await route.continue();
  });
  return release;
}

/** It sees again once its next run is on its way: what it answers was answered before it could know. */
const seesAfterwards = (t, page, see) =>
  page.route(t.via === "browser" ? "**/agents/support" : "**/run", async (route) => {
    await see();
    await route.continue();
  });

/** `POST /approvals/{id}` for the call of `tool` that waits in the page's thread. */
export async function decide(t, page, tool, decision) {
  const { approvals } = await (await fetch(`${t.urls.server}/approvals`)).json();
  const { id } = approvals.find((waiting) => waiting.thread_id === thread(page) && waiting.tool === tool);
  const answer = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(decision) };
  const response = await fetch(`${t.urls.server}/approvals/${id}`, answer);
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
}

async function asked(t, page) {
  await t.say(page, "Refund ten cents of order 1003");
  await t.card(page).waitFor();
  await t.idle(page);
}

/** The records can't be read from this page, but its runs come through: what they say of a late answer is enough. */
export async function toldInTheRun(t) {
  await t.script(REAL_TURN, says("It was refunded."));
  const page = await t.open();
  await asked(t, page);
  page.allow(/503/);
  await blind(page, { status: 503, json: { error: { code: "unavailable", message: "…" } } });
  await decide(t, page, "refund", { approved: true });
  await t.press(page, "Reject");
  await page.keyboard.press("Enter");
  await t.answered(page, "It was refunded.");
  const said = t.style === "card" ? line(page) : page.getByTestId("chip-decided");
  await said.filter({ hasText: /^Already approved .*\. Your answer came too late and changed nothing\.$/ }).waitFor();
}

/** Approved in one tab, rejected in another one that didn't know: the page says what is true, not what was clicked. */
export async function staleReject(t) {
  await t.script(REAL_TURN, says("Refunded once."), says("It was refunded before."));
  const first = await t.open();
  await asked(t, first);
  const second = await t.tab(first);
  await t.card(second).waitFor();
  await t.idle(second);
  const see = await blind(second);
  await t.press(first, "Approve");
  await t.answered(first, "Refunded once.");
  await seesAfterwards(t, second, see);
  await t.press(second, "Reject");
  await second.keyboard.press("Enter");
  const said = t.style === "card" ? line(second) : second.getByTestId("chip-decided");
  await said.filter({ hasText: new RegExp(`^Already approved ${AT}${HERE}(?: ·.*)?\\. Your answer came too late and changed nothing\\.$`) }).waitFor();
  await t.answered(second, "Refunded once.");
  await t.idle(second);
  await t.chipsAre(second, ["refund:done"]);
  await counts(second.getByText("You rejected"), 0);
  await t.shot(second, "late");
  await second.reload();
  await said.filter({ hasText: new RegExp(`^Approved ${AT}${HERE}`) }).waitFor();
  await t.chipsAre(second, ["refund:done"]);
}

/** Both tabs answer at once, and the later answer meets the other one's run: it isn't lost in an error, what is true is shown. */
export async function raced(t) {
  await t.script(REAL_TURN, says("Refunded once."));
  const first = await t.open();
  await asked(t, first);
  const second = await t.tab(first);
  second.allow(/409|Agent execution failed/);
  await t.card(second).waitFor();
  await t.idle(second);
  const see = await blind(second);
  const busy = { error: { code: "thread_busy", message: "Another run is active on this thread." } };
  await second.route(t.via === "browser" ? "**/agents/support" : "**/run", (route) => route.fulfill({ status: 409, json: busy }));
  await t.press(second, "Reject");
  await second.keyboard.press("Enter");
  await t.banner(second, "thread_busy").waitFor();
  await t.press(first, "Approve");
  await t.answered(first, "Refunded once.");
  await see();
  await t.answered(second, "Refunded once.");
  const said = t.style === "card" ? line(second) : second.getByTestId("chip-decided");
  await said.filter({ hasText: new RegExp(`^Already approved ${AT}`) }).waitFor();
  await counts(t.banner(second), 0);
}

/** An edit: what ran, what was asked for, when and how it was decided; now, after a reload and in another tab. */
export async function editTold(t) {
  await t.script(REAL_TURN, says("Refunded in part."));
  const page = await t.open();
  await asked(t, page);
  await t.press(page, "Edit");
  await page.fill("input[name=amount]", "0.05");
  await page.keyboard.press("Enter");
  await t.answered(page, "Refunded in part.");
  const look = async () => {
    const said = t.style === "card" ? line(page) : page.getByTestId("chip-decided"); // an interrupt that was answered leaves the chat
    await said.filter({ hasText: new RegExp(`^Approved ${AT}${HERE} · .*Amount 0.10 € → 0.05 €$`) }).waitFor();
    const chip = page.getByTestId("tool-chip");
    await becomes(() => chip.locator(".chip-preview").textContent(), "1003 · 0.05 €");
    await shows(chip, /Amount0.05 €/);
    await t.chipsAre(page, ["refund:done"]);
  };
  await look();
  await page.reload();
  await t.answered(page, "Refunded in part.");
  await look();
  await page.getByTestId("tool-chip").locator("summary").click();
  await t.shot(page, "reloaded");
  await accessible(page, "an edit that ran");
}

/** Decided out of band, and the conversation goes on: the card settles in time, and the answer comes, without a touch. */
export async function goesOn(t) {
  await t.script(REAL_TURN, says("It was refunded, and I went on."));
  const page = await t.open();
  await asked(t, page);
  const { run } = await decide(t, page, "refund", { approved: true, continue: true });
  assert.ok(run.key);
  await counts(t.card(page), 0);
  await t.answered(page, "It was refunded, and I went on.");
  await t.chipsAre(page, ["refund:done"]);
  await t.shot(page, "settled");
  await t.rests(page);
  await t.script(says("All fine."));
  await t.say(page, "Thanks");
  await t.answered(page, "All fine.");
  await becomes(() => t.userMessages(page), 2);
}

/** All of that while the page still reads the records of its own run: they name a call as done of which it has no result. */
export async function decidedAtOnce(t) {
  await t.script(REAL_TURN, says("It went on at once."));
  const page = await t.open();
  const see = await slow(page);
  await asked(t, page);
  await decide(t, page, "refund", { approved: true, continue: true });
  const messages = async () => (await (await fetch(`${t.urls.server}/threads/${thread(page)}`)).json()).messages;
  await becomes(async () => (await messages()).at(-1).content, "It went on at once.");
  await t.rests(page);
  see();
  await t.answered(page, "It went on at once.");
  await t.chipsAre(page, ["refund:done"]);
  await counts(t.card(page), 0);
}

/** What is said here while the page reads how the conversation stood before stays. */
export async function saidMeanwhile(t) {
  await t.script(REAL_TURN, says("I see."));
  const page = await t.open();
  await asked(t, page);
  let release, asks;
  const isReleased = new Promise((resolve) => (release = resolve));
  const isAsked = new Promise((resolve) => (asks = resolve));
  const whole = /\/threads\/[^/?]+$/;
  const late = async (route) => {
    const response = await route.fetch();
    asks();
    await isReleased;
    await route.fulfill({ response });
  };
  await page.route(whole, late, { times: 1 });
  await decide(t, page, "refund", { approved: true });
  await isAsked;
  await t.say(page, "What happened?");
  await t.answered(page, "I see.");
  const came = page.waitForResponse(whole);
  release();
  await (await came).finished();
  await drawn(page);
  assert.equal(await page.getByText("I see.").count(), 1);
  await becomes(() => t.userMessages(page), 2);
}

/** Decided out of band without going on: the card settles in time and says who and when; the next message goes on. */
export async function settlesInTime(t) {
  await t.script(REAL_TURN, says("So be it."));
  const page = await t.open();
  await asked(t, page);
  await decide(t, page, "refund", { approved: false, reason: "no receipt" });
  await counts(t.card(page), 0);
  await t.chipsAre(page, ["refund:rejected"]);
  const said = t.style === "card" ? line(page) : page.getByTestId("chip-decided");
  await said.filter({ hasText: new RegExp(`^Rejected ${AT}, outside the chat · .*“no receipt”$`) }).waitFor();
  await t.shot(page, "settled");
  await t.say(page, "Then not");
  await t.answered(page, "So be it.");
}

/** Nobody answers: the page that only looks on says so too, by the server's word. */
export async function expiresInTime(t) {
  await t.script(calls("I'll close the shop.", call("close_shop", {})), says("It stays open."));
  const page = await t.open();
  await t.say(page, "Close the shop");
  await page.getByTestId("tool-chip").waitFor();
  await page.waitForFunction(() => !document.querySelector('[data-testid="gate-card"]')?.shadowRoot.querySelector("button:enabled"));
  await t.chipsAre(page, ["close_shop:expired"]);
  await t.say(page, "And now?");
  await t.answered(page, "It stays open.");
}

/** The chat is deleted elsewhere: what was open can't be answered any more, and the page stops asking. */
export async function deletedElsewhere(t) {
  await t.script(REAL_TURN);
  const page = await t.open();
  page.allow(/404/);
  await asked(t, page);
  const looks = [];
  await quiet(page);
  page.on("response", (response) => response.status() === 404 && looks.push(response.url()));
  assert.equal((await fetch(`${t.urls.server}/threads/${thread(page)}`, { method: "DELETE" })).status, 200);
  await line(page).filter({ hasText: "Not decided, as this chat was deleted" }).waitFor();
  await counts(t.card(page), 0);
  await page.evaluate(() => dispatchEvent(new Event("focus"))); // the person comes back to it
  await page.evaluate(() => fetch("../agents").then((response) => response.text())); // whatever was asked before it has begun by now
  await quiet(page);
  await t.shot(page, "gone");
  assert.equal(looks.length, 1);
}

/** Who decided, where people have names. */
export async function namesWho(t) {
  await t.script(REAL_TURN, says("Refunded for Alice."));
  const page = await t.open({ server: t.urls.guarded, colorScheme: "light" });
  page.allow(/HTTP 401|status of 401|agent|connect|Runtime|CopilotKit/i);
  await page.fill("input[name=token]", "wonderland");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".welcome");
  await asked(t, page);
  await t.press(page, "Approve");
  await t.answered(page, "Refunded for Alice.");
  await page.getByTestId("tool-chip").locator("summary").click();
  await page.getByTestId("chip-decided").filter({ hasText: new RegExp(`^Approved by alice ${AT}${HERE}$`) }).waitFor();
  await t.shot(page, "told");
}

/** Asking again does not undo: the page asks first, keeps what ran in sight, and the new card says it too. */
export async function regenerate(t) {
  await t.script(REAL_TURN, says("Refunded once."), calls("I'll refund it.", refund()), says("Left at that."));
  const page = await t.open();
  await asked(t, page);
  await t.press(page, "Approve");
  await t.answered(page, "Refunded once.");
  const again = () => page.getByTestId("copilot-regenerate-button").last().click();
  await again();
  const dialog = page.getByRole("dialog", { name: "Ask again?" });
  await dialog.getByText("This already ran, and stays done:").waitFor();
  await shows(dialog.getByRole("listitem"), new RegExp(`^Refund · 1003 · 0.10 € · ran ${AT}$`));
  await t.shot(page, "asks");
  await accessible(page, "asks first");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await t.chipsAre(page, ["refund:done"]);
  await again();
  await dialog.getByRole("button", { name: "Ask again" }).click();
  await t.card(page).waitFor();
  await t.idle(page);
  const earlier = page.locator(".card-earlier");
  await earlier.getByText("The very same already ran in this chat:").waitFor();
  await earlier.getByRole("listitem").filter({ hasText: /^1003 · 0\.10 € · ran at .*, in an answer that was replaced$/ }).waitFor();
  await becomes(async () => (await textOf(t.card(page))).match(/Already ran/gi)?.length, 1, "it is said once");
  await page.getByText("Ran in an answer that was replaced; what it did stays done.").waitFor();
  await t.chipsAre(page, ["refund:done", "refund:waiting"]);
  await t.shot(page, "card");
  await accessible(page, "ran before");
  await t.press(page, "Reject");
  await page.keyboard.press("Enter");
  await t.answered(page, "Left at that.");
  await page.reload();
  await t.answered(page, "Left at that.");
  await page.getByText("Ran in an answer that was replaced; what it did stays done.").waitFor();
  await t.chipsAre(page, ["refund:done", "refund:rejected"]);
  await t.script(says("A third try."));
  await again(); // nothing has run in this answer, so nothing is asked
  await t.answered(page, "A third try.");
  await t.chipsAre(page, ["refund:done"]);
}

/** It asks first also where the page hasn't read yet what ran. */
export async function asksAtOnce(t) {
  await t.script(REAL_TURN, says("Refunded once."), says("It was not asked."));
  const page = await t.open();
  await asked(t, page);
  const see = await slow(page);
  await t.press(page, "Approve");
  await t.answered(page, "Refunded once.");
  await page.getByTestId("copilot-regenerate-button").last().click();
  see();
  await page.getByRole("dialog", { name: "Ask again?" }).getByText("This already ran, and stays done:").waitFor();
  await counts(page.getByText("Refunded once."), 1);
}

/** Saying a message in other words goes back too: what ran after it is named first, and stays done. */
export async function editMessage(t) {
  await t.script(REAL_TURN, says("Refunded once."), says("Nothing more to do."));
  const page = await t.open();
  await asked(t, page);
  await t.press(page, "Approve");
  await t.answered(page, "Refunded once.");
  await page.getByTestId("copilot-user-message").hover();
  await page.getByTestId("copilot-edit-button").click();
  const dialog = page.getByRole("dialog", { name: "Edit your message" });
  await dialog.getByText("This already ran, and stays done:").waitFor();
  await t.shot(page, "asks");
  await accessible(page, "edit a message");
  await dialog.getByRole("textbox", { name: "Message" }).fill("Is order 1003 fine?");
  await dialog.getByRole("button", { name: "Send" }).click();
  await t.answered(page, "Nothing more to do.");
  await page.reload();
  await t.answered(page, "Nothing more to do.");
  await becomes(() => page.getByTestId("copilot-user-message").textContent(), "Is order 1003 fine?");
  await page.getByText("Ran in an answer that was replaced; what it did stays done.").waitFor();
  await t.chipsAre(page, ["refund:done"]);
}

/** The same while a card is open: what waits is left undecided, as with any other message. */
export async function editWhileAsked(t) {
  await t.script(REAL_TURN, says("It is fine."));
  const page = await t.open();
  await asked(t, page);
  await page.getByTestId("copilot-user-message").hover();
  await page.getByTestId("copilot-edit-button").click();
  const dialog = page.getByRole("dialog", { name: "Edit your message" });
  await dialog.getByRole("textbox", { name: "Message" }).fill("Is order 1003 fine?");
  await dialog.getByRole("button", { name: "Send" }).click();
  await t.answered(page, "It is fine.");
  await counts(t.card(page), 0);
  await becomes(() => page.getByTestId("copilot-user-message").textContent(), "Is order 1003 fine?");
}

/** A tab whose card was asked again meanwhile, by a run of another client: its answer counts. */
export async function askedAgain(t) {
  const two = calls("Two things.", refund(), call("archive_order", { order_id: "1003" }));
  await t.script(two, says("Both are settled."));
  const page = await t.open();
  await t.say(page, "Do two things");
  await t.card(page, "refund").waitFor();
  await t.idle(page);
  const see = await blind(page);
  const { messages, approvals } = await (await fetch(`${t.urls.server}/threads/${thread(page)}`)).json();
  const first = approvals.find(({ tool }) => tool === "refund");
  const tools = t.style === "card" ? [{ name: "confirm_changes", description: "", parameters: { type: "object" } }] : [];
  const answer = { id: "other-1", role: "tool", toolCallId: first.call_id, content: JSON.stringify({ approved: true }) };
  const body = { threadId: thread(page), runId: "other", messages: [...messages, answer], tools, context: [], state: {}, forwardedProps: {} };
  const run = await fetch(`${t.urls.server}/agents/support`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  assert.match(await run.text(), /RUN_FINISHED/);
  await seesAfterwards(t, page, see);
  for (const tool of ["refund", "archive_order"]) await t.press(page, "Approve", tool);
  await t.answered(page, "Both are settled.");
  await t.chipsAre(page, ["refund:done", "archive_order:done"]);
}

