// How long forty open cards take to make and to lay out, next to forty with the same markup that are there from the start.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { launch } from "../browser.mjs";

const BUNDLE = process.argv[2] ?? new URL("../../../components/dist/agui-gate.js", import.meta.url);
const page = `<!doctype html><html lang="en"><meta charset="utf-8"><body></body>`;
const server = createServer(({ url }, response) => response.writeHead(200, { "content-type": url === "/" ? "text/html" : "text/javascript" }).end(url === "/" ? page : readFileSync(BUNDLE))).listen(0, "127.0.0.1");
await new Promise((done) => server.on("listening", done));
const browser = await launch();
const tab = await browser.newPage({ viewport: { width: 1000, height: 800 } });
await tab.goto(`http://127.0.0.1:${server.address().port}/`);
const told = await tab.evaluate(async () => {
  const { defineAguiGate, fromApproval } = await import("/agui-gate.js");
  defineAguiGate();
  const row = (at) => ({ id: `apr_${at}`, call_id: `c${at}`, tool: "refund", agent: "support", state: "pending", decision: null, message: "Refund 20 € for order 1003?", arguments: { order_id: "1003", amount: 20, note: "Parcel lost" },
    editable: ["amount", "note"], expires_at: new Date(Date.now() + 1e6).toISOString(), refused: null, already_ran: [], thread: { title: "Anna's parcel", agent: "support" },
    schema: { properties: { order_id: { type: "string" }, amount: { type: "number", description: "In euros." }, note: { type: "string" } } } });
  const asks = Array.from({ length: 40 }, (_, at) => fromApproval(row(at)));
  const body = document.body;
  const pause = () => new Promise((done) => setTimeout(done, 30));
  async function cards() {
    const began = performance.now();
    const all = asks.map((ask) => Object.assign(document.createElement("agui-confirm-card"), { ask }));
    body.append(...all);
    await Promise.all(all.map((card) => card.updateComplete));
    const made = performance.now() - began;
    const { height } = body.getBoundingClientRect();
    return { all, made, took: performance.now() - began, height };
  }
  function plain(from) {
    const template = document.createElement("template");
    template.innerHTML = from.shadowRoot.innerHTML;
    const sheets = from.shadowRoot.adoptedStyleSheets;
    const began = performance.now();
    const all = asks.map(() => {
      const node = document.createElement("div");
      const root = node.attachShadow({ mode: "open" });
      root.adoptedStyleSheets = sheets;
      root.append(template.content.cloneNode(true));
      return node;
    });
    body.append(...all);
    body.getBoundingClientRect();
    return performance.now() - began;
  }
  const runs = [];
  for (let turn = 0; turn < 30; turn++) {
    const { all, made, took } = await cards();
    const first = all[0];
    body.replaceChildren();
    await pause();
    const floor = plain(first);
    body.replaceChildren();
    await pause();
    runs.push({ made, took, floor });
  }
  return runs;
});
const median = (name, runs) => runs.map((run) => run[name]).sort((one, other) => one - other)[runs.length >> 1].toFixed(1);
console.log(`first: made ${told[0].made.toFixed(1)}, laid out ${told[0].took.toFixed(1)}, same markup ${told[0].floor.toFixed(1)} ms`);
for (const [from, to] of [[0, 9], [20, 29]]) {
  const runs = told.slice(from, to);
  console.log(`median of runs ${from} to ${to - 1}: made ${median("made", runs)}, laid out ${median("took", runs)}, same markup ${median("floor", runs)} ms`);
}
await browser.close();
server.close();
