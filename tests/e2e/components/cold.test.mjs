// The built-in page with a long chat over a slow line, the first time: requests in a row and bytes, which no machine is too busy for.

import assert from "node:assert/strict";
import test from "node:test";
import { SERVER, browser, decide } from "./site.mjs";

const ROUNDS = 40;
const BYTES = 80_000; // of all that is needed: 1.6 s
const LINE = { latency: 400, downloadThroughput: 50_000, uploadThroughput: 50_000 }; // as people's, far away

const read = async (path) => (await fetch(SERVER + path)).json();

/** Say something in a chat, and wait for the answer. */
async function say(thread, content) {
  const input = { threadId: thread, runId: crypto.randomUUID(), state: {}, tools: [], context: [], forwardedProps: {}, messages: [{ id: crypto.randomUUID(), role: "user", content }] };
  await (await fetch(SERVER, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(input) })).text();
}

/** A chat of 200 messages and 40 calls that were decided. */
async function longChat() {
  const thread = crypto.randomUUID();
  for (let round = 0; round < ROUNDS; round++) {
    await say(thread, `Refund 20 euros of order ${1000 + round}`);
    const { approvals } = await read(`threads/${thread}?view=calls`).then(({ calls }) => ({ approvals: calls }));
    const { id } = approvals.find(({ state }) => state === "pending");
    await decide(id, { approved: round % 3 > 0 });
    await say(thread, `Thank you. What else is there for customer ${round}?`);
  }
  return thread;
}

test("a long chat, cold, over a slow line", async () => {
  const thread = await longChat();
  const { messages } = await read(`threads/${thread}`);
  console.log(`# ${messages.length} messages`);
  const context = await browser.newContext();
  const page = await context.newPage();
  const line = await context.newCDPSession(page);
  await line.send("Network.enable");
  await line.send("Network.emulateNetworkConditions", { offline: false, ...LINE });
  const requests = new Map();
  line.on("Network.requestWillBeSent", ({ requestId, request, timestamp }) => requests.set(requestId, { path: new URL(request.url).pathname.replace(/[0-9a-f]{16}/, "…"), from: timestamp, to: Infinity, bytes: 0 }));
  line.on("Network.dataReceived", ({ requestId, encodedDataLength }) => (requests.get(requestId).bytes += encodedDataLength));
  line.on("Network.loadingFinished", ({ requestId, timestamp, encodedDataLength }) => Object.assign(requests.get(requestId), { to: timestamp, bytes: encodedDataLength }));
  const began = Date.now();
  await page.goto(`${SERVER}#t=${thread}`, { waitUntil: "commit" });
  await page.waitForFunction((last) => document.querySelector("#rows")?.textContent.includes(last), `customer ${ROUNDS - 1}?`);
  const took = Date.now() - began;
  const usable = await page.evaluate(() => performance.now());
  const all = [...requests.values()].filter(({ path }) => !path.includes("favicon"));
  const first = Math.min(...all.map(({ from }) => from));
  for (const { path, from, to, bytes } of all) console.log(`# ${(from - first).toFixed(2)} to ${(to - first).toFixed(2)} s ${bytes} bytes ${path}`);
  const find = (part) => all.find(({ path }) => path.endsWith(part));
  const needed = all.filter(({ path }) => !/threads$|approvals/.test(path));
  const bytes = needed.reduce((sum, one) => sum + one.bytes, 0);
  assert.deepEqual(needed.map(({ path }) => path.replace(thread, "…")).sort(), ["/", "/agents", "/page/…/app.js", "/page/…/early.js", "/page/…/styles.css", "/page/…/theme.js", "/threads/…"]);
  for (const early of [find("agents"), find(thread)]) assert.ok(early.from < find("app.js").to, `${early.path} is asked for while the page is on its way`);
  assert.ok(bytes <= BYTES, `${bytes} bytes`);
  console.log(`# ${bytes} bytes; usable after ${took} ms (${usable.toFixed(0)} ms by the page)`);
  assert.ok(messages.length >= 200);
  await context.close();
});
