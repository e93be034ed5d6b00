/** "Waiting for you", where something comes in between: another answer, a refusal, a server that is away (T6). */

import assert from "node:assert/strict";
import { accessible } from "../axe.mjs";
import { retime, see } from "../browser.mjs";
import { becomes, counts, together, textOf } from "../eventually.mjs";
import { call, calls, refund, says } from "../stage.mjs";
import { AT, button, elsewhere, inbox, item, line, openInbox, OUTSIDE, settled } from "../waiting.mjs";
import { decide } from "./told.mjs";

const AWAY = "The server can't be reached. It is tried again, and what you typed stays here.";
const LOG_IN = "You have to log in to see and decide this.";

/** What the server answers to decisions of this page. */
const refuse = (page, answer) => page.route(/\/approvals\/[^?/]+$/, (route) => (route.request().method() === "POST" ? answer(route) : route.continue()));

/** Whatever the server says instead of yes is told in a sentence; what was typed stays, and it can be tried again. */
export async function inboxRefused(t) {
  const chat = await elsewhere(t, calls("I'll refund it.", refund()), says("At last."));
  const page = await t.open();
  page.allow(/403|409|503|502|ERR_FAILED/);
  await openInbox(page);
  const waiting = await item(page, chat.title);
  await waiting.getByRole("button", { name: "Reject" }).click();
  await waiting.getByRole("textbox").fill("not today");
  const says403 = "Requests for this Host are not allowed.";
  const error = (status, code, message) => (route) => route.fulfill({ status, json: { error: { code, message } } });
  page.allow(/401/);
  for (const [answer, told] of [
    [error(401, "unauthorized", "Log in."), LOG_IN],
    [error(403, "forbidden", says403), says403],
    [error(409, "thread_busy", "Another run is active on this thread."), "Another run is active on this thread."],
    [error(503, "unavailable", "The server is shutting down. Try again in a moment."), "The server is shutting down. Try again in a moment."],
    [(route) => route.fulfill({ status: 502, body: "<html>Bad gateway" }), AWAY],
    [(route) => route.abort(), AWAY],
  ]) {
    await refuse(page, answer);
    await waiting.getByRole("button", { name: "Reject" }).click();
    await waiting.getByRole("alert").filter({ hasText: told }).waitFor();
    await becomes(() => waiting.getByRole("textbox").inputValue(), "not today");
    if (told === LOG_IN) await t.shot(page, "unauthorized");
    await page.unroute(/\/approvals\/[^?/]+$/);
  }
  await waiting.getByRole("button", { name: "Reject" }).click();
  await line(waiting).filter({ hasText: /^Rejected .*“not today”$/ }).waitFor();
}

/** The server is away: the list says so, and goes on when it is back. */
export async function inboxAway(t) {
  const chat = await elsewhere(t, calls("I'll refund it.", refund()), says("Back."));
  const page = await t.open();
  page.allow(/503|ERR_|fetch|network|agent/i); // it may ask while the server is on its way out
  await openInbox(page);
  const waiting = await item(page, chat.title);
  await t.stop("server");
  await waiting.getByRole("button", { name: "Approve" }).click();
  await waiting.getByRole("alert").filter({ hasText: AWAY }).waitFor();
  const away = inbox(page).locator("agui-inbox > .card-refused, .card-refused:not(.item *)").first();
  await away.waitFor();
  await t.shot(page, "away");
  await t.start("server");
  await away.waitFor({ state: "detached" });
  await waiting.getByRole("button", { name: "Approve" }).click();
  await line(waiting).filter({ hasText: new RegExp(`^Approved ${AT}`) }).waitFor();
}

/** A chat that is deleted meanwhile, one that expires, and one whose tool takes its time. */
export async function inboxChanges(t) {
  const slow = await elsewhere(t, calls("I'll pack it.", call("pack_order", { seconds: 60 })), says("Packed."));
  const gone = await elsewhere(t, calls("I'll refund it.", refund()));
  const late = await elsewhere(t, calls("I'll refund it.", refund("1002")));
  const page = await t.open();
  page.allow(/404|410/);
  await openInbox(page);
  const [first, second, third] = [await item(page, slow.title), await item(page, gone.title), await item(page, late.title)];
  await first.getByRole("button", { name: "Approve" }).click();
  await line(first).filter({ hasText: /^Your answer: approve · Pack order|it is running$/ }).waitFor();
  await line(first).filter({ hasText: new RegExp(`^Approved ${AT}${OUTSIDE} · Pack order · 60 · it is running$`) }).waitFor();
  await fetch(`${t.urls.server}/threads/${gone.id}`, { method: "DELETE" });
  await line(second).filter({ hasText: "Not decided, as this chat was deleted" }).waitFor();
  await counts(second.getByRole("button", { name: "Open chat" }), 0);
  await see(page, "hidden"); // it doesn't notice
  await fetch(`${t.urls.server}/threads/${late.id}`, { method: "DELETE" });
  await third.getByRole("button", { name: "Approve" }).click();
  await line(third).filter({ hasText: "Not decided, as this chat was deleted" }).waitFor();
  await see(page, "visible");
  await t.finish();
  await line(first).filter({ hasText: new RegExp(`^Approved ${AT}${OUTSIDE} · Pack order · 60$`) }).waitFor();
  await t.shot(page, "settled");
  await settled(t, slow, "done"); // else its last turn would be the next script's first
  const soon = await elsewhere(t, calls("I'll close it.", call("close_shop", {})));
  await waitsStill(t, page, soon);
  await lookAgain(page);
  const missed = await item(page, soon.title);
  await settled(t, soon, "expired");
  await lookAgain(page);
  await line(missed).filter({ hasText: "Expired before it was decided" }).waitFor();
  await page.keyboard.press("Escape");
}

/** The request for all that waits. Records that changed are asked for by their ids. */
const LOOK = /\/approvals\?view=card&limit=/;

/** A stream of what is new that is opened again begins with a look. */
async function lookAgain(page) {
  const looked = page.waitForResponse(LOOK);
  await see(page, "hidden");
  await see(page, "visible");
  await looked;
}

/** The page's next look finds a call that waits, however long ago the machine let it look. */
async function waitsStill(t, page, { id }) {
  const { calls: [record] } = await (await fetch(`${t.urls.server}/threads/${id}?view=calls`)).json();
  const waiting = { ...record, state: "pending", thread_id: id, asked_at: new Date().toISOString(), expires_at: null, editable: [] };
  const withIt = async (route) => {
    const response = await route.fetch();
    const said = await response.json();
    const others = said.approvals.filter((other) => other.id !== record.id);
    await route.fulfill({ response, json: { ...said, approvals: [...others, waiting] } });
  };
  await page.route(LOOK, withIt, { times: 1 });
}

/** Two tabs approve at the same moment, one of them with a double click: it runs once, and each says what is true. */
export async function inboxRaced(t) {
  const chat = await elsewhere(t, calls("I'll refund it.", refund()), says("Once."));
  const first = await t.open();
  await openInbox(first);
  const mine = await item(first, chat.title);
  const second = await t.tab(first);
  for (const page of [first, second]) page.allow(/409/);
  await openInbox(second);
  const theirs = await item(second, chat.title);
  const posts = [];
  for (const page of [first, second]) page.on("request", (request) => request.method() === "POST" && request.url().includes("/approvals/") && posts.push(request.url()));
  await together(/\/approvals\/[^?/]+$/, first, second);
  await mine.locator("agui-confirm-card").evaluate(({ shadowRoot }) => [1, 2].forEach(() => shadowRoot.querySelector(".primary")?.click()));
  await theirs.locator("agui-confirm-card").evaluate(({ shadowRoot }) => shadowRoot.querySelector(".primary").click());
  for (const waiting of [mine, theirs]) await line(waiting).filter({ hasText: new RegExp(`pproved ${AT}${OUTSIDE} · Refund`) }).waitFor();
  assert.ok(posts.length <= 2, "a double click is one answer");
  const told = [await textOf(line(mine)), await textOf(line(theirs))]; // both are the server's word by now
  assert.ok(told.filter((text) => text.startsWith("Already")).length <= 1, told.join(" | "));
  await settled(t, chat, "done");
  const messages = async () => (await (await fetch(`${t.urls.server}/threads/${chat.id}`)).json()).messages;
  await becomes(async () => (await messages()).filter(({ content }) => content === "Once.").length, 1);
}

/** The other way round: decided in the chat of another tab, and the open item settles; a click that comes too late is told what is true. */
export async function inboxSettles(t) {
  await t.script(calls("Two things.", refund(), call("archive_order", { order_id: "1003" })), says("Both are settled."));
  const chat = await t.open();
  await t.say(chat, `Two things (${t.label})`);
  await t.card(chat, "refund").waitFor();
  await t.idle(chat);
  const page = await t.open();
  await openInbox(page);
  const first = await item(page, t.label, "refund");
  const second = await item(page, t.label, "archive_order");
  await decide(t, chat, "refund", { approved: true });
  await line(first).filter({ hasText: new RegExp(`^Approved ${AT}${OUTSIDE} · Refund`) }).waitFor();
  await see(page, "hidden"); // it doesn't notice
  await decide(t, chat, "archive_order", { approved: true });
  await second.getByRole("button", { name: "Reject" }).click();
  page.allow(/409/);
  await page.keyboard.press("Enter");
  await line(second).filter({ hasText: new RegExp(`^Already approved ${AT}${OUTSIDE} · Archive order · 1003\\. Your answer came too late and changed nothing\\.$`) }).waitFor();
  await t.shot(page, "late");
  await accessible(page, "too late");
}

const EVENTS = /\/approvals\/events$/;

const asked = (t) => elsewhere(t, calls("I'll refund it.", refund()));
const remove = (t, { id }) => fetch(`${t.urls.server}/threads/${id}`, { method: "DELETE" });

/** The number grows with each of some calls, one after the other, though the page's clock would have it look at none of them. */
async function follows(t, page) {
  await retime(page, { from: 5000, ms: 1_000_000 });
  const chats = [];
  for (let count = 1; count <= 3; count += 1) {
    chats.push(await asked(t));
    const { approvals } = await (await fetch(`${t.urls.server}/approvals?limit=100`)).json();
    await button(page).filter({ hasText: `(${approvals.length})` }).waitFor();
  }
  for (const chat of chats) await remove(t, chat);
}

/** What waits is told by the server. A hidden page leaves its connection to others, and looks at once when it is back. */
export async function inboxFollows(t) {
  const page = await t.open();
  page.allow(/404|410/); // a deleted chat
  await follows(t, page);
  const closed = page.waitForEvent("requestfailed", (request) => EVENTS.test(request.url()));
  await see(page, "hidden");
  await closed;
  const chat = await asked(t);
  const opened = page.waitForResponse(EVENTS);
  await see(page, "visible");
  await opened;
  await openInbox(page);
  const waiting = await item(page, chat.title);
  await remove(t, chat);
  await line(waiting).filter({ hasText: "Not decided, as this chat was deleted" }).waitFor();
}

/** Where the stream is refused, as an older server does, the page looks again and again; once it is taken, it is followed. */
export async function inboxUntold(t) {
  const page = await t.open();
  page.allow(/404|410/);
  await page.route(EVENTS, (route) => route.fulfill({ status: 404, json: {} }));
  await see(page, "hidden");
  const refused = page.waitForResponse(EVENTS);
  await see(page, "visible");
  await refused;
  const first = await asked(t);
  await button(page).waitFor();
  await openInbox(page);
  const second = await asked(t);
  for (const { title } of [first, second]) await item(page, title);
  for (const chat of [first, second]) await remove(t, chat);
  await page.keyboard.press("Escape");
  const taken = page.waitForResponse((response) => EVENTS.test(response.url()) && response.ok());
  await page.unroute(EVENTS);
  await see(page, "hidden");
  await see(page, "visible"); // it tries again at once when the person is back, else later and later
  await taken;
  await follows(t, page);
}
