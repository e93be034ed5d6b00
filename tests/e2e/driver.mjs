// Runs scenarios in Chromium: reads `{scenario, options, urls}` a line from stdin, answers `{done}` or `{error}`. In
// between a scenario may ask for a process to be stopped or started.

import { createInterface } from "node:readline";
import { launch, shot } from "./browser.mjs";
import * as builtin from "./scenarios/builtin.mjs";
import * as conversation from "./scenarios/conversation.mjs";
import * as approvals from "./scenarios/approvals.mjs";
import * as handling from "./scenarios/handling.mjs";
import * as inbox from "./scenarios/inbox.mjs";
import * as goingon from "./scenarios/goingon.mjs";
import * as hindered from "./scenarios/hindered.mjs";
import * as waiting from "./scenarios/waiting.mjs";
import * as ledger from "./scenarios/ledger.mjs";
import * as elsewhere from "./scenarios/elsewhere.mjs";
import * as looks from "./scenarios/looks.mjs";
import * as problems from "./scenarios/problems.mjs";
import * as sidebar from "./scenarios/sidebar.mjs";
import * as told from "./scenarios/told.mjs";
import { Stage } from "./stage.mjs";

const SCENARIOS = { ...approvals, ...elsewhere, ...told, ...sidebar, ...conversation, ...problems, ...looks, ...builtin, ...ledger, ...handling, ...inbox, ...waiting, ...hindered, ...goingon };

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const next = async () => {
  const { value, done } = await lines.next();
  return done ? null : JSON.parse(value);
};
const tell = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

async function ask(message) {
  tell(message);
  await next();
}

/** The story of a failure: what was expected, and what the pages had to say. */
async function run({ scenario, options, urls }) {
  const stage = new Stage({ browser, options, urls, ask, name: scenario });
  let passed = false;
  try {
    await SCENARIOS[scenario](stage);
    stage.assertClean();
    passed = true;
    return { done: true };
  } catch (error) {
    const pages = stage.pages.filter((page) => !page.isClosed());
    for (const [at, page] of pages.entries()) await shot(page, `failed-${stage.label}-${at}`).catch(() => {});
    return { error: [error.stack ?? String(error), ...stage.problems].join("\n") };
  } finally {
    await stage.close(passed);
  }
}

const browser = await launch();
tell({ up: true });
for (let message = await next(); message; message = await next()) tell(await run(message));
await browser.close();
