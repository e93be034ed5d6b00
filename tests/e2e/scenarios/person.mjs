/** What a person does who looks closely: decides half, then says something; on the CopilotKit page. */

import assert from "node:assert/strict";
import { quiet } from "../browser.mjs";
import { counts, shows } from "../eventually.mjs";
import * as builtin from "../builtin.mjs";
import { call, calls, says } from "../stage.mjs";

const TWO = [call("refund", { order_id: "1003", amount: 0.1 }), call("archive_order", { order_id: "1003" })];

/** What was decided goes out with the message; only what was not is cancelled. */
export async function saidAfterHalf(t) {
  await t.script(calls("Two things.", ...TWO), says("One of them is done."));
  const page = await t.open();
  await t.say(page, "Do two things");
  await t.press(page, "Approve", "refund");
  await t.card(page, "archive_order").waitFor();
  await t.say(page, "Only that one");
  await t.answered(page, "One of them is done.");
  await t.chipsAre(page, ["refund:done", t.style === "card" ? "archive_order:superseded" : "archive_order:stopped"]);
  const told = page.getByTestId(t.style === "card" ? "gate-decision" : "chip-decided").filter({ hasText: /^Approved .*at/ });
  await told.waitFor();
  if (t.style === "card") return;
  await shows(page.getByTestId("chip-decided").last(), /^Cancelled .*at .*, in the chat$/);
}

/** Whoever goes back to the question takes back what was decided and not sent, too. */
export async function askedAnewAfterHalf(t) {
  await t.script(calls("Two things.", ...TWO), says("Nothing is done."));
  const page = await t.open();
  await t.say(page, "Do two things");
  await t.press(page, "Approve", "refund");
  await t.card(page, "archive_order").waitFor();
  await page.getByTestId("copilot-user-message").hover();
  await page.getByTestId("copilot-edit-button").click();
  const dialog = page.getByRole("dialog", { name: "Edit your message" });
  await dialog.getByRole("textbox", { name: "Message" }).fill("Do nothing");
  await dialog.getByRole("button", { name: "Send" }).click();
  await t.answered(page, "Nothing is done.");
  const { calls: records } = await (await fetch(`${t.urls.server}/threads/${new URL(page.url()).hash.slice(3)}`)).json();
  assert.deepEqual(
    records.map(({ tool, state }) => `${tool}:${state}`),
    ["refund:cancelled", "archive_order:cancelled"],
  );
}

/** The server is away when somebody answers: nothing has happened, and it is said so; the answer goes out with the next try. */
export async function answerLost(t) {
  await t.script(calls("At once.", call("archive_order", { order_id: "1003" })), says("It is archived."));
  const page = await t.open();
  await t.say(page, "Archive it");
  await t.card(page).waitFor();
  await t.idle(page);
  await quiet(page);
  page.allow(/ERR_CONNECTION_REFUSED|Failed to fetch/);
  await page.route(/./, (route) => (route.request().method() === "POST" ? route.abort("connectionrefused") : route.continue()));
  await t.press(page, "Approve");
  await t.banner(page, "network").waitFor();
  await page.unroute(/./);
  await t.chipsAre(page, ["archive_order:waiting"]);
  const line = t.style === "card" ? page.getByTestId("gate-decision").filter({ hasText: "Your answer: approve" }) : page.getByText("Your answer, to approve it, has not arrived");
  await line.waitFor();
  await t.shot(page, "lost");
  await page.getByRole("button", { name: "Try again" }).click();
  await t.answered(page, "It is archived.");
  await t.chipsAre(page, ["archive_order:done"]);
  await counts(line, 0);
}

const LENT = [calls("I'll take it back.", call("take_back", {})), says("It is back.")]; // within five minutes

/** A computer whose clock is hours ahead: what waits by the server's clock has not expired. */
export async function clockAhead(t) {
  await t.script(...LENT);
  const page = await ahead(await t.open({ locale: "en-GB" }));
  await t.say(page, "Take it back");
  await shows(t.card(page).locator(".expiry"), /Expires in \d:/);
  await t.press(page, "Approve");
  await t.answered(page, "It is back.");
}

/** The same on the built-in page, where the lists count the time, too. */
export async function builtinClockAhead(t) {
  await t.script(...LENT);
  const page = await ahead(await builtin.open(t, { locale: "en-GB" }));
  await builtin.say(page, "Take it back");
  await shows(page.locator(".card .expiry"), /Expires in \d:/);
  await page.locator(".thread-waits").waitFor();
  await page.locator(".card").getByRole("button", { name: "Approve" }).click();
  await builtin.answer(page, "It is back.");
}

/** The page, loaded anew two hours later than the server has it. */
async function ahead(page) {
  await page.addInitScript(() => {
    const now = Date.now.bind(Date);
    Date.now = () => now() + 7_200_000;
  });
  await page.reload();
  return page;
}
