// Screenshots of an approval in the built-in page, for the moving picture of the README: `python -m tests.e2e.picture`.
// It says `restart` when the server is to be killed and started again, and goes on when a line comes.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { answer, say } from "./builtin.mjs";
import { drawn, launch } from "./browser.mjs";

const [url, folder] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin });
const browser = await launch();
const page = await browser.newPage({ viewport: { width: 760, height: 560 }, colorScheme: "light" });
let number = 0;

/** What the picture says below the page while this is shown. */
const caption = (text) =>
  page.evaluate((said) => {
    const bar = document.getElementById("caption") ?? document.body.appendChild(Object.assign(document.createElement("div"), { id: "caption" }));
    bar.textContent = said;
    bar.style.cssText = "position:fixed;inset:auto 0 0;height:44px;display:grid;place-items:center;background:#1f2937;color:#fff;font:600 16px system-ui;z-index:99";
    document.body.style.paddingBottom = "44px";
    document.documentElement.style.setProperty("caret-color", "transparent");
  }, text);

/** One frame, shown for `ms`. */
async function shoot(ms, text) {
  await caption(text);
  await page.locator("#scroll").evaluate((box) => box.scrollTo(0, box.scrollHeight));
  await drawn(page);
  writeFileSync(join(folder, `${String(++number).padStart(2, "0")}-${ms}.png`), await page.screenshot({ animations: "disabled" })); // what fades in is there
}

await page.goto(url);
await page.locator(".welcome").waitFor();
await shoot(1200, "An agent with a tool that needs a person's yes");
await page.fill("#input", "Refund 20 euros of order 1003");
await shoot(1400, "Somebody asks");
await page.press("#input", "Enter");
const card = page.locator("agui-confirm-card").last();
await card.locator("button", { hasText: "Approve" }).waitFor();
await page.locator('#rows[aria-busy="false"]').waitFor({ state: "attached" });
await shoot(2600, "The model calls refund. Nothing has run: it waits");
console.log("restart");
await lines[Symbol.asyncIterator]().next();
await page.reload();
await card.locator("button", { hasText: "Approve" }).waitFor();
await shoot(2600, "The server is killed and started again. It still waits");
await card.locator("button", { hasText: "Approve" }).hover();
await shoot(1200, "A person reads it, and approves");
await card.locator("button", { hasText: "Approve" }).first().click();
await page.locator(".footer").last().waitFor();
await page.locator('#rows[aria-busy="false"]').waitFor({ state: "attached" });
await shoot(3400, "It ran once, with what was approved. The model goes on");
await browser.close();
lines.close();
