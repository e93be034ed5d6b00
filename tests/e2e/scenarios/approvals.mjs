/** A person decides: alone, in several places, late, not at all. */

import assert from "node:assert/strict";
import { accessible } from "../axe.mjs";
import { becomes, counts, shows } from "../eventually.mjs";
import { call, calls, DETAILS, refund, says, ship } from "../stage.mjs";

const REAL_TURN = calls("I'll refund it.", refund());

export async function approve(t) {
  await t.script(REAL_TURN, says("Refunded, have a nice day."));
  const page = await t.open();
  await t.say(page, "Refund ten cents of order 1003");
  await t.card(page).waitFor();
  await shows(t.card(page), /Refund 0\.10 € for order 1003\?.*Expires in/);
  await t.chipsAre(page, t.waits("refund:waiting"));
  await t.shot(page, "card");
  await t.press(page, "Approve");
  await t.answered(page, "have a nice day");
  await t.chipsAre(page, ["refund:done"]);
  await counts(t.card(page), 0);
  await t.shot(page, "done");
}

export async function reject(t) {
  const reason = `not without a receipt (${t.label})`;
  await t.script(REAL_TURN, says("I left it alone."));
  const page = await t.open();
  await t.say(page, "Refund ten cents of order 1003");
  await t.press(page, "Reject");
  await page.keyboard.type(reason);
  await t.shot(page, "reason");
  await page.keyboard.press("Enter");
  await t.answered(page, "I left it alone.");
  await t.chipsAre(page, ["refund:rejected"]);
  assert.ok(JSON.stringify(await t.journal()).includes(reason), "the model reads the reason");
}

/** An edit that the server refuses is asked for again; what nobody touches stays as it is. */
export async function refusedEdit(t) {
  await t.script(calls("I prepared it.", ship()), says("It is on its way."));
  const page = await t.open();
  await t.say(page, "Ship order 1003");
  await t.press(page, "Edit");
  await page.getByLabel("Gift message").fill("long ".repeat(10));
  await page.keyboard.press("Enter");
  await t.card(page).getByRole("alert").filter({ hasText: "The edit was refused" }).waitFor();
  await t.idle(page);
  await t.shot(page, "refused");
  if ((await t.card(page).getAttribute("mode")) === "view") await t.press(page, "Edit"); // an interrupt's card keeps what was typed
  await page.getByLabel("Gift message").fill("");
  await page.getByLabel("Carrier").selectOption("dhl");
  await becomes(() => page.evaluate(() => document.documentElement.scrollHeight <= innerHeight), true, "the frame of the page stays where it is");
  await t.press(page, "Approve with changes");
  await t.answered(page, "It is on its way.");
  await becomes(() => t.edited(), { ...DETAILS, carrier: "dhl" });
}

/** One approved, one rejected, one edited; cards open one after the other, interrupts all at once. */
export async function threeCards(t) {
  const mail = call("send_email", { to: "Ben", subject: "Your refund", body: "It is on its way." });
  await t.script(calls("Three things.", refund("1001"), refund("1002"), mail), says("All three are settled."));
  const page = await t.open({ tall: true });
  await t.say(page, "Do three things");
  await t.card(page).waitFor();
  await t.shot(page, "open");
  await counts(page.getByRole("button", { name: /^Approve all/ }), 0, "what can be edited is looked at one by one");
  await t.press(page, "Approve");
  await t.card(page, "refund").getByRole("button", { name: "Reject" }).click();
  await page.keyboard.press("Enter");
  await t.press(page, "Edit", "send_email");
  await page.fill("input[name=subject]", "A changed subject");
  await t.shot(page, "last");
  await page.keyboard.press("Enter");
  await t.answered(page, "All three are settled.");
  await t.chipsAre(page, ["refund:done", "refund:rejected", "send_email:done"]);
  assert.ok(JSON.stringify(await t.journal()).includes("A changed subject"));
}

/** Where nothing can be edited, one click approves what is on screen: every argument of it. */
export async function approveAll(t) {
  const orders = ["1001", "1002", "1003"];
  await t.script(calls("Three to put away.", ...orders.map((order_id) => call("archive_order", { order_id }))), says("All put away."));
  const page = await t.open({ tall: true });
  await t.say(page, "Put them away");
  const all = page.getByRole("button", { name: "Approve all 3" });
  await all.waitFor();
  const chat = page.locator(".arguments:visible");
  await becomes(() => chat.evaluateAll((lists) => lists.map((list) => list.textContent).sort()), orders.map((id) => `Order id${id}`));
  await t.shot(page, "open");
  if (t.via === "direct") await accessible(page, "several cards");
  await all.click();
  await t.answered(page, "All put away.");
  await t.chipsAre(page, orders.map(() => "archive_order:done"));
  await counts(t.card(page), 0);
  await t.shot(page, "done");
}

/** The page says what a message means while a card is open. Cards: the call is superseded. Interrupts: it is cancelled. */
export async function ignored(t) {
  await t.script(REAL_TURN, says("Never mind the refund then."));
  const page = await t.open();
  await t.say(page, "Refund ten cents of order 1003");
  await t.card(page).waitFor();
  await page.getByText("A message cancels what is not decided above. It will not run.").waitFor();
  await t.shot(page, "hint");
  const other = t.via === "direct" && t.page === "copilot" ? await rejecting(t, page) : null;
  await t.say(page, "What else is there?");
  await t.answered(page, "Never mind");
  await t.chipsAre(page, [t.style === "card" ? "refund:superseded" : "refund:stopped"]);
  await counts(t.card(page), 0, "a dead card keeps no buttons");
  await t.shot(page, "superseded");
  if (!other) return;
  const said = t.style === "card" ? other.getByTestId("gate-decision") : other.getByTestId("chip-decided");
  await said.filter({ hasText: /\. What you were about to answer was not sent\.$/ }).waitFor();
  await t.answered(other, "Never mind");
  await shows(said, /not sent\.$/);
  await t.shot(other, "unsent");
}

/** Another tab of the chat, in which a reason is being typed. */
async function rejecting(t, page) {
  await t.idle(page);
  const other = await t.tab(page);
  await t.card(other).waitFor();
  await t.idle(other);
  await t.press(other, "Reject");
  await other.keyboard.type("not n");
  await page.bringToFront();
  return other;
}

export async function reload(t) {
  await t.script(REAL_TURN, says("Refunded after all."));
  const page = await t.open();
  await t.say(page, "Refund ten cents of order 1003");
  await t.card(page).waitFor();
  await t.idle(page);
  await page.reload();
  await t.card(page).waitFor();
  await t.chipsAre(page, t.waits("refund:waiting"));
  await t.shot(page, "restored");
  await t.press(page, "Approve");
  await t.answered(page, "Refunded after all.");
  await t.chipsAre(page, ["refund:done"]);
  await becomes(() => t.userMessages(page), 1);
}

export async function restart(t) {
  await t.script(REAL_TURN, says("Refunded by the new server."));
  const page = await t.open();
  await t.say(page, "Refund ten cents of order 1003");
  await t.card(page).waitFor();
  await t.idle(page);
  page.allow(/(ERR_|503).*\/(threads|approvals)|\/(threads|approvals).*ERR_/); // the page may look whether somebody else has decided just now
  await t.restart("server");
  await t.press(page, "Approve");
  await t.answered(page, "Refunded by the new server.");
  await t.chipsAre(page, ["refund:done"]);
}

/** Stop, pressed as the card appears, before its run's end is here or a moment later: too late for the call, which waits, and so the card stays open. */
export async function stopsAtCard(t) {
  const again = calls("I'll refund that too.", refund("1001"));
  await t.script(REAL_TURN, says("Refunded after the stop."), again, says("Refunded after the late stop."));
  const page = await t.open();
  let end = await holdEnd(page);
  await t.say(page, "Refund ten cents of order 1003");
  await page.getByTestId("gate-next").waitFor(); // drawn while the run's end is still to come
  await t.rests(page);
  const stopped = () => page.waitForResponse((response) => response.url().includes("/stop/"));
  await Promise.all([stopped(), page.getByRole("button", { name: "Stop" }).click()]);
  await end();
  await t.idle(page);
  await t.card(page).getByRole("button", { name: "Approve" }).waitFor();
  await t.chipsAre(page, ["refund:waiting"]);
  await t.shot(page, "open");
  await t.press(page, "Approve");
  await t.answered(page, "Refunded after the stop.");
  end = await holdEnd(page);
  await t.say(page, "And of order 1001");
  await page.getByTestId("gate-next").waitFor();
  const stop = await page.getByRole("button", { name: "Stop" }).evaluateHandle((button) => button[Object.keys(button).find((key) => key.startsWith("__reactProps$"))].onClick);
  await end();
  await t.card(page).getByRole("button", { name: "Approve" }).waitFor();
  await Promise.all([stopped(), stop.evaluate((press) => press())]); // the button was still drawn when it was pressed
  await t.press(page, "Approve");
  await t.answered(page, "Refunded after the late stop.");
  await t.chipsAre(page, ["refund:done", "refund:done"]);
  await counts(t.banner(page), 0);
}

/** The end of the page's next run reaches it when what this returns is called. */
async function holdEnd(page) {
  await page.evaluate(() => {
    const released = new Promise((resolve) => (window.releaseEnd = resolve));
    const fetched = window.fetch;
    const hold = new TransformStream({
      async transform(text, to) {
        const [before, ...rest] = text.split(/(?=data: ?\{[^\n]*"RUN_FINISHED")/);
        if (before) to.enqueue(before);
        if (rest.length > 0) await released;
        for (const part of rest) to.enqueue(part);
      },
    });
    window.fetch = async (...asked) => {
      const response = await fetched(...asked);
      if (window.fetch === fetched || !/\/run$|\/agents\/support$/.test(response.url)) return response;
      window.fetch = fetched; // the next one ends when it ends
      const body = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(hold).pipeThrough(new TextEncoderStream());
      return new Response(body, response);
    };
  });
  return () => page.evaluate(() => window.releaseEnd());
}

/** A server tool, a tool of the page and a gated one in one turn. */
export async function mixed(t) {
  await t.script(
    calls("At once.", call("get_order", { order_id: "1003" }), call("set_theme", { theme: "dark" }), refund()),
    says("Everything is done."),
  );
  const page = await t.open();
  await t.say(page, "Look, go dark and refund");
  await t.card(page).waitFor();
  await page.waitForSelector("html.dark", { state: "attached" });
  await t.shot(page, "card");
  await t.press(page, "Approve");
  await t.answered(page, "Everything is done.");
  await t.chipsAre(page, ["get_order:done", "set_theme:done", "refund:done"]);
}

/** microsoft/agent-framework#6894: a preamble, seven parallel calls, three of them gated; after approval every chip is complete. */
export async function sevenCalls(t) {
  const mail = call("send_email", { to: "Anna", subject: "Refund", body: "Done." });
  const reads = [call("search_orders", { customer: "Anna" }), call("search_orders", { customer: "Ben" })];
  const looks = ["1001", "1002"].map((order_id) => call("get_order", { order_id }));
  await t.script(
    calls("I'll look these up and prepare the refunds.", ...reads, ...looks, refund("1001"), refund("1005"), mail),
    says("All seven are done."),
  );
  const page = await t.open({ tall: true });
  await t.say(page, "Sort out Anna and Ben");
  for (let open = 3; open > 0; open -= 1) {
    await t.press(page, "Approve");
    await page.waitForFunction((left) => document.querySelectorAll('[data-testid="gate-card"]').length <= Math.max(left, 1), open - 1);
  }
  await t.answered(page, "All seven are done.");
  await t.chipsAre(page, ["search_orders:done", "search_orders:done", "get_order:done", "get_order:done", "refund:done", "refund:done", "send_email:done"]);
  await counts(page.getByText("I'll look these up"), 1, "the preamble is there once");
  const { body, status } = (await t.journal()).at(-1);
  const outputs = body.input.filter(({ type }) => type === "function_call_output").map(({ call_id }) => call_id);
  assert.deepEqual([status, new Set(outputs).size], [200, 7], "every call has its one output");
  await t.shot(page, "done");
}

/** CopilotKit's own chat and hook, on a page that knows nothing of this server. */
export async function plain(t) {
  await t.script(REAL_TURN, says("Refunded plainly."));
  const page = await t.openUrl(`${t.urls.server}/copilot/plain.html`);
  await t.say(page, "Refund ten cents of order 1003");
  await page.getByText("Refund 0.10 € for order 1003?").waitFor();
  await t.shot(page, "asked");
  await page.getByRole("button", { name: "Yes" }).click();
  await t.answered(page, "Refunded plainly.");
}
