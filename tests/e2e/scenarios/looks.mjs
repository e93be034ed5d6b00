/** How it looks and how it is operated: themes, narrow screens, the keyboard, axe. */

import { accessible } from "../axe.mjs";
import { becomes, counts } from "../eventually.mjs";
import { call, calls, refund, says } from "../stage.mjs";

const TURN = {
  output: [
    { type: "reasoning", summary: ["The order exists, so a refund is possible."] },
    { type: "message", text: "I'll refund **order 1003**." },
    call("get_order", { order_id: "1003" }),
    refund(),
  ],
};

/** In both themes: empty, an open card, its edit form, the answer, the banner over it. */
export async function accessibility(t) {
  for (const [colorScheme, other] of [["light", "dark"], ["dark", "light"]]) {
    await t.script(TURN, says("Done, with a [link](https://example.com) and `code`.\n\n```python\nprint('paid', 20)\n```"));
    const page = await t.open({ colorScheme });
    await page.waitForSelector(".example");
    await t.shot(page, `${colorScheme}-empty`);
    await accessible(page, `${colorScheme} empty`);
    await t.say(page, "Refund ten cents of order 1003");
    await t.card(page).waitFor();
    await t.chipsAre(page, ["get_order:done", "refund:waiting"]);
    await page.locator('[data-testid="tool-chip"] summary').first().click();
    await t.shot(page, `${colorScheme}-card`);
    await accessible(page, `${colorScheme} card`);
    await t.press(page, "Edit");
    await t.shot(page, `${colorScheme}-edit`);
    await accessible(page, `${colorScheme} edit`);
    await page.keyboard.press("Enter");
    await t.answered(page, "Done, with a");
    await page.locator('[data-streamdown="code-block-body"] [style*="--shiki"]').first().waitFor({ state: "attached" }); // its colours come late
    await t.shot(page, `${colorScheme}-done`);
    await accessible(page, `${colorScheme} done`);
    await page.getByRole("button", { name: /^Thought for/, expanded: false }).click(); // folded, and opens
    await page.getByRole("button", { name: /^Thought for/, expanded: true }).waitFor();
    await page.getByRole("button", { name: `Use the ${other} theme` }).click();
    await page.waitForSelector(`html[data-theme=${other}]`);
    await page.getByRole("button", { name: `Use the ${colorScheme} theme` }).click();
    page.allow(/HTTP 503|status of 503|agent/i);
    await page.route(t.via === "browser" ? "**/agents/support" : "**/run", (route) => route.fulfill({ status: 503, json: { error: { code: "unavailable", message: "The server is shutting down." } } }));
    await t.say(page, "And more");
    await t.banner(page, "unavailable").waitFor();
    await t.shot(page, `${colorScheme}-banner`);
    await accessible(page, `${colorScheme} banner`);
  }
}

/** From the first key to the approval without a mouse. */
export async function keyboard(t) {
  await t.script(calls("I'll refund it.", refund()), says("Keyed in."));
  const page = await t.open({ colorScheme: "light" }); // a page of its own: the first key is the first
  await page.waitForSelector(".example");
  await page.keyboard.press("Tab");
  await becomes(() => page.evaluate(() => document.activeElement.className), "skip");
  await page.focus('[data-testid="copilot-chat-textarea"]');
  await page.keyboard.type("Refund ten cents of order 1003");
  await t.send(page);
  await t.card(page).waitFor();
  await t.idle(page);
  await page.focus("main");
  for (let at = 0; at < 25; at += 1) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement.shadowRoot?.activeElement?.textContent === "ApproveA")) break;
  }
  await t.shot(page, "focus");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter"); // Edit
  await page.waitForFunction(() => (document.activeElement.shadowRoot ?? document).activeElement?.name === "amount");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter"); // Back: the focus stays on the card
  await page.waitForFunction(() => document.activeElement.matches(".gate-card"));
  await page.keyboard.press("e");
  await page.waitForFunction(() => (document.activeElement.shadowRoot ?? document).activeElement?.name === "amount");
  await becomes(() => page.inputValue("input[name=amount]"), "0.1", "the key is no text");
  await page.keyboard.press("a"); // typed, not decided
  await becomes(() => page.inputValue("input[name=amount]"), "a");
  await page.keyboard.press("Escape");
  await page.keyboard.press("r");
  await page.waitForFunction(() => (document.activeElement.shadowRoot ?? document).activeElement?.name === "reason");
  await page.keyboard.press("Escape");
  await page.focus('[data-testid="copilot-chat-textarea"]');
  await page.keyboard.press("a"); // a message, not an answer
  await page.keyboard.press("Backspace");
  await counts(t.card(page), 1);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.activeElement.matches(".gate-card"));
  await t.shot(page, "keys");
  await page.keyboard.press("a");
  await t.answered(page, "Keyed in.");
  await becomes(() => page.evaluate(() => document.activeElement.dataset.testid), "copilot-chat-textarea", "where one goes on");
}

export async function narrow(t) {
  await t.script(calls("I'll refund it.", refund()), says("Done on a small screen."));
  const page = await t.open({ viewport: { width: 390, height: 780 }, deviceScaleFactor: 2 });
  await page.waitForSelector(".example");
  await t.shot(page, "empty");
  await accessible(page, "narrow empty");
  await t.say(page, "Refund ten cents of order 1003");
  await t.card(page).waitFor();
  await t.shot(page, "card");
  await accessible(page, "narrow card");
  await page.getByText("A message cancels what is not decided above.").waitFor(); // in sight, not behind what the run took
  await t.press(page, "Edit");
  await t.shot(page, "edit");
  await accessible(page, "narrow edit");
  await page.getByRole("button", { name: "Approve with changes" }).click();
  await t.answered(page, "Done on a small screen.");
  await becomes(() => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "no sideways scrolling");
  await page.getByRole("button", { name: "Chats" }).click();
  await page.getByRole("button", { name: "New chat" }).first().waitFor();
  await page.waitForFunction(() => document.activeElement?.className === "new-chat");
  await t.shot(page, "menu");
  await accessible(page, "narrow menu");
  await page.keyboard.press("Escape");
  await page.waitForSelector('.sidebar[data-open="false"]', { state: "attached" });
  page.allow(/HTTP 401|status of 401|agent/i);
  await page.route("**/run", (route) => route.fulfill({ status: 401, json: { error: { code: "unauthorized", message: "Authentication is required." } } }));
  await t.say(page, "And more");
  await t.banner(page, "unauthorized").waitFor();
  await becomes(async () => (await t.banner(page).boundingBox()).height < 200, true, "its words have room next to the form");
  await t.shot(page, "banner");
}
