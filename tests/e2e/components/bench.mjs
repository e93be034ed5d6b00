// Forty open cards, made and laid out: `make cards`. Each figure is ms for forty: on the clock, which other processes make
// longer, and of the processor. `plain` is as much without the components: copies of what a card has drawn.
// `make cards BUNDLES="before=/tmp/dist now=components/dist"` takes bundles in turn, as a busy machine is another one each minute.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { loadavg } from "node:os";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { launch } from "../browser.mjs";

const PAGES = Number(process.env.PAGES ?? 5); // each in a browser of its own, which has compiled nothing
const TURNS = 15; // in a page, after the first

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const bundles = (process.env.BUNDLES || "now=components/dist").split(" ").map((one) => one.split("="));
const KINDS = { "all laid out": ["cards", {}], "in a list": ["cards", { approval: "apr_1" }], plain: ["copies", {}] };

const script = `
import { defineAguiGate, fromApproval } from "./agui-gate.js";
defineAguiGate();
const main = document.querySelector("main");
const row = (at) => ({ id: "apr_" + at, call_id: "c" + at, tool: "refund", arguments: { order_id: "1003", amount: 20, note: "Parcel lost" }, editable: ["amount", "note"], expires_at: new Date(Date.now() + 1e6).toISOString() });
const each = (make) => Array.from({ length: 40 }, (_, at) => make(at));
const make = {
  async cards(more) {
    const cards = each((at) => Object.assign(document.createElement("agui-confirm-card"), { ask: fromApproval(row(at)), ...more }));
    main.append(...cards);
    await cards.at(-1).updateComplete;
  },
  async copies() {
    main.append(...each(() => document.createElement("div")));
    for (const host of main.children) {
      const root = host.attachShadow({ mode: "open" });
      root.adoptedStyleSheets = drawn.adoptedStyleSheets;
      root.append(pattern.content.cloneNode(true));
    }
  },
};
async function turn(what, more) {
  main.replaceChildren(); // those before: to take them away isn't to make them
  document.body.getBoundingClientRect();
  const began = performance.now();
  await make[what](more);
  document.body.getBoundingClientRect();
  return performance.now() - began;
}
const pattern = document.createElement("template");
let drawn = null;
window.turns = async (count, what, more) => {
  if (what === "copies" && !drawn) {
    await turn("cards", {});
    drawn = main.firstChild.shadowRoot;
    pattern.innerHTML = drawn.innerHTML;
  }
  const times = [];
  for (let at = 0; at < count; at++) times.push(await turn(what, more));
  return { times, elements: main.firstChild.shadowRoot.querySelectorAll("*").length };
};`;

const server = createServer(({ url }, response) => {
  const [, name, file] = /^\/([^/]+)\/(.*)$/.exec(url) ?? [];
  const folder = new Map(bundles).get(name);
  if (!file) return response.writeHead(200, { "content-type": "text/html" }).end(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Forty</title><script type="module" src="page.js"></script><body><main></main>`);
  response.writeHead(200, { "content-type": "text/javascript" }).end(file === "page.js" ? script : readFileSync(resolve(ROOT, folder, file)));
}).listen(0, "127.0.0.1");
await new Promise((done) => server.on("listening", done));

/** One bundle in a fresh browser: ms of each of the turns, of the first, and of the processor. */
async function measure(name, [what, more]) {
  const browser = await launch();
  const page = await browser.newPage({ viewport: { width: 1000, height: 800 } });
  await page.goto(`http://127.0.0.1:${server.address().port}/${name}/`);
  await page.waitForFunction(() => window.turns);
  const line = await page.context().newCDPSession(page);
  await line.send("Performance.enable", { timeDomain: "threadTicks" });
  const spent = async () => Object.fromEntries((await line.send("Performance.getMetrics")).metrics.map((metric) => [metric.name, metric.value * 1000]));
  const start = await spent();
  const first = await page.evaluate((given) => window.turns(1, ...given), [what, more]);
  const before = await spent();
  const { times, elements } = await page.evaluate((given) => window.turns(...given), [TURNS, what, more]);
  const after = await spent();
  await browser.close();
  const each = (metric) => (after[metric] - before[metric]) / TURNS;
  const cpu = { style: each("RecalcStyleDuration"), layout: each("LayoutDuration"), all: each("TaskDuration"), cold: before.TaskDuration - start.TaskDuration };
  return { first: first.times[0], times, elements, ...cpu };
}

const rows = new Map();
for (let page = 0; page < PAGES; page++)
  for (const [kind, how] of Object.entries(KINDS))
    for (const [name] of bundles) {
      const key = `${name}, ${kind}`;
      rows.set(key, [...(rows.get(key) ?? []), await measure(name, how)]);
    }
server.close();

const median = (numbers) => numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)];
const ms = (number) => number.toFixed(1).padStart(8);
console.log(`load ${loadavg()[0].toFixed(1)}           |    clock  fastest    first | processor    style   layout    first | elements of a card`);
for (const [key, taken] of rows) {
  const times = taken.flatMap((one) => one.times);
  const usual = (name) => ms(median(taken.map((one) => one[name])));
  console.log(`${key.padEnd(18)} | ${ms(median(times))} ${ms(Math.min(...times))} ${usual("first")} |  ${usual("all")} ${usual("style")} ${usual("layout")} ${usual("cold")} | ${taken[0].elements}`);
}
