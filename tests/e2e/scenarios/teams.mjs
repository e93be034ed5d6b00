/** Teams on the built-in page: who speaks, hand-offs, sub-agents and what they ask, shared state, activities, forms. */

import assert from "node:assert/strict";
import { accessible } from "../axe.mjs";
import { quiet } from "../browser.mjs";
import { CLOCK, answer, atRest, decide, done, focusIs, isPatient, open, say, type, watched } from "../builtin.mjs";
import { becomes, counts, shows } from "../eventually.mjs";
import { call } from "../stage.mjs";

/** What one agent's model says next: texts and calls. `about(words)`: where it was asked for that. */
const of = (model) => (...output) => ({ when: { model }, output: output.map((one) => (typeof one === "string" ? { type: "message", text: one } : one)) });
const about = (user, turn) => ({ ...turn, when: { ...turn.when, user } });
const [desk, billing, clerk, scout, analyst] = ["front_desk", "billing", "clerk", "scout", "analyst"].map(of);
const refund = (order_id = "1003", amount = 20) => call("refund", { order_id, amount });
const task = (agent, words) => call(agent, { task: words });
const press = (page, name, within = ".card") => page.locator(within).last().getByRole("button", { name, exact: false }).click();

/** What is drawn, a line a row, indented as it is nested. Folded tasks have their rows all the same. */
const outline = (page) =>
  page.$$eval(".rows .row", (rows) =>
    rows
      .filter((row) => !row.matches(".footer, .working"))
      .map((row) => {
        const depth = "  ".repeat(document.evaluate("count(ancestor::section[contains(@class, 'task')])", row, null, 1).numberValue);
        const part = (selector) => row.querySelector(selector)?.textContent ?? "";
        if (row.matches(".task")) return `${depth}${part(".task-name")} [${row.dataset.status}]`;
        if (row.matches(".tool")) return `${depth}${row.querySelector(".tool-name").title}: ${row.dataset.status}`;
        if (row.matches(".handoff")) return `${depth}${row.textContent}`;
        return `${depth}${row.matches(".speaker") ? "@" : ""}${row.textContent}`;
      }),
  );

const looks = (page, expected) => becomes(() => outline(page), expected);

/** The same before and after a reload. */
async function stays(page, expected) {
  await looks(page, expected);
  await atRest(page);
  await page.reload();
  await looks(page, expected);
}

const status = (page, name) => page.locator(".task", { has: page.locator(`:scope > .task-line > summary .task-name`, { hasText: name }) }).first().locator(".task-line > summary .tool-status").first();

const DELEGATED = [
  desk("I'll ask them.", task("clerk", "Refund order 1003, twenty euros."), task("scout", "What is on the shelves?")),
  clerk("Let me see.", task("scout", "Is 1003 in the yard?")),
  ...["shelves", "yard"].flatMap((where) => [about(where, scout("Looking.", call("find_order", { order_id: "1" }))), about(where, scout("Seen."))]),
  clerk("It is there, so I refund it.", refund()),
  clerk("I refunded **20 €**."),
  desk("All done."),
];
const nested = (refunded, after = []) => [
  "Refund 1003, and count",
  "@Front desk",
  "I'll ask them.",
  `Clerk [${after.length ? "done" : "waiting"}]`,
  "  Let me see.",
  "  Scout [done]",
  "    Looking.",
  "    find_order: done",
  "    Seen.",
  "  It is there, so I refund it.",
  `  refund: ${refunded}`,
  ...(after.length ? ["  I refunded 20 €."] : []),
  "Scout [done]",
  "  Looking.",
  "  find_order: done",
  "  Seen.",
  ...after,
];

/** Two at once, one of them with another inside: what is asked in there, by whom, and what became of it. */
export async function builtinTeamAsks(t) {
  await t.script(...DELEGATED);
  const page = await open(t);
  await page.locator(".example").first().waitFor();
  await shows(page.locator(".welcome-team"), /^Works with Billing, Clerk, Scout, and Courier\.$/);
  await say(page, "Refund 1003, and count");
  await page.locator(".card").waitFor();
  await shows(page.locator(".card-agent"), /^Clerk asks$/);
  await shows(page.locator(".card-heading"), /Refund 20 € for order 1003\?$/);
  await accessible(page, "asked");
  await t.shot(page, "asked");
  await stays(page, nested("waiting"));
  await shows(page.locator(".card-agent"), /^Clerk asks$/);
  await shows(page.locator(".card-heading"), /Refund 20 € for order 1003\?$/);
  await press(page, "Edit");
  await page.fill(".card .field input", "5");
  await press(page, "Approve with changes");
  await answer(page, "All done.");
  await done(page);
  await shows(status(page, "Clerk"), /^Done · 1 approved$/);
  await counts(page.locator(".task-line[open]"), 0, "what is done is folded");
  await t.shot(page, "folded");
  await page.locator(".task-line > summary").first().click();
  await shows(page.locator(".tool-decision:visible"), new RegExp(`^Approved at ${CLOCK}, in the chat · Amount 20 € → 5 €$`));
  await t.shot(page, "unfolded");
  await accessible(page, "unfolded");
  await stays(page, nested("done", ["All done."]));
  await shows(page.locator(".shared-preview"), /Refunds: 1 entry/);
}

/** Rejected inside: the sub-agent reads why, and the page says so. */
export async function builtinTeamRejects(t) {
  await t.script(desk(task("clerk", "Refund 1003.")), clerk(refund()), clerk("Then I won't."), desk("It was not refunded."));
  const page = await open(t);
  await say(page, "Refund 1003");
  await press(page, "Reject");
  await page.fill(".card input", "not yet");
  await page.press(".card input", "Enter");
  await answer(page, "It was not refunded.");
  await shows(status(page, "Clerk"), /^Done · 1 rejected$/);
  await page.locator(".task-line > summary").click();
  await shows(page.locator(".tool-decision:visible"), /^Rejected at .*“not yet”$/);
  await stays(page, ["Refund 1003", "@Front desk", "Clerk [done]", "  refund: rejected", "  Then I won't.", "It was not refunded."]);
}

/** Two questions of two sub-agents go out together; another tab was at it, too, and both say what is true. */
export async function builtinTeamTwo(t) {
  await t.script(desk(task("clerk", "Refund 1001."), task("clerk", "Refund 1002.")), about("1001", clerk(refund("1001", 1))), about("1002", clerk(refund("1002", 2))), clerk("So it is."), clerk("So it is."), desk("One is refunded."));
  const page = await open(t);
  await say(page, "Refund both");
  await counts(page.locator(".card"), 2);
  const other = await t.tab(page);
  await counts(other.locator(".card"), 2);
  await other.locator(".card").first().getByRole("button", { name: "Reject" }).click();
  await other.keyboard.press("Enter");
  await shows(other.locator("#batch-text"), /^1 of 2 decided$/);
  await t.shot(other, "one-of-two");
  await page.locator(".card").first().getByRole("button", { name: "Approve" }).click();
  await press(page, "Reject");
  await page.keyboard.press("Enter");
  for (const tab of [page, other]) await answer(tab, "One is refunded.");
  const told = (tab) => tab.$$eval(".task-line > summary .tool-status", (all) => all.map((one) => one.textContent));
  for (const tab of [page, other]) await becomes(() => told(tab), ["Done · 1 approved", "Done · 1 rejected"]);
  for (const tab of [page, other]) await tab.locator(".task-line > summary").first().click();
  await shows(page.locator(".tool-decision:visible").first(), /^Approved at /);
  await shows(other.locator(".tool-decision:visible").first(), /^Already approved at .* Your answer came too late and changed nothing\.$/);
  const expected = ["Refund both", "@Front desk", "Clerk [done]", "  refund: done", "  So it is.", "Clerk [done]", "  refund: rejected", "  So it is.", "One is refunded."];
  await looks(other, expected);
  await stays(page, expected);
}

/** Looked at from another tab while a sub-agent works, stopped there, gone on with, deleted. */
export async function builtinTeamStopped(t) {
  await t.script(desk("I'll ask.", task("scout", "Count.")), scout("I count.", call("count_shelves", { seconds: 60 })), desk("Nobody counted."));
  const page = await open(t);
  await say(page, "Count the shelves");
  await page.locator(".activity").waitFor();
  await looks(page, ["Count the shelves", "@Front desk", "I'll ask.", "Scout [running]", "  I count.", "  count_shelves: running", "  CountingProgress1 of 3"]);
  await t.shot(page, "working");
  await page.locator(".task-line > summary").click();
  await counts(page.locator(".task-line[open]"), 0, "folded by hand");
  const other = await t.tab(page);
  await other.locator(".activity").waitFor();
  await shows(status(other, "Scout"), /^Working$/);
  await other.getByRole("button", { name: "Stop" }).click();
  for (const tab of [page, other]) await shows(tab.locator(".notice"), /Stopped/);
  await shows(status(page, "Scout"), /^Stopped$/);
  await counts(page.locator(".task-line[open]"), 1, "how it ended is not folded away");
  await t.shot(page, "stopped");
  await page.reload();
  await looks(page, ["Count the shelves", "@Front desk", "I'll ask.", "Scout [stopped]", "  I count.", "  count_shelves: stopped", "  CountingProgress1 of 3", "The assistant has not read this yet.Go on"]);
  await t.rests(page);
  await say(page, "And now?");
  await answer(page, "Nobody counted.");
  await other.close();
}

/** A run that dies inside a sub-agent is told in words, and goes on by a click. */
export async function builtinTeamFails(t) {
  await t.script(desk(task("clerk", "Refund 1003.")), { ...clerk("never"), fault: { kind: "failed", code: "server_error", message: "no", times: 9 } }, desk("The clerk could not."));
  const page = await open(t);
  await say(page, "Refund 1003");
  await answer(page, "The clerk could not.");
  await shows(status(page, "Clerk"), /^Failed$/);
  await shows(page.locator(".task-note"), /^Failed: The agent clerk could not finish/);

  await t.shot(page, "failed");
  await accessible(page, "failed");
  await stays(page, ["Refund 1003", "@Front desk", "Clerk [error]", "The clerk could not."]);
}

const HANDED = [
  desk("I'll pass you on.", call("transfer_to_billing", {})),
  billing("Billing here.", call("credit", { customer: "Anna", points: 5 })),
  billing("She has five more."),
  billing(call("transfer_to_front_desk", {})),
  desk("Welcome back."),
];
const PASSED = ["Give Anna points", "@Front desk", "I'll pass you on.", "Front desk hands over to Billing", "@Billing", "Billing here."];

/** Over to billing, which asks; back again; the same after a reload; and anew after a hand-off. */
export async function builtinTeamHandoff(t) {
  await t.script(...HANDED);
  const page = await open(t);
  await say(page, "Give Anna points");
  await page.locator(".card").waitFor();
  await shows(page.locator(".card-agent"), /^Billing asks$/);
  await stays(page, [...PASSED, "credit: waiting"]);
  await shows(page.locator(".card-agent"), /^Billing asks$/);
  await page.keyboard.press("Escape");
  await focusIs(page, ".card");
  await page.keyboard.press("a");
  await answer(page, "She has five more.");
  await done(page);
  await t.shot(page, "handed");
  await accessible(page, "handed");
  await say(page, "Thanks");
  await answer(page, "Welcome back.");
  await done(page);
  const whole = [...PASSED, "credit: done", "She has five more.", "Thanks", "@Billing", "Billing hands over to Front desk", "@Front desk", "Welcome back."];
  await stays(page, whole.filter((line, at) => line !== "@Billing" || at < 10));
  await t.script(billing("Stay with me."));
  await page.getByRole("button", { name: "Try again" }).click(); // the way back is gone: billing answers again
  await answer(page, "Stay with me.");
  await done(page);
  await stays(page, [...PASSED, "credit: done", "She has five more.", "Thanks", "@Billing", "Stay with me."]);
  await t.shot(page, "again");
}

/** The state as tools change it, as it is typed, after a reload; one that is large; none. */
export async function builtinTeamState(t) {
  await t.script(
    desk("Noted.", call("remember", { name: "cart", size: 0 })),
    desk("I have a draft.", call("publish", { text: "Hello, world." })),
    desk("It is out.", call("remember", { name: "pile", size: 200_000 })),
    desk("That was much."),
  );
  const page = await open(t);
  await page.locator(".example").first().waitFor();
  await counts(page.locator(".shared:visible"), 0, "there is none");
  await say(page, "Remember the cart, and publish");
  await page.locator(".card").waitFor();
  await shows(page.locator(".shared-preview"), /^Cart: Kept, Tags · Draft: Text$/);
  await page.locator(".shared summary").click();
  await shows(page.locator(".shared-body"), /DraftTextHello, world\.$/);
  const bottom = async (locator) => (await locator.boundingBox()).y + (await locator.boundingBox()).height;
  await becomes(async () => (await bottom(page.locator(".card"))) <= (await page.locator(".shared").boundingBox()).y, true, "it covers no button");
  await accessible(page, "state");
  await t.shot(page, "state");
  await page.reload();
  await shows(page.locator(".shared-preview"), /^Cart: Kept, Tags$/); // previews are not kept
  await press(page, "Approve");
  await answer(page, "That was much.");
  await shows(page.locator(".shared-preview"), /^Cart: Kept, Tags · Published: Hello, world\. · Pile: 200 KB$/);
  await page.locator(".shared summary").click();
  await page.getByRole("button", { name: "Show all 200 KB" }).click();
  await becomes(() => page.evaluate(() => document.querySelector(".shared-body pre").textContent.length > 200_000), true);
  await t.shot(page, "large");
  await page.reload();
  await shows(page.locator(".shared-preview"), /Pile: 200 KB$/);
  await page.click("#new-chat");
  await counts(page.locator(".shared:visible"), 0);
}

/** What a tool shows that no page was made for, small and large, in a sub-agent too. */
export async function builtinTeamActivity(t) {
  await t.script(desk("A map.", call("draw_map", { size: 2 }), task("scout", "Draw one as well.")), scout(call("draw_map", { size: 900 })), scout("Drawn."), desk("Two maps."));
  const page = await open(t);
  await say(page, "Draw maps");
  await answer(page, "Two maps.");
  await done(page);
  await shows(page.locator(".rows > .activity"), /^x:treasure\.mapLegendgold/);
  await page.locator(".task-line > summary").click();
  await page.locator(".task .activity").getByRole("button", { name: /^Show all \d\d KB$/ }).waitFor();
  await accessible(page, "activities");
  await t.shot(page, "activity");
  await stays(page, await outline(page));
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "no sideways scrolling");
}

/** Answers of a given form are read, not parsed; and one that doesn't fit is said in words. */
export async function builtinTeamForm(t) {
  await t.script(analyst('{"verdict": "It stands well.", "orders": ["1003", "1004"], "urgent": false}'));
  const page = await open(t);
  await page.locator("#agent-choice").selectOption("analyst");
  await say(page, "How does it stand?");
  await shows(page.locator(".form"), /^VerdictIt stands well\.Orders"1003""1004"UrgentNo$/);
  await t.shot(page, "form");
  await accessible(page, "form");
  await page.reload();
  await shows(page.locator(".form"), /^VerdictIt stands well\./);
  await t.script(analyst("No idea."), analyst("None at all."));
  await say(page, "And now?");
  await shows(page.locator(".notice"), /^The model.s answer does not have the required formTry again with a more precise request\. output: Invalid JSON/);
  await t.shot(page, "unfit");
}

/** What waits inside is decided from the list, which says who asks; an edit has the fields of that agent's tool. */
export async function builtinTeamInbox(t) {
  await t.script(...DELEGATED);
  const page = await open(t);
  await say(page, "Refund 1003, and count");
  await page.locator(".card").waitFor();
  await page.click("#new-chat");
  await page.locator("#inbox-open").click();
  await shows(page.locator(".inbox-where"), /^Clerk asks · Refund 1003, and count · /);
  await shows(page.locator(".inbox .card-agent"), /^Clerk asks$/);
  await t.shot(page, "inbox");
  await accessible(page, "inbox");
  await press(page, "Edit", ".inbox .card");
  await page.getByLabel("Amount (€)").fill("7");
  await press(page, "Approve with changes", ".inbox .card");
  await shows(page.locator(".inbox .detail .line"), /^Approved at .* · Amount 20 € → 7 €$/);
  await page.getByRole("button", { name: "Open chat" }).click();
  await answer(page, "All done.");
  await looks(page, nested("done", ["All done."]));
}

/** On a telephone, in the dark. */
export async function builtinTeamNarrow(t) {
  await t.script(...DELEGATED, ...HANDED.slice(0, 3));
  const page = await open(t, { viewport: { width: 320, height: 780 }, deviceScaleFactor: 2, colorScheme: "dark" });
  const fits = async () => assert.ok(await page.evaluate(() => document.querySelector("#main").scrollWidth <= innerWidth), "nothing is wider than the screen");
  await say(page, "Refund 1003, and count");
  await page.locator(".card").waitFor();
  await t.shot(page, "card");
  await accessible(page, "narrow card");
  await fits();
  await press(page, "Approve");
  await answer(page, "All done.");
  await done(page);
  await t.shot(page, "done");
  await page.locator(".task-line > summary").first().click();
  await page.locator(".shared summary").click();
  await t.shot(page, "open");
  await accessible(page, "narrow open");
  await say(page, "Give Anna points");
  await press(page, "Approve");
  await answer(page, "five more");
  await done(page);
  await t.shot(page, "handed");
  await fits();
}

/** The server is started again while a sub-agent waits: the same card, and it goes on from there. Then all is deleted. */
export async function builtinTeamRestart(t) {
  await t.script(...DELEGATED);
  const page = await open(t);
  await say(page, "Refund 1003, and count");
  await page.locator(".card").waitFor();
  page.allow(/ERR_|status of 50/);
  await t.restart("team");
  await page.reload();
  await looks(page, nested("waiting"));
  await press(page, "Approve");
  await answer(page, "All done.");
  await done(page);
  await stays(page, nested("done", ["All done."]));
  const other = await t.tab(page);
  await other.locator(".task").first().waitFor();
  const asked = await watched(other, /view=calls/);
  await quiet(other);
  const said = await asked.hold(); // it can't know before that
  other.allow(/status of 404/);
  page.allow(/404.*view=calls/); // it may look just when the chat is gone
  await page.getByRole("button", { name: /^Rename or delete/ }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.locator(".welcome").waitFor();
  await isPatient(other);
  await type(other, "And now?");
  said();
  await other.getByText("This chat was deleted.").waitFor();
  await counts(other.locator(".task"), 0);
  await counts(other.locator(".shared:visible"), 0, "nor is its state there any more");
}

/** The agent that delegated fails: what its sub-agent did stays, is not done again, and is said when all is asked anew. */
export async function builtinTeamAgain(t) {
  await t.script(desk(task("clerk", "Refund 1003.")), clerk(refund()), clerk("Refunded."), { ...desk("never"), fault: { kind: "failed", code: "server_error", message: "no", times: 9 } });
  const page = await open(t);
  await say(page, "Refund 1003");
  await press(page, "Approve");
  await page.locator(".notice").waitFor();
  await t.rests(page);
  await t.script(desk("It was refunded."));
  await page.getByRole("button", { name: "Retry" }).click();
  await answer(page, "It was refunded.");
  await done(page);
  const told = ["Refund 1003", "@Front desk", "Clerk [done]", "  refund: done", "  Refunded.", "It was refunded."];
  await stays(page, told);
  await t.script(desk("Nothing more to do."));
  await page.getByRole("button", { name: "Try again" }).click();
  await shows(page.locator(".dialog-list"), /^Refund · 1003 · 20 € · ran at/);
  await page.getByRole("dialog").getByRole("button", { name: "Try again" }).click();
  await answer(page, "Nothing more to do.");
  await done(page);
  await t.shot(page, "again");
  await stays(page, ["Refund 1003", "Ran in an answer that was replaced. What it did stays done.", "refund: done", "@Front desk", "Nothing more to do."]);
}

/** Decided elsewhere without going on: what ran is said, the task is not done, and a click goes on with it. */
export async function builtinTeamPaused(t) {
  await t.script(desk(task("clerk", "Refund 1003.")), clerk(refund()), clerk("Refunded."), desk("All done."));
  const page = await open(t);
  await say(page, "Refund 1003");
  await page.locator(".card").waitFor();
  await decide(t, page, { approved: true, continue: false });
  await looks(page, ["Refund 1003", "@Front desk", "Clerk [paused]", "  refund: done", "The assistant has not read this yet.Go on"]);
  await t.shot(page, "paused");
  await page.reload();
  await shows(status(page, "Clerk"), /^Not finished · 1 approved$/);
  await page.getByRole("button", { name: "Go on" }).click();
  await answer(page, "All done.");
  await done(page);
  await stays(page, ["Refund 1003", "@Front desk", "Clerk [done]", "  refund: done", "  Refunded.", "All done."]);
}

/** The server ends while one of two sub-agents works: that one is stopped, the other one is not asked again. */
export async function builtinTeamDown(t) {
  await t.script(
    desk("I'll ask both.", task("clerk", "Find 1003."), task("scout", "Count.")),
    clerk("Looking.", call("find_order", { order_id: "1003" })),
    clerk("It is delivered."),
    scout("I count.", call("count_shelves", { seconds: 60 })),
  );
  const page = await open(t);
  page.allow(/ERR_|Failed to fetch|status of 50/);
  await say(page, "Find and count");
  await shows(status(page, "Clerk"), /^Done$/);
  await page.locator(".activity").waitFor();
  await t.restart("team");
  await page.locator(".notice").waitFor();
  await t.shot(page, "killed");
  await t.script(scout("I had to stop."), desk("One of two."));
  await page.getByRole("button", { name: "Retry" }).click();
  await answer(page, "One of two.");
  await done(page);
  await t.shot(page, "again");
  const asked = ["Clerk [done]", "  Looking.", "  find_order: done", "  It is delivered."];
  const stopped = ["Scout [stopped]", "  I count.", "  count_shelves: stopped", "  CountingProgress1 of 3"];
  await stays(page, ["Find and count", "@Front desk", "I'll ask both.", ...asked, ...stopped, "One of two."]);
}

/** A task that waits for a yes itself: a card first, then what the sub-agent does, with who agreed to what. */
export async function builtinTeamGated(t) {
  await t.script(desk("I'd send the courier.", task("courier", "Bring it to Anna.")), of("courier")("On my way.", call("credit", { customer: "Anna", points: 1 })), of("courier")("Brought."), desk("It was brought."));
  const page = await open(t);
  await say(page, "Send it to Anna");
  await page.locator(".card").waitFor();
  await shows(page.locator(".card-title"), /^Courier$/);
  await counts(page.locator(".card-agent"), 0, "it is the chat's own agent that asks");
  await t.shot(page, "begin");
  await stays(page, ["Send it to Anna", "@Front desk", "I'd send the courier.", "courier: waiting"]);
  await press(page, "Edit");
  await page.fill(".card .field :is(input, textarea)", "Bring it to Ben.");
  await press(page, "Approve with changes");
  await shows(page.locator(".card-agent"), /^Courier asks$/);
  await shows(page.locator(".task-brief"), /^Bring it to Ben\.$/);
  await shows(page.locator(".task-body > .tool-decision"), /^Approved at .* · Task “Bring it to Anna\.” → “Bring it to Ben\.”$/);
  await stays(page, ["Send it to Anna", "@Front desk", "I'd send the courier.", "Courier [waiting]", "  On my way.", "  credit: waiting"]);
  await t.shot(page, "inside");
  await press(page, "Approve");
  await answer(page, "It was brought.");
  await done(page);
  await shows(status(page, "Courier"), /^Done · 1 approved$/);
  await page.locator(".task-line > summary").click();
  await becomes(() => page.locator(".tool-decision:visible").count(), 2);
  await t.shot(page, "done");
  await stays(page, ["Send it to Anna", "@Front desk", "I'd send the courier.", "Courier [done]", "  On my way.", "  credit: done", "  Brought.", "It was brought."]);
  await t.script(desk(task("courier", "Again.")), desk("Then not."));
  await say(page, "Once more");
  await press(page, "Reject");
  await page.keyboard.press("Enter");
  await answer(page, "Then not.");
  await becomes(async () => (await outline(page)).slice(-3), ["Once more", "@Front desk", "courier: rejected", "Then not."].slice(-3));
}
