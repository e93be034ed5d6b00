/** The card as an element, in a plain page of another origin under a strict policy, with a real server behind it. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { accessible } from "../axe.mjs";
import { CLOCK, focused } from "../builtin.mjs";
import { becomes, counts, shows, textOf } from "../eventually.mjs";
import { isClaimed, waiting } from "../inbox.mjs";
import { call, calls, DETAILS, refund, ship } from "../stage.mjs";

const HTML = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Elsewhere</title>
<link rel="stylesheet" href="/page.css"></head><body><main><h1>Approvals</h1><agui-confirm-card id="first">The card can't be shown here.</agui-confirm-card></main></body></html>`;
const CSS = ":root { color-scheme: light dark } body { margin: 16px; background: Canvas; color: CanvasText }";

/** The other origin. A page that a test answers in place of a server would be none of this machine's, and get nothing from it. */
let elsewhere = null;

function serve({ server, elsewhere: url }) {
  const policy = `default-src 'none'; script-src ${server}; style-src 'self'; connect-src ${server}; require-trusted-types-for 'script'; trusted-types lit-html`;
  const pages = { "/": ["text/html", HTML], "/page.css": ["text/css", CSS] };
  elsewhere = createServer((request, response) => {
    const [type, body] = pages[request.url] ?? [];
    response.writeHead(body ? 200 : 204, { "content-security-policy": policy, "content-type": type ?? "text/plain" }).end(body);
  });
  elsewhere.unref();
  return new Promise((resolve) => elsewhere.listen(new URL(url).port, "127.0.0.1", resolve));
}

/** The plain page; `define: false`: it doesn't know the elements yet. `modules`: what is answered for them, in place of the server. */
async function plain(t, { define = true, modules, ...options } = {}) {
  if (!elsewhere) await serve(t.urls);
  const page = await t.openUrl(`${t.urls.elsewhere}/`, options); // without options it shares what others have loaded
  if (modules) await page.route("**/components/**", modules);
  await page.setViewportSize({ width: 900, height: 860, ...options.viewport });
  if (define) await load(t, page);
  return page;
}

/** What a page with a script tag does, and how it shows the approvals that wait, by what the package has for that. */
const load = (t, page) =>
  page.evaluate(async (server) => {
    const gate = await import(`${server}/components/agui-gate.js`);
    gate.defineAguiGate();
    window.gate = gate;
    window.heard = [];
    const post = (id, body) => fetch(`${server}/approvals/${id}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    for (const name of ["agui-decide", "agui-undo", "agui-mode", "agui-leave"]) addEventListener(name, ({ detail }) => window.heard.push([name, detail.mode ?? detail.decision ?? null]));
    window.show = (ask, more = {}) => {
      const card = Object.assign(document.createElement("agui-confirm-card"), { ask, ...more });
      document.querySelector("main").append(card);
      return card;
    };
    window.showWaiting = async (thread) => {
      const { approvals } = await (await fetch(`${server}/approvals?view=card`)).json();
      for (const approval of approvals.filter(({ thread_id }) => thread_id === thread)) {
        const card = window.show(gate.fromApproval(approval));
        card.addEventListener("agui-decide", async ({ detail: { ask, decision } }) => {
          const answer = await post(ask.id, gate.toApproval(ask, decision));
          const told = answer.ok ? await (await fetch(`${server}/approvals/${ask.id}`)).json() : (await answer.json()).error;
          if (answer.ok) card.record = told;
          else if (told.record) card.record = told.record;
          else card.reopen(told.message);
        });
      }
    };
  }, t.urls.server);

const ASK = { id: "a", key: "k1", kind: "approval", callId: "k1", tool: "refund_order", arguments: { order_id: "1003", amount: 20 }, fields: [], message: "Refund 20 € for order 1003?" };
const AMOUNT = { path: ["amount"], name: "amount", label: "Amount", kind: "number", value: 20, required: true, nullable: false, min: 1 };
const EDITABLE = { ...ASK, fields: [AMOUNT] };

const show = (page, ask, more) => page.evaluate(([one, other]) => void window.show(one, other), [ask, more]);
const heard = (page) => page.evaluate(() => window.heard);
const press = (page, name) => page.getByRole("button", { name, exact: true }).click();
const nameOfFocused = async (page) => (await focused(page)).evaluate((element) => element.id || element.className);

/** What the page hears of a call that waits is sent as it says, and the server's word closes the card. */
export async function elementDecides(t) {
  const approved = await waiting(t, "Refund it", calls("I'll refund it.", refund()));
  const edited = await waiting(t, "Ship it", calls("I'll ship it.", ship()));
  const rejected = await waiting(t, "Refund that", calls("I'll refund it.", refund("1002", 3)));
  const page = await plain(t);
  await page.evaluate((id) => window.showWaiting(id), approved);
  await page.getByRole("region", { name: "Approval needed: Refund" }).waitFor();
  await shows(page.locator(".card"), /Refund 0\.10 € for order 1003\?.*Order id ?1003 ?Amount ?0\.10 €/);
  await press(page, "Approve");
  await shows(page.locator(".line"), new RegExp(`^Approved at ${CLOCK}, outside the chat · Refund · 1003 · 0\\.10 €$`));
  await page.evaluate((id) => window.showWaiting(id), edited);
  await press(page, "Edit");
  await becomes(async () => (await focused(page)).evaluate((element) => element.selectionEnd > 0 || element.type), true, "what is there is selected");
  await page.getByLabel("Boxes").fill("two");
  await page.keyboard.press("Enter");
  await shows(page.locator(".field-error", { hasText: /\S/ }), /^Boxes must be a number\.$/);
  assert.equal(await nameOfFocused(page), "field-boxes", "the focus is where it is wrong");
  await page.getByLabel("Boxes").fill("10");
  await page.keyboard.press("Enter");
  await shows(page.locator(".field-error", { hasText: /\S/ }), /^Boxes must be at most 9\.$/);
  await page.getByLabel("Boxes").fill("9");
  assert.deepEqual(await page.getByLabel("Carrier").locator("option").allTextContents(), ["dhl", "ups"]);
  await page.getByLabel("Carrier").selectOption("dhl");
  await page.getByLabel("To street").fill("Kurze Straße 1");
  await page.getByLabel("Insured").uncheck();
  await page.getByLabel("Tags").fill("fragile\ngift");
  await accessible(page, "many fields");
  await press(page, "Approve with changes");
  await shows(page.locator(".line").nth(1), /^Approved at .* · .*Boxes 2 → 9/);
  const changed = { to: { ...DETAILS.to, street: "Kurze Straße 1" }, carrier: "dhl", insured: false, tags: ["fragile", "gift"], boxes: 9 };
  const { calls: [record] } = await (await fetch(`${t.urls.server}/threads/${edited}?view=calls`)).json();
  assert.deepEqual(record.effective_arguments, { ...DETAILS, ...changed });
  await page.evaluate((id) => window.showWaiting(id), rejected);
  await press(page, "Reject");
  await page.keyboard.type("No receipt");
  await page.keyboard.press("Enter");
  await shows(page.locator(".line").nth(2), /^Rejected at .* · “No receipt”$/);
}

/** Two cards for one call: one answer counts, and the other card says so. */
export async function elementRaces(t) {
  const thread = await waiting(t, "Refund it", calls("I'll refund it.", refund()));
  const page = await plain(t);
  page.allow(/409/);
  await page.evaluate((id) => window.showWaiting(id), thread);
  await page.evaluate((id) => window.showWaiting(id), thread);
  await page.locator(".card").nth(1).waitFor();
  const [first, second] = [page.locator(".card").first(), page.locator(".card").nth(1)];
  await second.getByRole("button", { name: "Reject" }).click();
  await first.getByRole("button", { name: "Approve" }).click();
  await shows(first.locator(".line"), /^Approved at /);
  await second.getByRole("button", { name: "Reject" }).click();
  await shows(second.locator(".line"), /^Already approved at .*\. Your answer came too late and changed nothing\.$/);
}

/** An edit that the server doesn't take is asked for again, with what was typed. */
export async function elementAsksAgain(t) {
  const thread = await waiting(t, "Refund it", calls("I'll refund it.", refund()));
  const page = await plain(t);
  page.allow(/4\d\d/);
  await page.route(`${t.urls.server}/approvals/*`, (route) => (route.request().method() === "POST" ? route.fulfill({ status: 422, headers: { "access-control-allow-origin": "*" }, json: { error: { message: "More than was paid\u202e." } } }) : route.fallback()));
  await page.evaluate((id) => window.showWaiting(id), thread);
  await press(page, "Edit");
  await page.getByLabel("Amount (€)").fill("0,05");
  await press(page, "Approve with changes");
  await shows(page.getByRole("alert").first(), /^More than was paid⟦U\+202E⟧\.$/);
  assert.equal(await page.getByLabel("Amount (€)").inputValue(), "0,05");
}

/** Keys decide on the card and not in its fields; nothing decides twice; the page hears what the person is at. */
export async function elementIsAtHand(t) {
  const page = await plain(t);
  await show(page, EDITABLE);
  await page.evaluate(() => document.querySelector("agui-confirm-card:last-child").focus());
  assert.equal(await nameOfFocused(page), "card");
  await page.keyboard.press("Control+a");
  await page.keyboard.press("e");
  await page.keyboard.type("7.5area");
  assert.equal(await page.getByLabel("Amount").inputValue(), "7.5area");
  await page.keyboard.press("Home");
  await page.keyboard.type("12");
  assert.equal(await page.getByLabel("Amount").inputValue(), "127.5area", "the caret stays where one types");
  await becomes(() => page.locator("agui-confirm-card").last().getAttribute("mode"), "edit");
  await page.keyboard.press("Escape");
  assert.equal(await nameOfFocused(page), "card");
  await page.keyboard.press("r");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Approve" }).dblclick();
  await becomes(() => heard(page), [["agui-mode", "edit"], ["agui-mode", "view"], ["agui-mode", "reject"], ["agui-mode", "view"], ["agui-mode", "sending"], ["agui-decide", { approved: true }]]);
  await shows(page.locator(".line"), /^Your answer: approve · refund order · 1003 · 20 €$/);
  await page.evaluate(() => (document.querySelector("agui-confirm-card:last-child").draft = { approved: true }));
  await press(page, "Change");
  assert.deepEqual((await heard(page)).at(-1), ["agui-undo", null]);
  await page.evaluate(() => (document.querySelector("agui-confirm-card:last-child").draft = null));
  await page.getByRole("button", { name: "Approve" }).waitFor();
}

/** An input method writes into a field, and the card doesn't take its keys. */
export async function elementTakesInputMethods(t) {
  const page = await plain(t);
  await show(page, { ...EDITABLE, fields: [{ ...AMOUNT, kind: "text", value: "" }] });
  await press(page, "Edit");
  const session = await page.context().newCDPSession(page);
  await session.send("Input.imeSetComposition", { text: "にほ", selectionStart: 2, selectionEnd: 2 });
  await session.send("Input.insertText", { text: "日本" });
  await page.keyboard.type("!");
  assert.equal(await page.getByLabel("Amount").inputValue(), "日本!");
}

/** A reload in an edit keeps what was typed; what is left or answered does not come back. */
export async function elementKeepsAnEdit(t) {
  const page = await plain(t);
  await show(page, EDITABLE);
  await press(page, "Edit");
  await page.getByLabel("Amount").fill("12");
  await page.reload();
  await load(t, page);
  await show(page, EDITABLE);
  assert.equal(await page.getByLabel("Amount").inputValue(), "12");
  await press(page, "Back");
  await page.reload();
  await load(t, page);
  await show(page, EDITABLE);
  await page.getByRole("button", { name: "Approve" }).waitFor();
}

/** Who is at an answer hears that the call was closed, or that the card went. */
export async function elementIsLeft(t) {
  const page = await plain(t);
  const last = () => document.querySelector("agui-confirm-card:last-child");
  await show(page, EDITABLE);
  await press(page, "Edit");
  await page.evaluate(`(${last})().record = { state: "done", decision: { approved: true, by: "alice", at: null, way: "http" } }`);
  await shows(page.locator(".line"), /^Already approved by alice, outside the chat · Refund order · 1003 · 20 €\. What you were about to answer was not sent\.$/);
  assert.deepEqual((await heard(page)).at(-2), ["agui-leave", null]);
  await show(page, { ...EDITABLE, key: "k2" });
  await press(page, "Reject");
  await page.evaluate(`(${last})().addEventListener("agui-leave", () => window.heard.push("gone"))`); // no event comes far from there
  await page.evaluate(`(${last})().remove()`);
  await becomes(async () => (await heard(page)).at(-1), "gone");
}

/** The server is killed while an approved tool runs, and somebody else types: started again, it says what it knows, and nothing runs twice. */
export async function elementIsKilled(t) {
  const packed = await waiting(t, "Pack it", calls("I'll pack it.", call("pack_order", { seconds: 60 })));
  const refunded = await waiting(t, "Refund it", calls("I'll refund it.", refund()));
  const idOf = async (thread) => (await (await fetch(`${t.urls.server}/threads/${thread}?view=calls`)).json()).calls[0];
  const page = await plain(t);
  page.allow(/ERR_|Failed to load|502/);
  const ids = [(await idOf(packed)).id, (await idOf(refunded)).id];
  await page.evaluate(([base, ids]) => {
    const gate = Object.assign(document.createElement("agui-gate"), { base, send: true });
    gate.append(...ids.map((id) => Object.assign(document.createElement("agui-confirm-card"), { id })));
    for (const card of gate.children) card.setAttribute("approval", card.id);
    document.querySelector("main").replaceChildren(gate);
  }, [`${t.urls.server}/`, ids]);
  const [first, second] = ids.map((id) => page.locator(`#${id}`));
  await second.getByRole("button", { name: "Reject" }).click();
  await second.getByLabel(/Reason/).fill("No receipt");
  await first.getByRole("button", { name: "Approve" }).click();
  await isClaimed(t, packed);
  await t.kill("server");
  await shows(second.locator(".card"), /The server can't be reached/);
  await t.start("server");
  await page.evaluate(() => document.querySelector("agui-gate").retry());
  await shows(first.locator(".line"), /^Approved at .*it is not known whether it ran/);
  assert.equal(await second.getByLabel(/Reason/).inputValue(), "No receipt");
  await second.getByRole("button", { name: "Reject" }).click();
  await shows(second.locator(".line"), /^Rejected at .*“No receipt”/);
  assert.deepEqual([(await idOf(packed)).state, (await idOf(refunded)).state], ["unknown", "rejected"]);
}

/** Time runs out by the server's clock; what was asked can still be read. */
export async function elementExpires(t) {
  const page = await plain(t, {});
  await page.clock.install();
  await page.evaluate((ask) => void window.show({ ...ask, expiresAt: Date.now() + 61_000 }), EDITABLE);
  await shows(page.getByRole("timer"), /^Expires in 1:01$/);
  await press(page, "Edit");
  await page.clock.runFor(62_000);
  await shows(page.getByRole("status"), /^Expired$/);
  await shows(page.locator(".card-heading"), /Nobody decided in time, so it did not run/);
  await becomes(() => page.locator(".card :is(button, input):enabled").count(), 0);
  assert.match(await textOf(page.locator(".card")), /1003/);
}

/** Nothing in it is markup, hidden, or turned around, whatever the model wrote. */
export async function elementShowsWhatIsThere(t) {
  const nasty = { html: "<img src=x onerror=alert(1)>", turned: "Your \u202edednufer\u202c order", hidden: "100\u200b0", nothing: "", list: ["a", null], deep: { a: { "": "${evil}" } }, text: "true" };
  const page = await plain(t);
  const field = { path: ["turned"], name: "turned", label: "Turned", kind: "text", value: nasty.turned, required: true, nullable: false, help: "<b>help</b>" };
  await show(page, { ...ASK, tool: "</h2><script>\u202e", agent: "<i>", arguments: nasty, fields: [field], message: "<b>&amp;</b>", refused: "<b>" });
  await shows(page.locator(".card"), /<b>&amp;<\/b>.*<img src=x onerror=alert\(1\)>.*Your ⟦U\+202E⟧dednufer⟦U\+202C⟧ order.*100⟦U\+200B⟧0.*Empty.*None.*\$\{evil\}.*"true"/);
  await counts(page.locator(".card img, .card script, .card b, .card i"), 0);
  await press(page, "Edit");
  await shows(page.locator(".field-hidden"), /^Really: Your ⟦U\+202E⟧dednufer⟦U\+202C⟧ order$/);
  await shows(page.locator(".field-help"), /^<b>help<\/b>$/);
  for (const wrong of ["[object Object]", {}, { tool: 1 }, { tool: "x", arguments: [] }]) await show(page, wrong);
  await counts(page.getByText("This can't be shown as it is"), 4);
}

/** Properties may come before the element is defined; there may be two versions; there may be none. */
export async function elementComesLate(t) {
  const page = await plain(t, { define: false });
  await page.evaluate((ask) => {
    const early = document.querySelector("#first");
    early.setAttribute("ask", "[object Object]"); // as React does
    early.ask = ask;
  }, ASK);
  await page.getByText("The card can't be shown here.").waitFor();
  await load(t, page);
  await page.getByRole("button", { name: "Approve" }).waitFor();
  assert.equal(await page.evaluate(() => document.querySelector("#first").firstChild.assignedSlot), null, "what stood there is not shown any more");
  const other = await plain(t, { define: false });
  await other.evaluate(() => customElements.define("agui-confirm-card", class extends HTMLElement {}));
  const warned = other.waitForEvent("console", (message) => message.type() === "warning");
  await load(t, other);
  assert.match((await warned).text(), /<agui-confirm-card>/);
  const none = await plain(t, { define: false, modules: (route) => route.abort() });
  none.allow(/components/);
  await none.evaluate((server) => import(`${server}/components/agui-gate.js`).catch(() => {}), t.urls.server);
  await none.getByText("The card can't be shown here.").waitFor();
}

const STATES = [
  ["waiting", EDITABLE],
  ["asked again", { ...EDITABLE, key: "k2", agent: "warehouse", refused: "More than was paid.", earlier: [{ arguments: ASK.arguments, at: null, state: "done" }] }],
  ["a question", { ...ASK, key: "k3", tool: "", kind: "question", fields: [{ ...AMOUNT, name: "size", path: ["size"], label: "Size", kind: "choice", options: ["S", "M"], value: undefined }, { ...AMOUNT, name: "why", path: ["why"], label: "Why", kind: "long", value: undefined, help: "In a few words." }, { ...AMOUNT, name: "now", path: ["now"], label: "Now", kind: "boolean", value: true }] }],
  ["expired", { ...ASK, key: "k4", expiresAt: 1 }],
];

/** Every state can be used by everybody: names and roles, contrast, direction, colours that are forced, a phone. */
export async function elementIsForEverybody(t) {
  for (const options of [{ colorScheme: "light" }, { colorScheme: "dark" }, { viewport: { width: 320, height: 700 }, isMobile: true, hasTouch: true }]) {
    const page = await plain(t, { ...options, reducedMotion: "reduce" });
    for (const [, ask] of STATES) await show(page, ask);
    await show(page, { ...EDITABLE, key: "k5" });
    await show(page, { ...EDITABLE, key: "k6" });
    await show(page, { ...ASK, key: "k7" }, { record: { state: "rejected", decision: { approved: false, by: "alice", at: new Date().toISOString(), way: "http" } } });
    await show(page, { ...ASK, key: "k8" }, { draft: { approved: true } });
    await page.locator(".card").nth(4).getByRole("button", { name: "Edit" }).click();
    await page.locator(".card").nth(5).getByRole("button", { name: "Reject" }).click();
    await accessible(page, JSON.stringify(options));
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "it fits");
    assert.equal(await page.locator(".button").first().evaluate((button) => getComputedStyle(button).transitionDuration), "0s");
  }
  const page = await plain(t, { forcedColors: "active" });
  await page.evaluate((ask) => void window.show(ask, { dir: "rtl", lang: "de" }), { ...EDITABLE, message: undefined, refused: "The edit was refused: these arguments may not be edited: to.", expiresAt: new Date(Date.now() + 300_000).toISOString() });
  await page.getByRole("region", { name: "Freigabe nötig: Refund order" }).waitFor();
  await shows(page.locator(".card"), /Der Assistent möchte das tun\. Es geschieht nichts, bis Sie entscheiden\.Läuft ab in \d/);
  await shows(page.getByRole("alert").first(), /^Das darf nicht geändert werden: to\.$/);
  const side = (name) => page.getByRole("button", { name }).evaluate((button) => button.getBoundingClientRect().left);
  assert.ok((await side("Freigeben")) > (await side("Ablehnen")), "from right to left");
  assert.equal(await page.locator(".card").evaluate((card) => getComputedStyle(card).borderTopWidth), "1px");
  await accessible(page, "forced colours");
}

/** A page's own words, markup and colours. */
export async function elementIsThePages(t) {
  const page = await plain(t);
  await page.evaluate((ask) => {
    const card = window.show(ask, { strings: { approve: "Pay" } });
    const note = Object.assign(document.createElement("p"), { slot: "before", textContent: "Paid by card." });
    const all = Object.assign(document.createElement("button"), { slot: "actions", textContent: "Pay all" });
    card.append(note, all);
    card.style.setProperty("--agui-gate-accent", "rgb(1, 2, 3)");
  }, ASK);
  await press(page, "Pay");
  await counts(page.getByText("Paid by card.").filter({ visible: true }), 0);
  await page.evaluate(() => document.querySelector("agui-confirm-card:last-child").reopen("Again."));
  await page.getByText("Paid by card.").waitFor();
  await page.getByRole("button", { name: "Pay all" }).waitFor();
  await page.evaluate(() => {
    class OwnField extends HTMLElement {
      constructor() {
        super();
        this.attachShadow({ mode: "open" }).append(Object.assign(document.createElement("input"), { ariaLabel: "Note" }));
      }
    }
    customElements.define("own-field", OwnField);
    document.querySelector("agui-confirm-card:last-child").append(Object.assign(document.createElement("own-field"), { slot: "before" }));
  });
  await page.getByLabel("Note").pressSequentially("are");
  assert.equal(await page.getByLabel("Note").inputValue(), "are", "letters in a field of the page's own decide nothing");
  assert.equal(await page.locator("agui-confirm-card").last().getAttribute("mode"), "view");
  assert.equal(await page.locator(".primary").evaluate((button) => getComputedStyle(button).backgroundColor), "rgb(1, 2, 3)");
  await page.setViewportSize({ width: 500, height: 800 });
  const host = page.locator("agui-confirm-card").last();
  const parts = await host.evaluate((card) => [...card.shadowRoot.querySelectorAll("[part]")].map((node) => node.getAttribute("part")));
  assert.deepEqual([...new Set(parts)].sort(), ["actions", "arguments", "button", "card", "header", "title"]);
}
