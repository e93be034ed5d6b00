/** axe on what is on screen. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const SOURCE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SERIOUS = ["serious", "critical"];

/** No serious finding; `where` names the state. What still fades in is put to its end: in what is folded it would never get there. */
export async function accessible(page, where) {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(SOURCE);
  const { violations } = await page.evaluate(() => {
    document.getAnimations().filter((it) => it.effect.getTiming().iterations !== Infinity).forEach((it) => it.finish());
    return globalThis.axe.run(document, { resultTypes: ["violations"] });
  });
  const findings = violations.filter(({ impact }) => SERIOUS.includes(impact));
  const told = findings.map(({ id, help, nodes }) => `${where}: ${id} (${help}) ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
  assert.deepEqual(told, []);
}
