// `/inbox` in Chromium, on a desktop and on a phone, in light and dark: with a server that knows ada, who asks, ben and cat
// of finance, who decide, dan, who may be their deputy, zoe, who decides in an emergency, and oli, who operates it.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { becomes } from "../eventually.mjs";
import { AXE, SERVER, browser } from "./site.mjs";

const SHOTS = fileURLToPath(new URL("../shots/inbox/", import.meta.url));
mkdirSync(SHOTS, { recursive: true });
const headers = (who) => ({ authorization: `Bearer ${who}`, "content-type": "application/json" });
const get = async (who, path) => (await fetch(SERVER + path, { headers: headers(who) })).json();
const post = async (who, path, body) => (await fetch(SERVER + path, { method: "POST", headers: headers(who), body: JSON.stringify(body) })).text();

/** Somebody asks for something: the record that waits. */
async function ask(text, who = "ada", thread = crypto.randomUUID(), tools = []) {
  await post(who, "", { threadId: thread, runId: crypto.randomUUID(), state: {}, tools, context: [], forwardedProps: {}, messages: [{ id: crypto.randomUUID(), role: "user", content: text }] });
  return (await get(who, `threads/${thread}`)).approvals[0];
}

const usual = await browser.newContext({ locale: "en-GB", timezoneId: "Europe/Berlin" });

/** The page as `who` has it; null: without a token. */
async function open(who, { at = "", page: path = `inbox${at}`, before = async () => {}, viewport = { width: 1100, height: 800 }, colorScheme = "light", locale } = {}) {
  const page = await (locale ? await browser.newContext({ locale }) : usual).newPage();
  page.setDefaultTimeout(60_000);
  await page.setViewportSize(viewport);
  await page.emulateMedia({ colorScheme });
  if (who) await page.addInitScript((token) => sessionStorage.setItem("agui-gate.token", token), who);
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("response", (response) => response.status() === 403 && response.request().method() === "GET" && page.problems.push(`403 ${response.url()}`)); // it knows by /me what it may ask
  await before(page);
  await page.goto(`${SERVER}${path}`);
  return page;
}

const item = (page, { id }) => page.locator(`agui-inbox .item[data-id="${id}"]`);
const line = (page, asked) => item(page, asked).locator(".line-button");
async function done(page) {
  assert.deepEqual(page.problems, []);
  await page.close();
}

/** What a page looks for every ten seconds it looks for at once. */
const looksOften = (page) =>
  page.addInitScript(() => {
    const usual = window.setTimeout;
    window.setTimeout = (act, ms, ...more) => usual(act, ms === 10_000 ? 300 : ms, ...more);
  });

async function looksWell(page, name) {
  await page.screenshot({ path: `${SHOTS}${name}.png` });
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => axe.run(document));
  assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes[0].html]), []);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, "nothing is wider than the page");
}

test("two persons: who asks, who agreed, whose edit it is; who asked and who has agreed can't", async () => {
  const asked = await ask("refund A1 20");
  const ben = await open("ben", { at: `#${asked.id}` });
  const card = ben.locator(".linked agui-confirm-card");
  await card.getByText("Asked by ada · Needs 2 persons: finance").waitFor();
  await card.getByRole("button", { name: "Edit" }).click();
  await card.getByLabel(/Amount/).fill("15");
  await card.getByRole("button", { name: "Approve with changes" }).click();
  await card.getByText("You agreed. It runs when everybody who is needed has.").waitFor();
  assert.equal(await card.getByRole("button", { name: "Approve" }).count(), 0);
  await looksWell(ben, "agreed");
  const ada = await open("ada", { at: `#${asked.id}` });
  await ada.locator(".linked agui-confirm-card").getByText("You asked for this, so you can't approve it. Somebody else has to.").waitFor();
  const cat = await open("cat");
  await line(cat, asked).click();
  await item(cat, asked).getByText(/Asked by ada · Edited by ben · .* · Agreed: ben/).waitFor();
  await item(cat, asked).getByRole("button", { name: "Approve" }).click(); // the editor isn't one of the two
  await item(cat, asked).getByText("You agreed.").waitFor();
  assert.equal((await get("ada", `approvals/${asked.id}`)).effective_arguments.amount, 15);
  await post("ben", `approvals/${asked.id}`, { approved: false });
  for (const page of [ada, ben, cat]) await done(page);
});

/** From here on the page reads what is so now, until it sends something: as if it were between two of its looks. */
async function holdReading(page, who, thread) {
  const [now, calls] = [await get(who, `threads/${thread}`), await get(who, `threads/${thread}?view=calls`)];
  let goOn;
  let isHeld = true;
  const sent = new Promise((resolve) => (goOn = resolve));
  page.on("request", (request) => request.method() === "POST" && (goOn(), (isHeld = false)));
  await page.route(/\/(approvals|threads)/, async (route) => {
    const url = route.request().url();
    if (isHeld && route.request().method() === "GET") {
      if (url.includes(encodeURIComponent(thread))) return route.fulfill({ json: url.includes("view=calls") ? calls : now });
      await sent;
    }
    return route.continue();
  });
}

for (const [name, path, query] of [["the inbox", "inbox", null], ["the chat, by interrupt", "", "?hitl=interrupt"], ["the chat, by card", "", "?hitl=card"], ["the CopilotKit page, by interrupt", "copilot/", "?hitl=interrupt"], ["the CopilotKit page, by card", "copilot/", "?hitl=card"]])
  test(`a yes to arguments that somebody has edited meanwhile decides nothing, and is asked again: ${name}`, async () => {
    const tools = query?.includes("card") ? [{ name: "confirm_changes", description: "", parameters: { type: "object" } }] : [];
    const asked = await ask("book A1 20", query === null ? "eve" : "ben", crypto.randomUUID(), tools); // no stream tells ben of the calls of others
    const ben = await open("ben", { page: query === null ? `${path}#${asked.id}` : `${path}${query}#t=${encodeURIComponent(asked.thread_id)}` });
    const card = ben.locator("agui-confirm-card").last(); // where cards are messages, the one that was answered stays above it
    const approve = card.getByRole("button", { name: "Approve" });
    await card.getByText("20", { exact: true }).waitFor();
    await approve.waitFor();
    await holdReading(ben, query === null ? "eve" : "ben", asked.thread_id);
    await post("cat", `approvals/${asked.id}`, { approved: true, edited_arguments: { order_id: "A1", amount: 5 } });
    await approve.click();
    await card.getByText("The arguments are not those that you were shown. Look at them again, then decide.").waitFor();
    await card.getByText("5", { exact: true }).waitFor();
    const told = async () => ((row) => [row.state, row.approvals.map(({ by }) => by)])(await get("cat", `approvals/${asked.id}`));
    assert.deepEqual(await told(), ["pending", ["cat"]]);
    await looksWell(ben, `stale-${name.replaceAll(/\W+/g, "-")}`);
    await approve.click();
    await card.getByText(/You agreed\./).waitFor();
    assert.deepEqual(await told(), ["pending", ["cat", "ben"]]);
    await post("cat", `approvals/${asked.id}`, { approved: false });
    await done(ben);
  });

test("a login that is too old is told in the card, and what was typed stays", async () => {
  const asked = await ask("close_account Zoe");
  const page = await open("ben", { before: (page) => page.route(/\/approvals(\?|\/apr_)/, async (route) => {
    if (route.request().method() === "POST") return route.continue();
    const response = await route.fetch();
    const json = await response.json();
    for (const row of json.approvals ?? [json]) delete row.you; // as if the login had been good when it was listed
    await route.fulfill({ response, json });
  }) });
  await line(page, asked).click();
  await item(page, asked).getByRole("button", { name: "Approve" }).click();
  await item(page, asked).getByText("Log in again: this needs a login in the last 300 s (auth_time).").waitFor();
  await item(page, asked).getByRole("button", { name: "Reject" }).click();
  await item(page, asked).getByLabel("Reason (optional)").fill("another day");
  await item(page, asked).getByRole("button", { name: "Reject" }).click();
  await item(page, asked).getByText(/Rejected by ben .*another day/).waitFor();
  await done(page);
});

test("several at once, each with an answer of its own; filters; what is decided is in the history", async () => {
  const [one, two, three] = [await ask("send_mail anna Hello", "cat"), await ask("send_mail bob Hello", "cat"), await ask("send_mail carl Hello", "cat")];
  const other = await ask("refund B1 3");
  const page = await open("cat", { viewport: { width: 390, height: 760 }, colorScheme: "dark", before: (page) => page.route(`**/approvals/${two.id}`, (route) => (route.request().method() === "POST" ? route.fulfill({ status: 403, json: { error: { code: "frozen", message: "Approvals are frozen." } } }) : route.continue())) });
  await page.getByLabel("Whose").selectOption("mine");
  await item(page, other).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Choose all" }).click();
  await looksWell(page, "phone-dark");
  await page.getByRole("button", { name: "Approve 3 …" }).click();
  const dialog = page.getByRole("dialog", { name: "Approve these 3?" });
  await dialog.getByText("Send mail · anna · Hello").waitFor();
  await page.screenshot({ path: `${SHOTS}several.png` });
  await dialog.getByRole("button", { name: "Approve" }).click();
  await page.getByText("2 done. 1 not: their lines say why.").waitFor();
  await item(page, two).getByText("Approvals are frozen.").waitFor();
  for (const { id } of [one, three]) assert.equal((await get("cat", `approvals/${id}`)).decision.by, "cat");
  await page.getByLabel("Whose").selectOption("");
  await item(page, other).waitFor();
  await page.getByRole("link", { name: "Decided" }).click();
  await page.getByText(/Approved by cat .* · Send mail · anna · Hello/).waitFor();
  await looksWell(page, "decided-phone-dark");
  for (const { id } of [two, other]) await post("cat", `approvals/${id}`, { approved: false });
  await done(page);
});

test("a grant is given with a yes, listed, and revoked", async () => {
  const asked = await ask("send_mail dora Hello", "cat");
  const page = await open("cat", { colorScheme: "dark" });
  await line(page, asked).click();
  await item(page, asked).getByLabel("And from now on").selectOption("arguments");
  await looksWell(page, "grant-dark");
  await item(page, asked).getByRole("button", { name: "Approve" }).click();
  await item(page, asked).getByText(/Approved by cat .* and not asked again/).first().waitFor();
  await page.getByRole("link", { name: "Grants" }).click();
  await page.getByText("To dora, for 8 h").or(page.getByText("To dora")).first().waitFor();
  await page.getByText(/used 0 of 3 times/).waitFor();
  await looksWell(page, "grants-dark");
  await page.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("Nothing is granted.").waitFor();
  assert.deepEqual((await get("cat", "grants")).grants, []);
  await done(page);
});

test("by the keyboard alone: in, a token, lines, a reason, the next one; letters that are typed are text; in German", async () => {
  const [first, second] = [await ask("send_mail eva Hello", "cat"), await ask("send_mail fay Hello", "cat")];
  const page = await open(null, { locale: "de-DE" });
  await page.getByRole("dialog", { name: "Dieser Server verlangt ein Token" }).waitFor();
  await page.keyboard.type("cat");
  await page.keyboard.press("Enter");
  await line(page, second).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("a");
  assert.equal((await get("cat", `approvals/${first.id}`)).state, "pending", "what nobody could see is not approved");
  await page.keyboard.press("Enter");
  await item(page, first).getByRole("button", { name: "Ablehnen" }).waitFor();
  await page.keyboard.press("r");
  await item(page, first).getByLabel("Begründung (freiwillig)").waitFor();
  await page.keyboard.type("jaxk?");
  await looksWell(page, "german");
  await page.keyboard.press("Enter");
  await item(page, first).getByText(/Abgelehnt von cat .*jaxk\?/).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await page.getByText("1 ausgewählt").waitFor();
  await page.keyboard.press("x");
  await page.setViewportSize({ width: 1100, height: 460 }); // its card has no room below the line
  await page.keyboard.press("Enter");
  await item(page, second).getByRole("button", { name: "Freigeben" }).waitFor();
  await becomes(() => line(page, second).evaluate((node) => node.getBoundingClientRect().top < innerHeight / 3), true, "as much of what is opened is in view as has room");
  await page.keyboard.press("a");
  await item(page, second).getByText(/Freigegeben von cat/).first().waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Tasten" }).waitFor();
  await page.screenshot({ path: `${SHOTS}keys.png` });
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Tasten" }).waitFor({ state: "detached" });
  await done(page);
});

test("a call is handed to a colleague; who may not be is told in the dialog", async () => {
  const asked = await ask("refund D1 20");
  const page = await open("ben");
  await line(page, asked).click();
  await page.locator(`agui-inbox > [slot="${asked.id}"]`).getByRole("button", { name: "Hand to a colleague …" }).click();
  const dialog = page.getByRole("dialog", { name: "Hand this to a colleague?" });
  await dialog.getByText(/for order D1\?/).waitFor();
  await page.keyboard.type("ada");
  await page.keyboard.press("Enter");
  await dialog.getByRole("alert").getByText("Who asked for this can't approve it. Hand it to somebody else.").waitFor();
  await looksWell(page, "hand-to");
  await dialog.getByLabel("Who (their id)").fill("cat");
  await page.keyboard.press("Enter");
  await page.getByText("Handed to cat.").waitFor();
  await item(page, asked).getByText(/Handed to cat by ben/).waitFor();
  await looksWell(page, "handed");
  await line(page, asked).focus();
  await page.keyboard.press("h");
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.deepEqual((await get("ada", `approvals/${asked.id}`)).handed_to, { to: "cat", by: "ben" });
  const other = await ask("refund D2 20");
  const cat = await open("cat", { viewport: { width: 390, height: 760 }, colorScheme: "dark", before: looksOften });
  await cat.getByText("Handed to you by colleagues: 1.").waitFor();
  await line(cat, other).waitFor();
  await cat.getByLabel("Whose").selectOption("handed");
  await line(cat, other).waitFor({ state: "detached" });
  await line(cat, asked).waitFor();
  await looksWell(cat, "handed-to-me-phone-dark");
  for (const { id } of [asked, other]) await post("ben", `approvals/${id}`, { approved: false });
  await cat.getByText("Handed to you by colleagues: 1.").waitFor({ state: "detached" });
  for (const each of [page, cat]) await done(each);
});

test("in an emergency a call can be rejected, too; what was decided of others' calls is in the history", async () => {
  const [asked, other] = [await ask("refund G1 20"), await ask("refund G2 20")];
  const zoe = await open("zoe");
  await zoe.getByRole("link", { name: "Emergencies" }).click();
  for (const tab of ["Grants", "Deputies"]) assert.equal(await zoe.getByRole("link", { name: tab }).count(), 0, "none of hers");
  await zoe.locator(".desk-list > li", { hasText: "G1" }).getByRole("button", { name: "Reject in an emergency …" }).click();
  const dialog = zoe.getByRole("dialog", { name: "Reject this in an emergency?" });
  await dialog.getByLabel(/Reason/).fill("It would pay a thief.");
  await looksWell(zoe, "emergency-reject");
  await zoe.keyboard.press("Enter");
  await zoe.getByText("Rejected in an emergency. Everybody concerned is told.").waitFor();
  const { state, decision } = await get("ada", `approvals/${asked.id}`);
  assert.deepEqual([state, decision.by, decision.break_glass, decision.reason], ["rejected", "zoe", true, "It would pay a thief."]);
  await zoe.getByRole("link", { name: "Decided" }).click();
  const row = zoe.getByRole("listitem").filter({ hasText: "order G1" });
  await row.getByText(/Rejected · in an emergency · asked by ada/).waitFor();
  await looksWell(zoe, "decided-of-others");
  await post("ben", `approvals/${other.id}`, { approved: true });
  const ben = await open("ben", { at: "#decided", viewport: { width: 390, height: 760 }, colorScheme: "dark" });
  await ben.getByRole("listitem").filter({ hasText: "order G2" }).getByText(/Agreed · asked by ada/).waitFor();
  assert.equal(await ben.getByText("order G1").count(), 0, "what others decided is not in it");
  await looksWell(ben, "decided-of-others-phone-dark");
  await ben.getByRole("listitem").filter({ hasText: "order G2" }).getByRole("link", { name: "What happened" }).click();
  await ben.waitForURL(`**/audit?approval=${other.id}`);
  await post("ben", `approvals/${other.id}`, { approved: false });
  for (const page of [zoe, ben]) await done(page);
});

test("an emergency has a reason, and whom it concerns sees it at once", async () => {
  const asked = await ask("refund E1 20");
  let isRead = false;
  const ben = await open("ben", { before: (page) => page.route(/\/approvals(\?|\/apr_)/, (route) => (isRead ? route.abort() : route.continue())) });
  await line(ben, asked).waitFor();
  isRead = true; // from now on ben hears of it by the stream alone
  const zoe = await open("zoe", { viewport: { width: 390, height: 760 }, colorScheme: "dark" });
  await zoe.getByRole("link", { name: "Emergencies" }).click();
  const row = zoe.locator(".desk-list > li", { hasText: "E1" });
  await row.getByText("Asked by ada · Needs 2 persons: finance").waitFor();
  await looksWell(zoe, "emergencies-phone-dark");
  await row.getByRole("link", { name: "Open" }).click();
  const card = zoe.locator(".linked agui-confirm-card");
  await card.getByRole("button", { name: "Approve in an emergency …" }).click();
  const dialog = zoe.getByRole("dialog", { name: "Approve this in an emergency?" });
  await dialog.getByText("Everybody concerned is told").waitFor();
  await dialog.getByRole("button", { name: "Approve in an emergency" }).click(); // without a reason nothing is sent
  assert.equal((await get("ada", `approvals/${asked.id}`)).state, "pending");
  await dialog.getByLabel(/Reason/).fill("The warehouse burns.");
  await looksWell(zoe, "emergency-phone-dark");
  await dialog.getByRole("button", { name: "Approve in an emergency" }).click();
  await zoe.getByText("Approved in an emergency. Everybody concerned is told.").waitFor();
  await card.getByText(/Approved by zoe .* in an emergency/).waitFor();
  await item(ben, asked).getByText(/Approved by zoe .* in an emergency/).first().waitFor();
  const { decision } = await get("ada", `approvals/${asked.id}`);
  assert.deepEqual([decision.by, decision.break_glass, decision.reason], ["zoe", true, "The warehouse burns."]);
  for (const page of [ben, zoe]) await done(page);
});

test("a deputy is named, decides in the place of who is away, and not any more once that is ended", async () => {
  const asked = await ask("refund F1 20");
  const ben = await open("ben", { at: "#deputies" });
  await ben.getByText("Nobody decides in your place, and you in nobody's.").waitFor();
  assert.equal(await ben.getByRole("link", { name: "Emergencies" }).count(), 0, "who has no such right has no such tab");
  await ben.getByRole("button", { name: "Name a deputy …" }).click();
  const dialog = ben.getByRole("dialog");
  await dialog.getByLabel("Who (their id)").fill("ben");
  const until = await ben.evaluate((time) => new Date(time - new Date(time).getTimezoneOffset() * 60_000).toISOString().slice(0, 16), Date.now() + 3 * 86_400_000);
  await dialog.getByLabel(/Until/).fill(until);
  await dialog.getByRole("button", { name: "Name them" }).click();
  await dialog.getByRole("alert").getByText("Nobody is their own deputy. Name somebody else.").waitFor();
  await looksWell(ben, "deputy");
  await dialog.getByLabel("Who (their id)").fill("dan"); // the time is still there
  await dialog.getByRole("button", { name: "Name them" }).click();
  await ben.getByText("dan is named as deputy.").waitFor();
  const row = ben.getByRole("listitem").filter({ hasText: "dan decides in the place of ben" });
  await row.getByText(`until ${until.slice(11)} on`).waitFor();
  await looksWell(ben, "deputies");
  const dan = await open("dan", { viewport: { width: 390, height: 760 }, colorScheme: "dark" });
  await dan.getByText(/You decide in the place of ben until/).waitFor();
  await line(dan, asked).click();
  await item(dan, asked).getByText(/You decide for ben, who is away until/).waitFor();
  await looksWell(dan, "as-deputy-phone-dark");
  await dan.goto(`${SERVER}inbox#deputies`);
  await dan.getByText("dan decides in the place of ben").first().waitFor();
  await row.getByRole("button", { name: "End …" }).click();
  await ben.getByRole("dialog", { name: "End this now?" }).getByRole("button", { name: "End it" }).click();
  await ben.getByText("Nobody decides in your place, and you in nobody's.").waitFor();
  assert.deepEqual((await get("ben", "deputies")).deputies, []);
  await post("ben", `approvals/${asked.id}`, { approved: false });
  for (const page of [ben, dan]) await done(page);
});

test("while calls are frozen nobody approves one, and each says why; then it goes on", async () => {
  const asked = await ask("refund H1 20");
  const freeze = (lift) => post("oli", "ops/freezes", { tool: "refund", reason: "Payments are being checked.", lift });
  await freeze(false);
  const page = await open("ben", { at: `#${asked.id}`, viewport: { width: 390, height: 760 }, colorScheme: "dark" });
  const card = page.locator(".linked agui-confirm-card");
  await card.getByText(/Payments are being checked\./).waitFor();
  assert.equal(await card.getByRole("button", { name: "Approve" }).count(), 0);
  await looksWell(page, "frozen-phone-dark");
  const zoe = await open("zoe", { at: `#${asked.id}` });
  await zoe.getByRole("button", { name: "Reject in an emergency …" }).waitFor();
  assert.equal(await zoe.getByRole("button", { name: "Approve in an emergency …" }).count(), 0, "a freeze holds in an emergency, too");
  await looksWell(zoe, "frozen");
  await freeze(true);
  await page.reload();
  await card.getByRole("button", { name: "Approve" }).click();
  await card.getByText("You agreed.").waitFor();
  await post("ben", `approvals/${asked.id}`, { approved: false });
  for (const each of [page, zoe]) await done(each);
});

test("the story of a call in the audit trail: who edited, who agreed, who said no; by the keyboard", async () => {
  const asked = await ask("refund J1 20");
  await post("ben", `approvals/${asked.id}`, { approved: true, edited_arguments: { order_id: "J1", amount: 15 } });
  await post("cat", `approvals/${asked.id}`, { approved: true });
  await post("cat", `approvals/${asked.id}`, { approved: false, reason: "She has it already." });
  for (const [name, options] of [["story", {}], ["story-phone-dark", { viewport: { width: 390, height: 760 }, colorScheme: "dark" }]]) {
    const page = await open("ben", { page: `audit?approval=${asked.id}`, ...options });
    await page.getByRole("heading", { name: `The story of ${asked.id}` }).waitFor();
    await page.getByText(/^cat.* rejected it .*“She has it already\.”/).waitFor();
    const told = await page.locator("#story > li > p:first-of-type").allTextContents();
    assert.deepEqual(told.map((line) => /asked|showed|agreed|rejected/.exec(line)?.[0]).filter(Boolean), ["asked", "agreed", "agreed", "rejected"], told.join(" | "));
    assert.match(await page.locator("#story .changed").first().textContent(), /15/);
    await looksWell(page, name);
    await done(page);
  }
  const list = await open(null, { page: "audit" });
  await list.getByLabel("Token").waitFor();
  while (!(await list.getByLabel("Token").evaluate((field) => field === document.activeElement))) await list.keyboard.press("Tab");
  await list.keyboard.type("cat");
  await list.keyboard.press("Enter");
  const story = list.getByRole("link", { name: `The story of ${asked.id}` }).first();
  await story.waitFor();
  await looksWell(list, "audit");
  while (!(await story.evaluate((link) => link === document.activeElement))) await list.keyboard.press("Tab");
  await list.keyboard.press("Enter");
  await list.getByRole("heading", { name: `The story of ${asked.id}` }).waitFor();
  await done(list);
});

test("an address that can't be read shows what waits", async () => {
  const page = await open("ben", { at: "#%" });
  await page.locator("agui-inbox").waitFor();
  await done(page);
});

test("what begins to wait for others comes by itself; a thousand are there within a second", async () => {
  const page = await open("ben", { before: looksOften });
  await page.waitForFunction(() => document.querySelector("agui-gate")?.ledger?.state.isRead);
  const asked = await ask("refund C1 7");
  await line(page, asked).waitFor();
  await post("cat", `approvals/${asked.id}`, { approved: false });
  await page.locator(`agui-inbox .item[data-id="${asked.id}"][data-state=rejected]`).waitFor();
  await done(page);
  const row = (number) => ({ ...asked, id: `apr_${number}`, call_id: `c${number}`, effective_arguments: { order_id: `N${number}`, amount: 7 }, arguments: { order_id: `N${number}`, amount: 7 }, thread: null, schema: null, refused: null, already_ran: [] }); // of others: the stream doesn't tell of them
  const many = await open("cat", { before: (page) => page.route(/\/approvals\?/, (route) => {
    const from = Number(new URL(route.request().url()).searchParams.get("cursor") ?? 0);
    return route.fulfill({ json: { approvals: Array.from({ length: 100 }, (_, at) => row(from + at)), next_cursor: from + 100 < 1000 ? String(from + 100) : null } });
  }) });
  await many.getByRole("heading", { name: "Waiting (1000)" }).waitFor();
  const took = await many.evaluate(() => performance.now());
  console.log(`# a thousand that wait: all read ${took.toFixed(0)} ms after the page was asked for`);
  assert.equal(await many.locator("agui-inbox .item").count(), 100);
  await many.keyboard.press("/");
  await many.keyboard.type("n777");
  await many.locator("agui-inbox .item").nth(1).waitFor({ state: "detached" });
  await looksWell(many, "thousand");
  await done(many);
});
