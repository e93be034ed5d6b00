import assert from "node:assert/strict";
import test from "node:test";
import { AXE, BUILT, SERVER, ask, card, decide, example, leave, listen, next, open, openOwn, proxy, record, remove, visit } from "./site.mjs";

const REFUND = "Refund 20 euros of order 1003";
const gate = (inner, { base = SERVER, attributes = "send" } = {}) => `<agui-gate base="${base}" ${attributes}>${inner}</agui-gate>`;

test("cards and an inbox are one list and one stream, however many they are", async () => {
  const asked = await Promise.all([REFUND, REFUND, REFUND].map((text) => ask(text)));
  const page = await open(gate(`${asked.map(card).join("")}<agui-inbox></agui-inbox>`));
  await page.locator("agui-confirm-card[approval]").getByRole("button", { name: "Approve" }).nth(2).waitFor();
  await page.locator("agui-inbox .line-button").nth(2).waitFor();
  assert.deepEqual(page.requests.filter((one) => one.includes("/approvals")).sort(), ["GET /approvals", "GET /approvals/events"]);
  assert.deepEqual(page.problems, []);
  await page.locator("agui-inbox .line-button").first().click();
  await page.addScriptTag({ content: AXE }).catch(() => page.evaluate(AXE));
  const { violations } = await page.evaluate(() => axe.run(document, { rules: { "heading-order": { enabled: false }, "landmark-unique": { enabled: false } } }));
  assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes[0].html]), []);
  await leave(page);
});

test("with `send` a click decides, and every element of that call shows what became of it", async () => {
  const asked = await ask(REFUND);
  const page = await open(gate(`${card(asked)}${card(asked)}<agui-inbox></agui-inbox>`));
  const first = page.locator("agui-confirm-card[approval]").first();
  await first.getByRole("button", { name: "Approve" }).click();
  await page.locator("agui-confirm-card[approval][mode=closed]").nth(1).waitFor();
  await page.locator(`agui-inbox .item[data-thread="${asked.thread_id}"][data-state=done]`).waitFor();
  assert.equal((await record(asked.id)).decision.way, "http");
  await first.getByText(/Approved .*outside the chat/).waitFor();
  assert.equal(page.requests.filter((one) => one.startsWith("POST")).length, 1);
  await leave(page);
});

test("without `send` nothing is sent: the event is for the page", async () => {
  const asked = await ask(REFUND);
  const script = `globalThis.heard = []; here.addEventListener("agui-decide", ({ detail }) => heard.push([detail.ask.id, detail.decision]));`;
  const page = await open(gate(`${card(asked)}${card(asked)}`, { attributes: "" }), { script });
  await page.getByRole("button", { name: "Approve" }).first().click();
  await page.locator("agui-confirm-card[mode=sending]").waitFor();
  await page.getByRole("button", { name: "Approve" }).click(); // of the other element
  assert.deepEqual(await page.evaluate("heard"), [[asked.id, { approved: true }]]);
  assert.equal((await record(asked.id)).state, "pending");
  await decide(asked.id, { approved: true });
  await page.locator("agui-confirm-card[mode=closed]").nth(1).waitFor();
  await leave(page);
});

test("what is asked and decided elsewhere comes and goes by itself", async () => {
  const page = await open(gate("<agui-inbox></agui-inbox>"));
  await page.locator("agui-inbox .rest, agui-inbox .item").first().waitFor();
  const asked = await ask("Email Ben that his parcel is on its way");
  const line = page.locator(`agui-inbox .item[data-thread="${asked.thread_id}"]`);
  await line.waitFor();
  await decide(asked.id, { approved: false, reason: "not now" });
  await page.locator(`agui-inbox .item[data-thread="${asked.thread_id}"][data-state=rejected]`).waitFor();
  assert.match(await page.locator("agui-inbox .news").innerText(), /Rejected/);
  await leave(page);
});

test("what was typed stays while the server is away, and is sent when it is back", async () => {
  const asked = await ask(REFUND);
  let isAway = false;
  const between = await proxy(() => (isAway ? null : undefined));
  const script = `globalThis.told = []; here.addEventListener("agui-problem", ({ detail }) => told.push(detail.kind));`;
  const page = await open(gate(card(asked), { base: between.url }), { script });
  await page.getByRole("button", { name: "Reject" }).click();
  await page.getByLabel(/Reason/).fill("too much");
  isAway = true;
  between.closeAllConnections();
  await page.waitForFunction(() => told.includes("away"));
  assert.equal(await page.getByLabel(/Reason/).inputValue(), "too much");
  await page.getByRole("button", { name: "Reject" }).click();
  await page.getByText("The server can't be reached").nth(1).waitFor(); // of the connection, and of the answer
  isAway = false;
  await page.evaluate(() => document.querySelector("agui-gate").retry());
  await page.waitForFunction(() => told.at(-1) === null);
  assert.equal(await page.getByLabel(/Reason/).inputValue(), "too much", "though it was tried in vain");
  await page.getByRole("button", { name: "Reject" }).click();
  await page.locator("agui-confirm-card[mode=closed]").waitFor();
  assert.equal((await record(asked.id)).decision.reason, "too much");
  await leave(page);
});

test("what was typed stays whatever is in the server's place meanwhile, and is sent once it is back", async () => {
  const asked = await ask(REFUND);
  let instead;
  const between = await proxy(() => instead);
  const page = await open(gate(card(asked), { base: between.url }));
  const [send, reason] = [page.getByRole("button", { name: "Reject" }), page.getByLabel(/Reason/)];
  await send.click();
  await reason.fill("too much");
  for (const [answer, sentence] of [
    [[401, '{"error":{"code":"unauthorized","message":"No."}}'], "You have to log in"],
    [[200, "<!doctype html><title>Log in to the network</title>", "text/html"], "At this address there is no agui-gate server."],
    [[404, '{"error":{"code":"not_here","message":"Nothing."}}'], "Nothing."],
    [[503, "busy", "text/plain"], "The server can't be reached"],
  ]) {
    instead = answer;
    between.closeAllConnections();
    await page.evaluate(() => document.querySelector("agui-gate").retry());
    await page.getByText(sentence).first().waitFor();
    await send.click();
    await page.getByText(sentence).nth(1).waitFor(); // of what is known, and of the answer
    assert.equal(await reason.inputValue(), "too much", sentence);
  }
  instead = undefined;
  await page.evaluate(() => document.querySelector("agui-gate").retry());
  await page.getByText("The server can't be reached").nth(1).waitFor({ state: "detached" });
  await send.click();
  await page.locator("agui-confirm-card[mode=closed]").waitFor();
  assert.equal((await record(asked.id)).decision.reason, "too much");
  await leave(page);
});

test("two elements of one page with one call: what is typed in the one stays while the other is answered, and isn't sent once that is taken", async () => {
  const asked = await ask(REFUND);
  let arrive = () => {};
  const slow = await proxy(({ method }) => (method === "POST" ? new Promise((resolve) => arrive(resolve)) : undefined));
  const page = await open(gate(`${card(asked)}${card(asked)}`, { base: slow.url }));
  const [one, other] = [page.locator("agui-confirm-card").first(), page.locator("agui-confirm-card").nth(1)];
  await one.getByRole("button", { name: "Reject" }).click();
  await one.getByLabel(/Reason/).fill("too much");
  const approve = async (given) => {
    const arrived = new Promise((resolve) => (arrive = resolve));
    await other.getByRole("button", { name: "Approve" }).click();
    await one.getByText("This is being answered elsewhere on this page.").waitFor();
    (await arrived)(given);
  };
  await approve([503, "busy", "text/plain"]);
  await one.getByText("This is being answered elsewhere on this page.").waitFor({ state: "detached" });
  await other.getByText("The server can't be reached").waitFor();
  assert.equal(await one.getByLabel(/Reason/).inputValue(), "too much");
  await approve(undefined);
  await one.getByText(/approved.*What you were about to answer was not sent/i).waitFor();
  assert.equal((await record(asked.id)).decision.approved, true);
  assert.equal(page.requests.filter((entry) => entry.startsWith("POST")).length, 2);
  await leave(page);
});

test("two tabs with one call: what one decides the other shows, and what was typed there is not sent", async () => {
  const asked = await ask(REFUND);
  const page = await openOwn(gate(card(asked)));
  const other = await visit(page.url());
  await other.getByRole("button", { name: "Reject" }).click();
  await other.getByLabel(/Reason/).fill("too much");
  await page.getByRole("button", { name: "Approve" }).click();
  await page.locator("agui-confirm-card[mode=closed]").getByText(/^Approved .*outside the chat/).waitFor();
  await other.locator("agui-confirm-card[mode=closed]").getByText(/Already approved .*What you were about to answer was not sent/).waitFor();
  assert.deepEqual(page.problems, []);
  const { approved, reason } = (await record(asked.id)).decision;
  assert.deepEqual([approved, reason], [true, undefined]);
  for (const tab of [other, page]) await leave(tab);
});

test("offline: what was typed stays, and is decided once when the network is back, without a click on anything else", async () => {
  const asked = await ask(REFUND);
  const page = await open(gate(card(asked)));
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel(/Amount/).fill("15");
  await page.context().setOffline(true);
  await page.getByRole("button", { name: "Approve with changes" }).click();
  await page.getByText("The server can't be reached").first().waitFor();
  assert.equal(await page.getByLabel(/Amount/).inputValue(), "15");
  assert.equal((await record(asked.id)).state, "pending");
  await page.context().setOffline(false);
  const send = page.getByRole("button", { name: "Approve with changes" });
  await send.click();
  await page.locator("agui-confirm-card[mode=closed]").getByText(/20 € → 15 €/).waitFor();
  assert.equal((await record(asked.id)).effective_arguments.amount, 15);
  await page.getByText("The server can't be reached").waitFor({ state: "detached" });
  await leave(page);
});

test("asked anew in the middle of an answer: the old card says that it went on, the new one asks with nothing typed", async () => {
  const tools = [{ name: "confirm_changes", description: "", parameters: { type: "object" } }]; // what a card asks is left behind, an interrupt is asked again
  const asked = await ask(REFUND, { tools });
  const page = await open(gate(`${card(asked)}<agui-inbox></agui-inbox>`));
  const old = page.locator("agui-confirm-card[approval]");
  await old.getByRole("button", { name: "Reject" }).click();
  await old.getByLabel(/Reason/).fill("too much");
  await ask(REFUND, { tools, threadId: asked.thread_id }); // from its first message on, as regenerating does
  await old.getByText(/Not decided, as the chat went on without an answer.*What you were about to answer was not sent/).waitFor();
  const fresh = page.locator(`agui-inbox .item[data-thread="${asked.thread_id}"][data-waits=true]`);
  await fresh.locator(".line-button").click();
  await fresh.getByRole("button", { name: "Reject" }).click();
  assert.equal(await fresh.getByLabel(/Reason/).inputValue(), "");
  await fresh.getByRole("button", { name: "Reject" }).click();
  await page.locator(`agui-inbox .item[data-thread="${asked.thread_id}"][data-state=rejected]`).waitFor();
  assert.equal((await record(asked.id)).decision, null);
  await leave(page);
});

test("a card that gets another call, or goes, while its answer is under way: each answer is of its own call", async () => {
  const [asked, second] = [await ask(REFUND), await ask(REFUND)];
  let release;
  const isReleased = new Promise((resolve) => (release = resolve));
  const slow = await proxy(({ method }) => (method === "POST" ? isReleased : undefined));
  const page = await open(gate(`${card(asked)}<agui-inbox></agui-inbox>`, { base: slow.url }));
  const one = page.locator("agui-confirm-card[approval]");
  await one.getByRole("button", { name: "Approve" }).click();
  await page.locator("agui-confirm-card[approval][mode=sending]").waitFor();
  await one.evaluate((node, id) => node.setAttribute("approval", id), second.id);
  await page.locator("agui-confirm-card[approval][mode=view]").waitFor();
  release();
  await page.locator(`agui-inbox .item[data-thread="${asked.thread_id}"][data-state=done]`).waitFor();
  assert.deepEqual([await one.getAttribute("mode"), (await record(second.id)).state], ["view", "pending"]);
  await one.getByRole("button", { name: "Reject" }).click();
  await one.getByLabel(/Reason/).fill("too much");
  await one.getByRole("button", { name: "Reject" }).click();
  await one.evaluate((node) => node.remove());
  await page.locator(`agui-inbox .item[data-thread="${second.thread_id}"][data-state=rejected]`).waitFor();
  assert.equal((await record(second.id)).decision.reason, "too much");
  assert.deepEqual([page.requests.filter((entry) => entry.startsWith("POST")).length, page.problems], [2, []]);
  await leave(page);
});

test("who is not logged in is told so, and goes on with a token", async () => {
  const asked = await ask(REFUND);
  const guarded = await proxy(({ headers }) => (headers.authorization === "Bearer good" ? undefined : [401, '{"error":{"code":"unauthorized","message":"No."}}']));
  const script = `globalThis.told = []; here.addEventListener("agui-problem", ({ detail }) => told.push(detail.kind));`;
  const page = await open(gate(`${card(asked)}<agui-inbox></agui-inbox>`, { base: guarded.url }), { script });
  await page.locator("agui-confirm-card").getByText("You have to log in").waitFor();
  await page.evaluate(() => (document.querySelector("agui-gate").getToken = async () => "good"));
  await page.locator("agui-confirm-card").getByRole("button", { name: "Approve" }).waitFor();
  assert.deepEqual(await page.evaluate("told"), ["unauthorized", null]);
  assert.ok(!(await page.content()).includes("good"), "no token in the DOM");
  await leave(page);
});

for (const [name, answer] of Object.entries({
  "another product's page": ["<!doctype html><h1>Hello</h1>", "text/html"],
  "another product's JSON": ['{"items": []}', "application/json"],
}))
  test(`${name} is told as what it is`, async () => {
    const other = await listen((_, response) => response.writeHead(200, { "content-type": answer[1], "access-control-allow-origin": "*" }).end(answer[0]));
    const page = await open(gate(`<agui-confirm-card approval="apr_1"></agui-confirm-card><agui-inbox></agui-inbox>`, { base: other.url }));
    await page.locator("agui-confirm-card").getByText("At this address there is no agui-gate server.").waitFor();
    await page.locator("agui-inbox").getByText("At this address there is no agui-gate server.").waitFor();
    assert.deepEqual(page.problems, []);
    await leave(page);
  });

test("a base that is set late is the only server that is asked", async () => {
  const asked = await ask(REFUND);
  const page = await openOwn('<div id="here"></div>');
  await page.evaluate(async ([base, id]) => {
    await customElements.whenDefined("agui-gate");
    const made = document.createElement("agui-gate");
    document.querySelector("#here").append(made);
    made.base = base;
    const one = document.createElement("agui-confirm-card");
    one.setAttribute("approval", id);
    made.append(one);
  }, [SERVER, asked.id]);
  await page.getByRole("button", { name: "Approve" }).waitFor();
  const loaded = await page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name));
  assert.deepEqual(loaded.filter((name) => name.includes("approvals") && !name.startsWith(SERVER)), []);
  await leave(page);
});

test("a base that answers nothing is told in the card", async () => {
  const nobody = await listen(() => {});
  const base = nobody.url;
  await new Promise((closed) => nobody.close(closed));
  const page = await open(gate(`<agui-confirm-card approval="apr_1"></agui-confirm-card>`, { base }));
  await page.getByText("The server can't be reached").waitFor();
  await leave(page);
});

test("a base that hears and never answers is told in the card", async () => {
  const deaf = await listen(() => {});
  const script = `
    const usual = AbortSignal.timeout;
    AbortSignal.timeout = (ms) => usual.call(AbortSignal, ms === 45_000 ? 200 : ms);
    await import("${SERVER}components/auto.js");`;
  const page = await openOwn(gate(`<agui-confirm-card approval="apr_1"></agui-confirm-card>`, { base: deaf.url }), { script, module: "/page.js" });
  await page.getByText("The server can't be reached").waitFor();
  await leave(page);
});

test("an id that is not there, and a chat that is deleted, are told in the card", async () => {
  const asked = await ask(REFUND);
  const page = await open(gate(`<agui-confirm-card approval="apr_none"></agui-confirm-card>${card(asked)}<agui-inbox></agui-inbox>`));
  await page.getByText("This was deleted, or it is nothing that you may decide.").waitFor();
  const typing = page.locator("agui-confirm-card[approval]").nth(1);
  await typing.getByRole("button", { name: "Reject" }).click();
  await typing.getByLabel(/Reason/).fill("too much");
  await remove(asked.thread_id);
  await typing.getByText(/Not decided, as/).waitFor();
  assert.equal(await typing.getByLabel(/Reason/).inputValue(), "too much");
  assert.equal(await typing.getByRole("button", { name: "Reject" }).count(), 0);
  await typing.getByLabel(/Reason/).press("Enter");
  assert.equal(await typing.getAttribute("mode"), "reject", "what nobody can take isn't sent");
  await leave(page);
});

test("forty open cards: one clock, one sheet, few elements, no observer of sizes, and no more layouts than copies of them", async () => {
  const page = await openOwn("", { script: `
    const count = (name) => { const Usual = window[name]; counts[name] = 0; window[name] = new Proxy(Usual, { construct: (Own, given) => (counts[name]++, new Own(...given)), apply: (act, self, given) => (counts[name]++, act.apply(self, given)) }); };
    window.counts = {};
    ["setInterval", "ResizeObserver", "IntersectionObserver", "MutationObserver", "CSSStyleSheet"].forEach(count);
    const { defineAguiGate, fromApproval } = await import("${SERVER}components/agui-gate.js");
    defineAguiGate();
    const main = document.querySelector("main");
    const each = (make) => Array.from({ length: 40 }, (_, at) => make(at));
    const row = (at) => ({ id: "apr_" + at, call_id: "c" + at, tool: "refund", arguments: { order_id: "1003", amount: 20, note: "Parcel lost" }, editable: ["amount", "note"], expires_at: new Date(Date.now() + 1e6).toISOString() });
    window.forty = async (more) => {
      const cards = each((at) => Object.assign(document.createElement("agui-confirm-card"), { ask: fromApproval(row(at)), ...more }));
      main.replaceChildren(...cards);
      await cards.at(-1).updateComplete;
      document.body.getBoundingClientRect();
      return cards;
    };
    const [{ shadowRoot: drawn }] = await forty({});
    const pattern = document.createElement("template");
    pattern.innerHTML = drawn.innerHTML;
    window.copies = () => {
      main.replaceChildren(...each(() => document.createElement("div")));
      for (const host of main.children) {
        const root = host.attachShadow({ mode: "open" });
        root.adoptedStyleSheets = drawn.adoptedStyleSheets;
        root.append(pattern.content.cloneNode(true));
      }
      document.body.getBoundingClientRect();
    };
    window.nine = async (what, more) => { for (let turn = 0; turn < 9; turn++) await window[what](more); return true; };` });
  await page.waitForFunction(() => window.nine);
  const line = await page.context().newCDPSession(page);
  await line.send("Performance.enable", { timeDomain: "threadTicks" }); // of the processor, which no other process makes much longer
  async function spent() {
    const { metrics } = await line.send("Performance.getMetrics");
    const ms = (...names) => metrics.filter(({ name }) => names.includes(name)).reduce((sum, { value }) => sum + value * 1000, 0);
    const layouts = metrics.find(({ name }) => name === "LayoutCount").value;
    return { all: ms("TaskDuration"), layout: ms("LayoutDuration", "RecalcStyleDuration"), layouts };
  }
  /** Nine times forty of these: ms of one time, and layouts of all. */
  async function nine(what, more) {
    const before = await spent();
    await page.evaluate(([what, more]) => window.nine(what, more), [what, more]);
    const after = await spent();
    return { all: (after.all - before.all) / 9, layout: (after.layout - before.layout) / 9, layouts: after.layouts - before.layouts };
  }
  const usual = (rounds, name) => rounds.map((one) => one[name]).sort((one, other) => one - other)[1];
  const [cards, copies, listed] = [[], [], []];
  await nine("forty", {});
  await nine("copies");
  for (let round = 0; round < 3; round++) {
    cards.push(await nine("forty", {}));
    copies.push(await nine("copies"));
    listed.push(await nine("forty", { approval: "apr_1" })); // what is off screen is laid out when it is scrolled to
  }
  const [all, copied, laidOut, inList] = [usual(cards, "all"), usual(copies, "all"), usual(cards, "layout"), usual(listed, "layout")];
  const [layouts, ofCopies] = [usual(cards, "layouts"), usual(copies, "layouts")];
  console.log(`# forty cards: ${all.toFixed(1)} ms of the processor, ${laidOut.toFixed(1)} of them a layout (${inList.toFixed(1)} in a list); copies of them: ${copied.toFixed(1)} ms; layouts of nine times: ${layouts}, ${ofCopies}`);
  const told = await page.evaluate(async () => {
    const counts = { ...window.counts };
    const cards = await window.forty({});
    const sheets = [...new Set(cards.flatMap((card) => card.shadowRoot.adoptedStyleSheets))];
    const rules = ({ cssRules = [] }) => [...cssRules].reduce((sum, rule) => sum + 1 + rules(rule), 0);
    return { counts, nodes: cards[0].shadowRoot.querySelectorAll("*").length, sheets: sheets.length, rules: rules(sheets[0]) };
  });
  assert.deepEqual({ ...told.counts, setInterval: 1 }, { setInterval: 1, ResizeObserver: 0, IntersectionObserver: 0, MutationObserver: 1, CSSStyleSheet: 1 });
  assert.ok(told.counts.setInterval <= 1 + 7 * 9, `${told.counts.setInterval} clocks`); // one for all, each time, as it stops when nobody listens
  assert.equal(told.sheets, 1);
  assert.ok(told.nodes <= 24, `${told.nodes} elements in a card`);
  assert.ok(told.rules <= 100, `${told.rules} rules`);
  assert.ok(layouts < ofCopies + 9, `${layouts} layouts, and ${ofCopies} without the components`); // how long they take is no test's: `make cards`
  await leave(page);
});

test("what the page puts into a slot is shown, whenever it comes, and the focus stays on its button", async () => {
  const page = await open("<agui-confirm-card></agui-confirm-card>", { script: `
    const { fromApproval } = await import("${SERVER}components/agui-gate.js");
    window.row = { id: "apr_1", call_id: "c1", tool: "order", arguments: { sku: "A1", places: [{ shelf: "7" }] }, editable: ["sku"] };
    window.fromApproval = fromApproval;
    document.querySelector("agui-confirm-card").ask = fromApproval(row);` });
  const approve = page.getByRole("button", { name: "Approve" });
  await approve.waitFor();
  assert.equal(await page.locator("agui-confirm-card slot").count(), 0);
  await page.getByText("Shelf").waitFor(); // an object in a list
  await approve.focus();
  const focused = () => page.evaluate(() => document.querySelector("agui-confirm-card").shadowRoot.activeElement?.value);
  for (const name of ["before", "after", "arguments", "actions"]) {
    await page.evaluate((name) => document.querySelector("agui-confirm-card").append(Object.assign(document.createElement("b"), { slot: name, textContent: `own ${name}` })), name);
    assert.ok(await page.getByText(`own ${name}`).isVisible());
    assert.equal(await focused(), "approve");
  }
  assert.equal(await page.getByText("Shelf").isVisible(), false, "the page's own are in their place");
  await page.evaluate(() => (document.querySelector("b[slot=arguments]").slot = "after"));
  await page.getByText("Shelf").waitFor();
  await page.evaluate(() => (document.querySelector("agui-confirm-card").ask = fromApproval({ ...row, you: { may: ["reject"], agreed: false, why: null } })));
  await approve.waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.querySelector("agui-confirm-card").shadowRoot.activeElement?.className), "card", "its button is gone");
  await leave(page);
});

test("who types goes on typing where they are, when the page fills a slot and when the call is frozen", async () => {
  const page = await open("<agui-confirm-card></agui-confirm-card>", { script: `
    const { fromApproval } = await import("${SERVER}components/agui-gate.js");
    const you = { may: ["approve", "edit", "reject"], agreed: false, why: null };
    const row = { id: "apr_1", call_id: "c1", tool: "order", arguments: { sku: "A1" }, editable: ["sku"], people: {}, you };
    const card = document.querySelector("agui-confirm-card");
    window.asks = (more) => (card.ask = fromApproval({ ...row, ...more }));
    window.fills = () => card.append(Object.assign(document.createElement("b"), { slot: "before", textContent: "own" }));
    asks({});` });
  await page.getByRole("button", { name: "Edit" }).click();
  await page.keyboard.press("Home");
  await page.keyboard.type("x");
  await page.evaluate("fills()");
  await page.getByText("own").waitFor();
  await page.keyboard.type("y");
  await page.evaluate('asks({ frozen: "This is frozen." })');
  await page.getByRole("button", { name: "Approve" }).waitFor({ state: "detached" });
  await page.keyboard.type("z");
  assert.equal(await page.locator("[name=sku]").inputValue(), "xyzA1");
  await leave(page);
});

test("a card that moves to another document keeps its look", async () => {
  const page = await open("<agui-confirm-card></agui-confirm-card><iframe></iframe>", { script: `
    const { fromApproval } = await import("${SERVER}components/agui-gate.js");
    window.moving = document.querySelector("agui-confirm-card");
    moving.ask = fromApproval({ id: "apr_1", call_id: "c1", tool: "order", arguments: {}, editable: [] });` });
  const look = () => page.evaluate(() => getComputedStyle(moving.shadowRoot.querySelector(".card")).borderTopLeftRadius);
  await page.getByRole("button", { name: "Approve" }).waitFor();
  assert.equal(await look(), "14px");
  await page.evaluate(() => document.querySelector("iframe").contentDocument.body.append(moving));
  assert.equal(await look(), "14px");
  await page.evaluate(() => document.querySelector("main").append(moving));
  assert.equal(await look(), "14px");
  await leave(page);
});

test("an ask is text, whatever it is", async () => {
  const page = await open("<agui-confirm-card></agui-confirm-card>", { script: `
    const { fromApproval } = await import("${SERVER}components/agui-gate.js");
    const evil = { strings: ["<img src=x onerror=alert(1)>"], values: [], raw: [""] };
    document.querySelector("agui-confirm-card").strings = { approve: "<img src=x>&amp;" };
    document.querySelector("agui-confirm-card").ask = { ...fromApproval({ id: "apr_1", call_id: "c1", tool: "<img>", agent: "<img>", arguments: { "<img>": "<img>", of: evil, list: [evil] }, editable: [] }), message: evil };` });
  await page.getByRole("button", { name: "<img src=x>&amp;" }).waitFor();
  assert.equal(await page.locator("agui-confirm-card img").count(), 0);
  await leave(page);
});

test("an argument without an input of its own is edited as JSON: what isn't valid is said, and stays", async () => {
  const page = await open("<agui-confirm-card></agui-confirm-card>", { script: `
    const { fromApproval } = await import("${SERVER}components/agui-gate.js");
    globalThis.heard = [];
    here.addEventListener("agui-decide", ({ detail }) => heard.push(detail.decision));
    document.querySelector("agui-confirm-card").ask = fromApproval({ id: "apr_1", call_id: "c1", tool: "order", arguments: { items: [{ sku: "A1" }] }, editable: ["items"] });` });
  await page.getByRole("button", { name: "Edit" }).click();
  const field = page.getByLabel("Items");
  await field.fill('[{"sku": ');
  await page.getByRole("button", { name: "Approve with changes" }).click();
  await page.getByText("Items must be valid JSON.").waitFor();
  assert.equal(await field.inputValue(), '[{"sku": ');
  assert.deepEqual(await page.evaluate("heard"), []);
  await field.fill('[{"sku": "B2"}]');
  await page.getByRole("button", { name: "Approve with changes" }).click();
  await page.waitForFunction(() => heard.length > 0);
  assert.deepEqual(await page.evaluate("heard"), [{ approved: true, edits: { items: [{ sku: "B2" }] } }]);
  await leave(page);
});

test("an older server: a card without its schema, and a sentence", async () => {
  const asked = await ask(REFUND);
  const strip = ({ schema, refused, already_ran, thread, ...row }) => row;
  const older = await proxy(({ url }) => {
    if (!url.startsWith("/approvals?")) return undefined;
    return (text) => JSON.stringify({ next_cursor: null, approvals: JSON.parse(text).approvals.map(strip) });
  });
  const page = await open(gate(card(asked), { base: older.url }));
  await page.getByText("The server is older than this page").waitFor();
  await page.getByRole("button", { name: "Edit" }).click();
  assert.equal(await page.getByLabel(/Amount/).inputValue(), "20");
  await leave(page);
});

test("without modules what is in the element is what is seen", async () => {
  const page = await openOwn(gate(`<agui-confirm-card approval="apr_1">Open the chat to decide this.</agui-confirm-card>`), { module: `${SERVER}components/nothing.js` });
  assert.ok(await page.getByText("Open the chat to decide this.").isVisible());
  await leave(page);
});

test("by the keyboard, on a phone", async () => {
  const asked = await ask(REFUND);
  const page = await open(gate("<agui-inbox></agui-inbox>"), { viewport: { width: 320, height: 600 } });
  const line = page.locator(`agui-inbox .item[data-thread="${asked.thread_id}"] .line-button`);
  await line.focus();
  await page.keyboard.press("Enter");
  await page.locator("agui-inbox agui-confirm-card").getByRole("button", { name: "Approve" }).waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320, "nothing is wider than the phone");
  await page.keyboard.press("a");
  await page.locator(`agui-inbox .item[data-thread="${asked.thread_id}"][data-state=done]`).waitFor();
  await leave(page);
});

test("the focus goes to the first call that waits, past those that were decided", async () => {
  await Promise.all([ask(REFUND), ask(REFUND)]);
  const page = await open(gate("<agui-inbox></agui-inbox>"));
  const first = page.locator("agui-inbox .item").first();
  await first.locator(".line-button").click();
  await first.getByRole("button", { name: "Approve" }).click();
  await page.locator("agui-inbox .item[data-state=done]").waitFor();
  await first.locator(".line-button").click();
  await page.evaluate(() => document.querySelector("agui-inbox").focus());
  await page.locator("agui-inbox .item[data-waits=true] .line-button[aria-expanded=true]:focus").waitFor();
  await page.evaluate(() => document.querySelector("agui-inbox").clear());
  await page.locator("agui-inbox .item[data-waits=false]").waitFor({ state: "detached" });
  await leave(page);
});

test("a page gives the cards in an inbox its look, and buttons of its own", async () => {
  const asked = await ask(REFUND);
  const script = `
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("agui-inbox::part(card-title), agui-inbox::part(button) { letter-spacing: 3px }");
    document.adoptedStyleSheets = [sheet];
    here.addEventListener("agui-toggle", ({ target, detail: { id } }) => {
      const own = document.querySelector("#own") ?? Object.assign(document.createElement("button"), { id: "own", slot: id, textContent: "Ask a colleague" });
      target.opened.has(id) ? target.append(own) : own.remove();
    });`;
  const page = await open(gate("<agui-inbox></agui-inbox>"), { script });
  const line = page.locator(`agui-inbox .item[data-thread="${asked.thread_id}"] .line-button`);
  await line.click();
  await page.getByRole("button", { name: "Ask a colleague" }).waitFor();
  const card = page.locator("agui-inbox agui-confirm-card");
  for (const part of [card.getByRole("heading", { name: "Refund" }), card.getByRole("button", { name: "Reject" })]) assert.equal(await part.evaluate((node) => getComputedStyle(node).letterSpacing), "3px");
  await line.click();
  await page.locator("#own").waitFor({ state: "detached" });
  await decide(asked.id, { approved: false });
  await leave(page);
});

test("forty calls that are gone are one request, and nothing in the console", async () => {
  const ids = Array.from({ length: 40 }, (_, at) => ({ id: `apr_gone${at}` }));
  const page = await open(gate(ids.map(card).join("")));
  await page.getByText("This was deleted, or it is nothing that you may decide.").nth(39).waitFor();
  assert.deepEqual(page.requests.filter((one) => one.includes("/approvals")).sort(), ["GET /approvals", "GET /approvals", "GET /approvals/events"]);
  assert.deepEqual(page.problems, []);
  await leave(page);
});

test("a thousand that wait: a hundred lines are drawn, all can be searched", async () => {
  const row = (number) => ({
    id: `apr_${number}`, thread_id: `t${number}`, agent: "support", call_id: `c${number}`, tool: "refund", state: "pending", decision: null, message: null,
    arguments: { order_id: `A${number}`, amount: number }, effective_arguments: { order_id: `A${number}`, amount: number }, editable: [], asked_at: "2026-11-26T12:00:00.000Z",
    expires_at: null, result: null, replaced: false, schema: null, refused: null, already_ran: [], thread: { title: `Chat ${number}`, agent: "support" },
  });
  const headers = { "access-control-allow-origin": "*", "access-control-allow-headers": "*" };
  const many = await listen((request, response) => {
    const url = new URL(request.url, SERVER);
    if (request.method === "OPTIONS") return response.writeHead(204, headers).end();
    if (url.pathname === "/approvals/events") return response.writeHead(200, { ...headers, "content-type": "text/event-stream" }).write(": \n\n");
    const from = Number(url.searchParams.get("cursor") ?? 0);
    const approvals = Array.from({ length: 100 }, (_, at) => row(from + at));
    response.writeHead(200, { ...headers, "content-type": "application/json" }).end(JSON.stringify({ approvals, next_cursor: from + 100 < 1000 ? String(from + 100) : null }));
  });
  const page = await open(gate("<agui-inbox></agui-inbox>", { base: many.url }));
  await page.getByRole("heading", { name: "Waiting for you (1000)" }).waitFor();
  assert.equal(await page.locator("agui-inbox .item").count(), 100);
  const took = await page.evaluate(async () => {
    const inbox = document.querySelector("agui-inbox");
    const from = performance.now();
    for (let at = 0; at < 10; at++) {
      inbox.requestUpdate();
      await inbox.updateComplete;
    }
    return (performance.now() - from) / 10;
  });
  console.log(`# drawing the inbox of a thousand anew: ${took.toFixed(1)} ms`);
  await page.getByRole("searchbox").fill("chat 777");
  await page.locator("agui-inbox .item").nth(1).waitFor({ state: "detached" });
  assert.equal(await page.locator("agui-inbox .item").count(), 1);
  await leave(page);
});


for (const [name, folder] of [["inbox.html"], ["react.html", BUILT], ["vue.html", BUILT], ["svelte.html", BUILT]])
  test(`the example ${name}: a page of another origin with an inbox and a card`, async () => {
    const asked = await ask(REFUND);
    const page = await example(name, `?approval=${asked.id}`, folder);
    await page.locator(`agui-inbox .item[data-thread="${asked.thread_id}"]`).waitFor();
    await page.locator("agui-confirm-card[approval]").getByRole("button", { name: "Approve" }).click();
    await page.getByText(/^refund: (claimed|done)$/).waitFor();
    await page.locator("agui-confirm-card[approval][mode=closed]").waitFor();
    assert.equal(page.requests.filter((one) => one === "GET /approvals/events").length, 1);
    assert.deepEqual(page.problems, []);
    await leave(page);
  });

test("the example: markup of one's own over the core", async () => {
  const asked = await ask(REFUND);
  const page = await example("own_buttons.html");
  const own = page.locator(`li[id="${asked.id}"]`); // the chat goes on, and may ask again
  await own.getByRole("button", { name: "Edit" }).click();
  await own.getByLabel("Amount").fill("15");
  await own.getByRole("button", { name: "Approve with changes" }).click();
  await own.getByText(/Approved/).waitFor();
  assert.equal((await record(asked.id)).effective_arguments.amount, 15);
  assert.deepEqual(page.problems, []);
  await leave(page);
});

test("the example of Next.js: rendered by its server, taken over in the browser", async () => {
  const asked = await ask(REFUND);
  const url = `${await next()}?approval=${asked.id}`;
  const html = await (await fetch(url)).text();
  assert.ok(html.includes(`<agui-gate base="${SERVER}" send=""><agui-confirm-card approval="${asked.id}">This card needs JavaScript.</agui-confirm-card><agui-inbox></agui-inbox>`), html);
  const page = await visit(url);
  await page.locator(`agui-inbox .item[data-thread="${asked.thread_id}"]`).waitFor();
  await page.locator("agui-confirm-card[approval]").getByRole("button", { name: "Approve" }).click();
  await page.getByText(/^refund: (claimed|done)$/).waitFor();
  await page.locator("agui-confirm-card[approval][mode=closed]").waitFor();
  assert.deepEqual(page.problems, [], "and nothing differs from what was rendered");
  await leave(page);
});

for (const hitl of ["interrupt", "card"])
  test(`the example copilotkit.jsx: the card in CopilotKit's chat, asked by ${hitl}`, async () => {
    const page = await visit(`${SERVER}copilot/example.html?hitl=${hitl}`);
    await page.waitForLoadState("networkidle"); // before CopilotKit knows its agents, its field sends nothing
    await page.getByRole("textbox").fill(REFUND);
    await page.keyboard.press("Enter");
    await page.locator("agui-confirm-card").getByRole("button", { name: "Approve" }).click();
    await page.getByText(/refunded|Done/i).last().waitFor();
    assert.deepEqual(page.problems, []);
    await leave(page);
  });
