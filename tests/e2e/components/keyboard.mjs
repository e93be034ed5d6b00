// Somebody at a page who has nothing but a keyboard. Wherever they come to, they see where they are; whatever they did, they
// are somewhere. What they look at is sound: no finding of axe, nothing wider than the page, nothing too small for a finger.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { eventually } from "../eventually.mjs";
import { AXE, SERVER, browser } from "./site.mjs";

const SHOTS = fileURLToPath(new URL("../shots/people/", import.meta.url));
mkdirSync(SHOTS, { recursive: true });

const STOPS = 60; // of the Tab key, until what is looked for is not there
const TARGET = 24; // CSS pixels, each way

export const DEVICES = {
  desktop: { viewport: { width: 1180, height: 860 } },
  phone: { viewport: { width: 390, height: 780 }, isMobile: true, hasTouch: true },
};

/** Runs in each page: what is asked about the focus and about targets, through shadow roots. */
function inPage(least) {
  const focused = () => {
    let element = document.activeElement;
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    return element;
  };
  const textOf = (node) => {
    const copy = node.cloneNode(true);
    for (const hidden of copy.querySelectorAll("[aria-hidden=true], option")) hidden.remove();
    return copy.textContent.replace(/\s+/g, " ").trim();
  };
  const nameOf = (element) => element.getAttribute("aria-label") ?? ([...(element.labels ?? [])].map(textOf).join(" ") || textOf(element));
  const hasRing = (element) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    const frame = element.closest(".composer"); // the frame of a field
    if (element.matches("main")) return true; // where the focus of what is gone goes, and no stop
    if (element.matches(":not(:focus)")) return true; // a button inside of the browser's own field: its ring is the browser's
    return (outlineStyle !== "none" && parseFloat(outlineWidth) >= 1) || (frame && getComputedStyle(frame).boxShadow.includes("3px"));
  };
  const isHit = (element) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    const places = [[0.5, 0.5], [0.1, 0.2], [0.9, 0.2], [0.1, 0.8], [0.9, 0.8]];
    return places.some(([x, y]) => {
      const hit = element.getRootNode().elementFromPoint(left + width * x, top + height * y);
      return hit !== null && (element.contains(hit) || hit.contains(element));
    });
  };
  const all = (root) => [...root.querySelectorAll("*")].flatMap((node) => (node.shadowRoot ? [node, ...all(node.shadowRoot)] : [node]));
  const isInText = (node) => node.matches("a") && getComputedStyle(node).display === "inline" && node.parentElement.textContent.trim() !== node.textContent.trim();
  const isTarget = (node) => node.matches("a[href], button, input, select, textarea, summary, [role=button], [role=menuitem]") && node.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !node.closest("[inert]") && !isInText(node);
  globalThis.keyboard = {
    /** Where the focus is: `{name}`, with what is wrong there; null: nowhere. */
    at() {
      const element = focused();
      if (!element || element === document.body || element === document.documentElement) return null;
      const wrong = [!hasRing(element) && "no ring", !isHit(element) && "covered"].filter(Boolean);
      return { name: nameOf(element), wrong, html: element.outerHTML.slice(0, 200) };
    },
    /** Targets that are too small for a finger. */
    small() {
      const dialog = document.querySelector("dialog[open]");
      return all(dialog ?? document).filter(isTarget).flatMap((node) => {
        const { width, height } = (node.matches("input") && node.closest("label") ? node.closest("label") : node).getBoundingClientRect();
        return width <= 1 || (width >= least && height >= least) ? [] : [`${width.toFixed(1)} × ${height.toFixed(1)}: ${node.outerHTML.slice(0, 160)}`];
      });
    },
  };
}

/** A browser on a device, in a look. A browser has six connections to a server, and each page keeps one. */
export async function place(device, colorScheme) {
  const context = await browser.newContext({ locale: "en-GB", timezoneId: "Europe/Berlin", colorScheme, ...DEVICES[device] });
  context.setDefaultTimeout(Number(process.env.PATIENCE ?? 60_000));
  await context.addInitScript(inPage, TARGET);
  await context.addInitScript(() => {
    if (location.pathname.startsWith("/copilot")) return; // what it is made of has time-outs of that length
    const usual = window.setTimeout;
    window.setTimeout = (act, ms, ...more) => usual(act, ms >= 5_000 && ms <= 20_000 ? 400 : ms, ...more); // looks for news
  });
  return { context, width: DEVICES[device].viewport.width, name: `${device}-${colorScheme}` };
}

/** `who` has opened a page there. */
export async function sits({ context, width, name: look }, token, path) {
  const page = await context.newPage();
  await page.addInitScript((said) => sessionStorage.setItem("agui-gate.token", said), token);
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => message.type() === "error" && problems.push(`${message.text()} ${message.location().url}`));
  context.front = page;
  await page.goto(`${SERVER}${path}`);
  return new Person(page, { problems, width, look });
}

class Person {
  constructor(page, { problems, width, look }) {
    Object.assign(this, { page, problems, width, look });
  }

  /** A page behind another one is drawn once a second. */
  async comesToFront() {
    const context = this.page.context();
    if (context.front === this.page) return;
    context.front = this.page;
    await this.page.bringToFront();
  }

  /** Where they are. Fails where they are nowhere, or can't see where. */
  async at(message = "after a key") {
    const at = await eventually(async () => {
      const found = await this.page.evaluate(() => globalThis.keyboard.at());
      assert.ok(found, `the focus is lost ${message}`);
      assert.deepEqual(found.wrong, [], `${message}, at ${found.html}`);
      return found;
    }, 2_000);
    return at.name;
  }

  /** Press keys, one after the other; after the last they are somewhere. */
  async press(...keys) {
    await this.comesToFront();
    for (const key of keys) await this.page.keyboard.press(key);
    return this.at(`after ${keys.join(", ")}`);
  }

  /** Press a key that leads to another page. */
  async leaves(key) {
    await Promise.all([this.page.waitForEvent("load"), this.page.keyboard.press(key)]);
  }

  async type(text) {
    await this.comesToFront();
    await this.page.keyboard.type(text);
  }

  /** Go on with Tab (or `by`) until they are where the name is this one. */
  async to(name, by = "Tab") {
    const seen = [];
    while (seen.length < STOPS) {
      seen.push(await this.press(by).catch((error) => assert.fail(`${error.message}; no ${name} in: ${seen.join(" | ")}`)));
      if (typeof name === "string" ? seen.at(-1) === name : name.test(seen.at(-1))) return;
    }
    assert.fail(`no ${name} by ${by}: ${seen.join(" | ")}`);
  }

  /** They are where the name is this one, or go there. */
  async isAt(name, by = "Tab") {
    const at = await this.page.evaluate(() => globalThis.keyboard.at());
    if (at?.name !== name) await this.to(name, by);
  }

  /** It is there to be read, in the end. */
  async sees(text) {
    await this.comesToFront();
    const found = this.page.getByText(text).filter({ visible: true }).first();
    await found.waitFor().catch(async (error) => {
      await this.page.screenshot({ path: `${SHOTS}missed-${this.look}.png` });
      throw error;
    });
  }

  /** What they look at is sound, or else told when they leave. A picture of it is kept. */
  async looks(what, { isAnywhere = true } = {}) {
    const { page } = this;
    await this.comesToFront();
    if (isAnywhere) await this.at(`when ${what}`);
    await page.screenshot({ path: `${SHOTS}${what}-${this.look}.png` });
    if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => {
      for (const it of document.getAnimations()) if (it.effect.getTiming().iterations !== Infinity) it.finish();
      return globalThis.axe.run(document, { resultTypes: ["violations"] });
    });
    const small = await page.evaluate(() => globalThis.keyboard.small());
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    this.problems.push(...violations.map(({ id, nodes }) => `${what}: ${id} ${nodes.map(({ html }) => html).join(" | ")}`), ...small.map((it) => `${what}: too small for a finger: ${it}`));
    if (await page.getByText("The server can't be reached").filter({ visible: true }).count()) this.problems.push(`${what}: the server can't be reached`);
    if (wide > this.width) this.problems.push(`${what}: ${wide} px wide`);
  }
}
