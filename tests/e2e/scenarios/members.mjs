/** Several agents in one chat: who speaks, hand-offs, work that is delegated, questions inside it, what all of them share. */

import { accessible } from "../axe.mjs";
import { drawn, quiet, retime } from "../browser.mjs";
import { becomes, counts, shows } from "../eventually.mjs";
import { call, refund } from "../stage.mjs";
import { decide } from "./told.mjs";

const text = (words) => ({ type: "message", text: words });
/** A turn of that member. */
const by = (model, ...output) => ({ when: { model }, output });
const delegate = (agent, task) => call(agent, { task });

const boxes = (page) => page.$$eval('[data-testid="delegation"]', (all) => all.map((box) => `${box.dataset.agent}:${box.dataset.status}`));
const speakers = (page) => page.locator('[data-testid="speaker"]').allTextContents();
const box = (page, agent) => page.locator(`[data-testid="delegation"][data-agent="${agent}"]`);
const asker = (t, page, tool) => t.card(page, tool).locator(".card-agent");

const open = (t, options) => {
  t.agent = "desk";
  return t.open(options);
};

const ASKED = [by("desk", text("The clerk will do it."), delegate("clerk", "Refund ten cents of order 1003")), by("clerk", text("I'll refund it."), refund())];

/** Whether the page shows a call that waits inside, which one of 1.0 with cards does not (docs/http-api.md). */
const inside = (t, ...chips) => t.waits(...chips);

export async function insideApprove(t) {
  await t.script(...ASKED, by("clerk", text("Ten cents are on their way.")), by("desk", text("The clerk has refunded it.")));
  const page = await open(t);
  await t.say(page, "Refund ten cents of order 1003");
  await shows(asker(t, page), /^Clerk asks$/);
  await shows(t.card(page), /Refund 0\.10 € for order 1003\?/);
  await t.idle(page);
  await becomes(() => boxes(page), ["clerk:waiting"]);
  await counts(box(page, "clerk").getByText("I'll refund it."), 1, "what a sub-agent says stands in its box");
  await counts(page.getByText("I'll refund it."), 1, "and nowhere else");
  await t.chipsAre(page, inside(t, "refund:waiting"));
  await t.shot(page, "asked");
  if (t.via === "direct") await accessible(page, "a sub-agent asks");
  await t.press(page, "Approve");
  await t.answered(page, "The clerk has refunded it.");
  await becomes(() => boxes(page), ["clerk:done"]);
  await t.chipsAre(page, ["refund:done"]);
  await counts(box(page, "clerk").getByText("Ten cents are on their way."), 1);
  await counts(t.card(page), 0);
  await t.shot(page, "done");
}

export async function insideReject(t) {
  await t.script(...ASKED, by("clerk", text("Then I leave it.")), by("desk", text("It was not refunded.")));
  const page = await open(t);
  await t.say(page, "Refund ten cents of order 1003");
  await t.press(page, "Reject");
  await page.keyboard.type("too late");
  await page.keyboard.press("Enter");
  await t.answered(page, "It was not refunded.");
  await t.chipsAre(page, ["refund:rejected"]);
  await becomes(() => boxes(page), ["clerk:done"]);
}

/** Edited, after a reload while the sub-agent waits. */
export async function insideEdit(t) {
  await t.script(...ASKED, by("clerk", text("Five cents it is.")), by("desk", text("Five cents were refunded.")));
  const page = await open(t);
  await t.say(page, "Refund ten cents of order 1003");
  await t.card(page).waitFor();
  await t.idle(page);
  await page.reload();
  await shows(asker(t, page), /^Clerk asks$/);
  await t.idle(page);
  await becomes(() => boxes(page), ["clerk:waiting"]);
  await t.shot(page, "restored");
  await t.press(page, "Edit");
  await page.fill("input[name=amount]", "0.05");
  await page.keyboard.press("Enter");
  await t.answered(page, "Five cents were refunded.");
  await t.chipsAre(page, ["refund:done"]);
  await shows(page.locator('[data-testid="tool-chip"]'), /"refunded": 0\.05/);
  await becomes(() => boxes(page), ["clerk:done"]);
}

/** Two at once, one of them with somebody behind it: both ask, each by name. */
export async function insideNested(t) {
  await t.script(
    by("desk", text("Two things at once."), delegate("clerk", "Have order 1003 packed"), delegate("courier", "Put order 1002 away")),
    by("clerk", delegate("packer", "Pack order 1003")),
    by("packer", text("I'm about to pack it."), call("pack_order", { seconds: 0 })),
    by("courier", text("I'm putting it away."), call("archive_order", { order_id: "1002" })),
    by("packer", text("It is packed.")),
    by("clerk", text("The packer is done.")),
    by("courier", text("It is put away.")),
    by("desk", text("Both are done.")),
  );
  const page = await open(t, { tall: true });
  await t.say(page, "Pack one and put the other away");
  await t.card(page).waitFor();
  await t.idle(page);
  // A page of 1.0 is shown the calls that delegate when they are done: till then a task stands where it said something first.
  await becomes(async () => (await boxes(page)).sort(), ["clerk:waiting", "courier:waiting", "packer:waiting"]);
  await counts(box(page, "clerk").locator('[data-agent="packer"]'), 1, "who is inside stands inside");
  await t.shot(page, "asked");
  const who = { pack_order: "Packer asks", archive_order: "Courier asks" };
  const first = await t.card(page).getAttribute("data-tool"); // whichever asked first: both were at work
  for (const tool of [first, ...Object.keys(who).filter((name) => name !== first)]) {
    await becomes(() => asker(t, page, tool).textContent(), who[tool]);
    await t.press(page, "Approve", tool);
  }
  await t.answered(page, "Both are done.");
  await becomes(async () => (await boxes(page)).sort(), ["clerk:done", "courier:done", "packer:done"]);
  await becomes(async () => (await t.chips(page)).sort(), ["archive_order:done", "pack_order:done"]);
  await t.shot(page, "done");
  await page.reload();
  await t.answered(page, "Both are done.");
  await becomes(async () => (await boxes(page)).sort(), ["clerk:done", "courier:done", "packer:done"]);
}

/** A person is asked before a task begins, and again inside: that it was agreed to doesn't mean that it is done. */
export async function gatedTask(t) {
  const audit = delegate("auditor", "Look into order 1003");
  await t.script(by("desk", audit), by("auditor", text("I'd put it away."), call("archive_order", { order_id: "1003" })), by("auditor", text("It is put away.")), by("desk", text("The audit is over.")));
  const page = await open(t);
  await t.say(page, "Have it looked into");
  await t.card(page, "auditor").waitFor();
  await t.idle(page);
  await becomes(() => boxes(page), []);
  await t.press(page, "Approve", "auditor");
  await becomes(() => asker(t, page, "archive_order").textContent(), "Auditor asks");
  await t.idle(page);
  await becomes(() => boxes(page), ["auditor:waiting"]);
  await t.shot(page, "inside");
  await page.reload();
  await t.card(page, "archive_order").waitFor();
  await t.idle(page);
  await becomes(() => boxes(page), ["auditor:waiting"]);
  await t.press(page, "Approve", "archive_order");
  await t.answered(page, "The audit is over.");
  await becomes(() => boxes(page), ["auditor:done"]);
  await t.chipsAre(page, ["archive_order:done"]);
  await t.shot(page, "done");
  await t.rests(page);
  await t.script(by("desk", audit), by("desk", text("Then not.")));
  await t.say(page, "Once more");
  await t.press(page, "Reject", "auditor");
  await page.keyboard.press("Enter");
  await t.answered(page, "Then not.");
  await t.chipsAre(page, ["archive_order:done", "auditor:rejected"]);
}

/** Another one answers from here on, asks something, and hands back. Going back over the hand-off gives the chat back. */
export async function handsOver(t) {
  await t.script(
    by("desk", text("That is for billing."), call("transfer_to_billing", {})),
    by("billing", text("I can give points."), call("credit_points", { points: 7 })),
    by("billing", text("Seven points are yours.")),
    by("billing", call("transfer_to_desk", {})),
    by("desk", text("Back at the desk.")),
    by("desk", text("The desk itself answers.")),
  );
  const page = await open(t);
  await t.say(page, "I want points");
  await t.card(page).waitFor();
  await t.idle(page);
  await becomes(() => speakers(page), ["Desk", "Billing"]);
  await becomes(() => page.locator('[data-testid="hand-off"]').allTextContents(), ["Handed over to Billing"]);
  await t.shot(page, "asked");
  await t.press(page, "Approve");
  await t.answered(page, "Seven points are yours.");
  await t.chipsAre(page, ["credit_points:done"]);
  await t.say(page, "Back to the desk, please");
  await t.answered(page, "Back at the desk.");
  await becomes(() => speakers(page), ["Desk", "Billing", "Billing", "Desk"]);
  await t.shot(page, "back");
  if (t.via === "direct") await accessible(page, "a hand-off");
  await page.reload();
  await t.answered(page, "Back at the desk.");
  await becomes(() => speakers(page), ["Desk", "Billing", "Billing", "Desk"]);
  await page.locator('[data-testid="copilot-user-message"]').first().hover();
  await page.getByTestId("copilot-edit-button").first().click();
  await page.getByRole("dialog").getByRole("textbox").fill("Who are you?");
  await page.getByRole("dialog").getByRole("button", { name: "Send" }).click();
  await t.answered(page, "The desk itself answers.");
  await counts(page.locator('[data-testid="hand-off"]'), 0);
  await t.shot(page, "edited");
}

/** What a tool inside shows stays where it belongs; a stop ends the task. */
export async function insideStop(t) {
  await t.script(by("desk", delegate("courier", "Count the stock")), by("courier", text("I'm counting."), call("stock_report", { seconds: 60 })), by("desk", text("What else?")));
  const page = await open(t);
  await t.say(page, "How much is there?");
  await box(page, "courier").getByTestId("activity").waitFor();
  await becomes(() => boxes(page), ["courier:running"]);
  await counts(page.getByTestId("activity"), 1);
  await t.shot(page, "working");
  await page.getByTestId("copilot-send-button").click();
  await t.idle(page);
  await becomes(() => boxes(page), ["courier:stopped"]);
  await t.shot(page, "stopped");
  await t.rests(page);
  await t.say(page, "Never mind");
  await t.answered(page, "What else?");
  await page.reload();
  await t.answered(page, "What else?");
  await box(page, "courier").getByTestId("activity").waitFor();
}

/** Decided in the other tab, and from the list, which says who asks. */
export async function insideElsewhere(t) {
  await t.script(...ASKED, by("clerk", text("Ten cents are on their way.")), by("desk", text("The clerk has refunded it.")));
  const first = await open(t);
  await t.say(first, "Refund ten cents of order 1003");
  await t.card(first).waitFor();
  await t.idle(first);
  const second = await t.tab(first);
  await t.card(second).waitFor();
  await t.idle(second);
  await first.getByTestId("inbox-button").click();
  const item = first.locator(".item");
  await shows(item, /Clerk asks/);
  await t.shot(first, "list");
  await item.getByRole("button", { name: "Approve", exact: true }).click();
  await t.answered(second, "The clerk has refunded it.");
  await t.chipsAre(second, ["refund:done"]);
  await becomes(() => boxes(second), ["clerk:done"]);
  await t.shot(first, "decided");
  await first.getByRole("button", { name: "Close" }).click();
  await t.answered(first, "The clerk has refunded it.");
  await becomes(() => boxes(first), ["clerk:done"]);
}

const panel = (page) => page.getByTestId("shared-state");

/** What the tools change and what is still being written is shown at once; what the page changes goes out with the next message. */
export async function sharedState(t) {
  const letter = { to: "Ben", text: "Dear Ben, your parcel is on its way." };
  await t.script(by("desk", call("note", { text: "Ben waits." }), call("write_letter", letter)), by("desk", text("I have written to Ben.")));
  const page = await open(t);
  await t.say(page, "Write to Ben");
  await t.card(page).waitFor();
  await t.idle(page);
  await shows(panel(page), /Ben waits\..*Dear Ben, your parcel is on its way\./); // of the letter, a preview
  await t.shot(page, "asked");
  await t.press(page, "Reject");
  await page.keyboard.press("Enter");
  await t.answered(page, "I have written to Ben.");
  await becomes(async () => /Dear Ben/.test(await panel(page).textContent()), false, "what was rejected is no part of it");
  await t.script(by("desk", call("note", { text: "Ben has called." })), by("desk", text("Noted.")));
  await panel(page).getByRole("button", { name: "Change" }).click();
  await panel(page).getByRole("textbox").fill('{"topic": "parcels", "notes": ["Ben waits.", "So do I."], "letter": {}}');
  await t.shot(page, "edit");
  if (t.via === "direct") await accessible(page, "the state is edited");
  await panel(page).getByRole("button", { name: "Keep" }).click();
  await shows(panel(page), /parcels.*So do I\..*goes out with your next message/);
  await t.say(page, "Ben has called");
  await t.answered(page, "Noted.");
  await shows(panel(page), /parcels.*Ben waits\..*So do I\..*Ben has called\./);
  await counts(panel(page).getByText("goes out with"), 0);
  await t.shot(page, "changed");
  await page.reload();
  await t.answered(page, "Noted.");
  await shows(panel(page), /parcels.*Ben waits\..*So do I\..*Ben has called\./);
}

/** A state that doesn't fit is refused before the run, and can be taken back. */
export async function stateRefused(t) {
  await t.script(by("desk", call("note", { text: "Ben waits." })), by("desk", text("Noted.")), by("desk", text("It goes on.")));
  const page = await open(t);
  await t.say(page, "Ben waits");
  await t.answered(page, "Noted.");
  page.allow(/422|agent|notes/i);
  await panel(page).getByRole("button", { name: "Change" }).click();
  await panel(page).getByRole("textbox").fill('{"notes": 7}');
  await panel(page).getByRole("button", { name: "Keep" }).click();
  await t.say(page, "Go on");
  await t.banner(page, "invalid_request").waitFor();
  await t.shot(page, "refused");
  await t.idle(page);
  await panel(page).getByRole("button", { name: "Take back" }).click();
  await t.banner(page).getByRole("button", { name: "Try again" }).click();
  await t.answered(page, "It goes on.");
  await becomes(() => boxes(page), []);
}

/** Reloaded while a sub-agent is at work: what it has said and shown is there, and what it does next comes. */
export async function insideReload(t) {
  await t.script(by("desk", text("I'll have it counted."), delegate("courier", "Count the stock")), by("courier", text("I'm counting."), call("stock_report", { seconds: 60 })), by("courier", text("There are 42.")), by("desk", text("It is 42.")));
  const page = await open(t);
  await t.say(page, "How much is there?");
  await box(page, "courier").getByTestId("activity").waitFor();
  const { run } = await (await fetch(`${t.urls.server}/threads/${new URL(page.url()).hash.slice(3)}?view=calls`)).json();
  const reader = new AbortController();
  await fetch(`${t.urls.server}/runs/${run.key}/events`, { signal: reader.signal }); // a run without a reader is stopped after half a second
  await page.reload();
  await box(page, "courier").getByTestId("activity").waitFor();
  await becomes(() => boxes(page), ["courier:running"]);
  await t.shot(page, "restored");
  await t.finish();
  await t.answered(page, "It is 42.");
  reader.abort();
  await becomes(() => boxes(page), ["courier:done"]);
  await counts(box(page, "courier").getByText("There are 42."), 1);
  await counts(page.getByText("I'm counting."), 1);
  await t.chipsAre(page, ["stock_report:done"]);
}

/** What fails inside says so, and the chat goes on. Asked again, the desk gets the chat back from who it was handed to. */
export async function insideFails(t) {
  await t.script(by("desk", delegate("courier", "Count the stock")), { when: { model: "courier" }, fault: { kind: "status", status: 400, code: "invalid_prompt", message: "secret" } }, by("desk", text("It could not be counted."), call("transfer_to_billing", {})), by("billing", text("Billing here.")), by("desk", text("I'll do it myself.")));
  const page = await open(t);
  await t.say(page, "How much is there?");
  await t.answered(page, "Billing here.");
  await becomes(() => boxes(page), ["courier:error"]);
  await shows(box(page, "courier"), /could not finish/);
  await counts(page.getByText("secret"), 0);
  await t.shot(page, "failed");
  await becomes(() => speakers(page), ["Desk", "Billing"]);
  await page.locator('[data-testid="copilot-assistant-message"]', { hasText: "Billing here." }).getByTestId("copilot-regenerate-button").click();
  await t.answered(page, "I'll do it myself.");
  await becomes(() => speakers(page), []);
  await counts(page.locator('[data-testid="hand-off"]'), 0);
}

/** On a narrow screen, in the dark: boxes in boxes, a card, and the state above them. */
export async function insideNarrow(t) {
  await t.script(
    by("desk", call("note", { text: "Ben waits." }), delegate("clerk", "Have order 1003 packed, as quickly as anybody can, and tell me when it is done")),
    by("clerk", text("I'll ask the packer."), delegate("packer", "Pack order 1003")),
    by("packer", text("I'm about to pack it."), call("pack_order", { seconds: 0 })),
    by("packer", text("It is packed.")),
    by("clerk", text("The packer is done.")),
    by("desk", text("It is packed, says the clerk.")),
  );
  const page = await open(t, { colorScheme: "dark", viewport: { width: 390, height: 844 } });
  await t.say(page, "Pack it");
  await t.card(page).waitFor();
  await t.idle(page);
  await t.shot(page, "asked");
  await accessible(page, "a team on a narrow screen");
  await becomes(() => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "nothing is wider than the screen");
  await panel(page).locator("summary").click();
  await shows(panel(page), /Ben waits\./);
  await t.shot(page, "state");
  await panel(page).locator("summary").click();
  await t.press(page, "Approve");
  await t.answered(page, "It is packed, says the clerk.");
  await t.shot(page, "done");
}

/** Stopped while one counts and another one has something to ask: both are over, and nothing waits. */
export async function insideStopsAll(t) {
  await t.script(
    by("desk", delegate("clerk", "Refund ten cents of order 1003"), delegate("courier", "Count the stock")),
    by("clerk", text("I'll refund it."), refund()),
    by("courier", text("I'm counting."), call("stock_report", { seconds: 60 })),
    by("desk", text("That is how it stands.")),
  );
  const page = await open(t);
  await t.say(page, "Refund it and count");
  await box(page, "courier").getByTestId("activity").waitFor();
  await box(page, "clerk").locator('[data-tool="refund"]').waitFor();
  await page.getByTestId("copilot-send-button").click();
  await t.idle(page);
  await becomes(() => boxes(page), ["clerk:stopped", "courier:stopped"]);
  await t.chipsAre(page, ["refund:stopped", "stock_report:stopped"]);
  await counts(t.card(page), 0);
  await t.shot(page, "stopped");
  await t.rests(page);
  await t.say(page, "And now?");
  await t.answered(page, "That is how it stands.");
  await becomes(() => boxes(page), ["clerk:stopped", "courier:stopped"]);
}

/** Stopped after something inside was approved and ran: it is not told as if it waited to go on. */
export async function insideStopsLater(t) {
  await t.script(by("desk", delegate("courier", "Put order 1003 away, then count")), by("courier", call("archive_order", { order_id: "1003" })), by("courier", call("stock_report", { seconds: 60 })));
  const page = await open(t);
  await t.say(page, "Put it away and count");
  await t.press(page, "Approve", "archive_order");
  await box(page, "courier").getByTestId("activity").waitFor();
  await retime(page, { from: 1600, to: 5000, ms: 0 }); // what was decided elsewhere is told at once
  await page.getByTestId("copilot-send-button").click();
  await t.idle(page);
  await becomes(() => boxes(page), ["courier:stopped"]);
  await t.chipsAre(page, ["archive_order:done", "stock_report:stopped"]);
  await t.rests(page);
  await quiet(page);
  await drawn(page);
  await counts(page.getByTestId("unread"), 0);
  await becomes(() => boxes(page), ["courier:stopped"]);
}

/** Decided without any page, while another task is done: this one waits to go on, and does when it is asked to. */
export async function insideUnread(t) {
  await t.script(
    by("desk", delegate("clerk", "Refund ten cents of order 1003"), delegate("courier", "Who are you?")),
    by("clerk", text("I'll refund it."), refund()),
    by("courier", text("The courier.")),
    by("clerk", text("Ten cents are on their way.")),
    by("desk", text("The clerk has refunded it.")),
  );
  const page = await open(t);
  await t.say(page, "Refund it, and who is the courier?");
  await t.card(page).waitFor();
  await t.idle(page);
  await becomes(() => boxes(page), ["clerk:waiting", "courier:done"]);
  await decide(t, page, "refund", { approved: true });
  await t.chipsAre(page, ["refund:done"]);
  await page.getByTestId("unread").waitFor();
  await becomes(() => boxes(page), ["clerk:waiting", "courier:done"]);
  await t.shot(page, "unread");
  await page.getByTestId("unread").getByRole("button", { name: "Go on" }).click();
  await t.answered(page, "The clerk has refunded it.");
  await becomes(() => boxes(page), ["clerk:done", "courier:done"]);
}
