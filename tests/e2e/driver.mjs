// Runs scenarios in Chromium: reads `{scenario, options, urls}` a line from stdin, answers `{done}` or `{error}`. In
// between a scenario may ask for a process to be stopped or started.

import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { launch, shot } from "./browser.mjs";
import * as answers from "./scenarios/answers.mjs";
import * as builtin from "./scenarios/builtin.mjs";
import * as cards from "./scenarios/cards.mjs";
import * as conversation from "./scenarios/conversation.mjs";
import * as approvals from "./scenarios/approvals.mjs";
import * as handling from "./scenarios/handling.mjs";
import * as inbox from "./scenarios/inbox.mjs";
import * as elements from "./scenarios/elements.mjs";
import * as goingon from "./scenarios/goingon.mjs";
import * as hindered from "./scenarios/hindered.mjs";
import * as waiting from "./scenarios/waiting.mjs";
import * as ledger from "./scenarios/ledger.mjs";
import * as elsewhere from "./scenarios/elsewhere.mjs";
import * as looks from "./scenarios/looks.mjs";
import * as members from "./scenarios/members.mjs";
import * as network from "./scenarios/network.mjs";
import * as newpage from "./scenarios/newpage.mjs";
import * as person from "./scenarios/person.mjs";
import * as problems from "./scenarios/problems.mjs";
import * as sidebar from "./scenarios/sidebar.mjs";
import * as teams from "./scenarios/teams.mjs";
import * as told from "./scenarios/told.mjs";
import { Stage } from "./stage.mjs";

const SCENARIOS = { ...answers, ...approvals, ...elsewhere, ...told, ...sidebar, ...conversation, ...problems, ...looks, ...builtin, ...ledger, ...handling, ...inbox, ...waiting, ...hindered, ...goingon, ...teams, ...members, ...network, ...newpage, ...person, ...cards, ...elements };

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

async function run({ scenario, options, urls }) {
  const stage = new Stage({ browser, options, urls, ask, name: scenario });
  broken = [];
  const failed = await failure(() => play(stage, SCENARIOS[scenario]));
  if (failed) await picture(stage);
  const story = failed && [failed, ...broken.map(String), ...stage.problems].join("\n");
  const error = story ?? (await failure(() => stage.close(true)));
  if (failed) await failure(() => stage.close(false));
  return error ? { error } : { done: true };
}

async function play(stage, scenario) {
  await stage.begin();
  await scenario(stage);
  stage.assertClean();
  assert.deepEqual(broken, [], "something failed where nobody waited for it");
}

/** What it fails with, as a text; else null. */
async function failure(action) {
  try {
    await action();
    return null;
  } catch (error) {
    return error.stack ?? String(error);
  }
}

async function picture(stage) {
  const pages = stage.pages.filter((page) => !page.isClosed());
  for (const [at, page] of pages.entries()) await shot(page, `failed-${stage.label}-${at}`).catch(() => {});
}

/** What failed where nobody waited for it: in the handler of a page's request, say. It ends the scenario, not the driver. */
let broken = [];
process.on("unhandledRejection", (error) => broken.push(error));

const browser = await launch();
tell({ up: true });
for (let message = await next(); message; message = await next()) tell(await run(message));
await browser.close();
