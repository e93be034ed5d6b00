// `/admin` in Chromium, on a desktop and on a phone, in light and dark: olga is an operator, ada is none.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { AXE, SERVER, browser } from "./site.mjs";

const SHOTS = fileURLToPath(new URL("../shots/admin/", import.meta.url));
mkdirSync(SHOTS, { recursive: true });
const get = async (path) => (await fetch(SERVER + path, { headers: { authorization: "Bearer olga" } })).json();

/** The page as `who` has it. `page.asked` are the paths below `/ops/` that it asked for. */
async function open(who, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, locale: "en-GB", ...options });
  context.setDefaultTimeout(60_000);
  if (who) await context.addInitScript((token) => sessionStorage.setItem("agui-gate.token", token), who);
  const page = await context.newPage();
  Object.assign(page, { problems: [], asked: [] });
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("request", (request) => request.url().includes("/ops/") && page.asked.push(request.url().split("/ops/")[1]));
  await page.goto(`${SERVER}admin`);
  return page;
}

async function looksWell(page, name) {
  await page.screenshot({ path: `${SHOTS}${name}.png`, fullPage: true });
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => axe.run(document));
  assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes[0].html]), []);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, "nothing is wider than the page");
}

async function done(page) {
  assert.deepEqual(page.problems, []);
  await page.context().close();
}

test("figures that are of more tenants than the lists say so", async () => {
  const [of, text] = [await open("otto"), /of all tenants, the lists are of yours/];
  await of.getByText(text).waitFor();
  await of.locator("#unknown").getByText("None.").waitFor();
  const mine = await open("olga");
  await mine.locator("#unknown li").waitFor();
  assert.equal(await mine.getByText(text).count(), 0);
  await done(of);
  await done(mine);
});

test("an operator sees what is at work, stops it, settles what is unknown, freezes and lifts", async () => {
  const page = await open("olga");
  const running = page.locator("#running li", { hasText: "thread hangs" });
  await running.getByText("Support · acme/ada").waitFor();
  await page.locator("#waiting li", { hasText: "thread waits" }).getByRole("link", { name: "Open" }).waitFor();
  await page.locator("#usage").getByText("parrot").waitFor();
  await page.locator("#budgets").getByText(/each owner, a day · ada/).waitFor();
  await looksWell(page, "desktop");

  await page.getByRole("button", { name: "Stop … Support · thread hangs" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Stop it" }).click(); // without a reason nothing is sent
  await dialog.getByLabel(/Reason/).fill("It hangs.");
  await page.screenshot({ path: `${SHOTS}stop.png` });
  await dialog.getByRole("button", { name: "Stop it" }).click();
  await page.getByText("It has stopped.").waitFor();
  await running.waitFor({ state: "detached" });

  const unknown = page.locator("#unknown li");
  const key = await unknown.locator("code").textContent();
  await unknown.getByRole("button", { name: "Settle …" }).click();
  await dialog.getByText(`Idempotency key: ${key}`).waitFor();
  await dialog.getByText('"order_id": "A1"').waitFor();
  await dialog.getByLabel("It took effect").check();
  await dialog.getByLabel("What was found out").fill("Refund R-17 was made.");
  await dialog.getByLabel(/Reason/).fill("Seen in the ledger.");
  await looksWell(page, "settle");
  await page.route("**/settle", (route) => route.fulfill({ status: 409, json: { error: { code: "thread_busy", message: "A run is at work." } } }), { times: 1 });
  await dialog.getByRole("button", { name: "Settle it" }).click();
  await dialog.getByRole("alert").getByText("A run is at work.").waitFor(); // and what was typed is there
  await dialog.getByRole("button", { name: "Settle it" }).click();
  await page.getByText("Settled.").waitFor();
  assert.equal((await get("ops/approvals?state=unknown")).approvals.length, 0);
  await done(page);
});

test("by the keyboard, on a phone, in the dark, in German; nothing is asked for while nobody looks", async () => {
  const page = await open(null, { viewport: { width: 390, height: 800 }, colorScheme: "dark", locale: "de-DE" });
  await page.getByRole("dialog", { name: "Dieser Server verlangt ein Token" }).waitFor();
  await page.keyboard.type("olga");
  await page.keyboard.press("Enter");
  await page.locator("#server").getByText("memory").first().waitFor();
  await page.keyboard.press("f");
  await page.getByRole("dialog", { name: "Freigaben einfrieren" }).waitFor();
  await page.locator("datalist option[value=support]").waitFor({ state: "attached" });
  assert.deepEqual(await page.locator("datalist option").evaluateAll((all) => all.map(({ value }) => value)), ["refund", "support"]);
  await page.getByLabel("Nur dieses Werkzeug").fill("refund");
  await page.getByLabel(/Begründung/).fill("fr?");
  await page.keyboard.press("Enter");
  await page.locator("#frozen li").getByText("fr?").waitFor();
  assert.deepEqual((await get("ops/freezes")).freezes.map(({ tool }) => tool), ["refund"]);
  await looksWell(page, "phone-dark");
  await page.getByRole("button", { name: "Aufheben …" }).click();
  await page.getByLabel(/Begründung/).fill("Vorbei.");
  await page.keyboard.press("Enter");
  await page.getByText("Aufgehoben.").waitFor();
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await page.waitForFunction(() => new Promise((ready) => setTimeout(() => ready(true)))); // what was under way has been asked for
  const before = page.asked.length;
  await page.clock.install();
  await page.clock.runFor(60_000);
  assert.equal(page.asked.length, before);
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => false });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await page.waitForRequest(/ops\/summary/);
  await done(page);
});

test("who is no operator is told so, and can use another token; one that is wrong is said to be", async () => {
  const page = await open("ada");
  await page.getByRole("alert").getByText("This could not be loaded. Your roles don't allow this request. It needs the role operator.").waitFor();
  assert.equal(await page.locator("#running").count(), 0);
  await page.getByRole("button", { name: "Use another token" }).click();
  const says = (description) => page.getByRole("dialog", { name: "This server requires a token", description }).waitFor();
  await says("Enter the token you were given.");
  await page.keyboard.type("nobody");
  await page.keyboard.press("Enter");
  await says("The token was not accepted.");
  await page.keyboard.type("olga");
  await page.keyboard.press("Enter");
  await page.locator("#running").waitFor();
  await done(page);
});
