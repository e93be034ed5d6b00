// Pictures of each element in each state, in `tests/e2e/shots/gallery`: `make gallery`. They need no server but for the files.

import { mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { launch } from "../browser.mjs";

const BUNDLE = new URL("../../../components/dist/", import.meta.url);
const SHOTS = fileURLToPath(new URL("../shots/gallery/", import.meta.url));
const LOOKS = {
  light: "",
  dark: ":root { color-scheme: dark; background: #171716; }",
  serif: "agui-confirm-card, agui-inbox { --agui-gate-accent: #7c3aed; --agui-gate-radius: 2px; --agui-gate-control-radius: 2px; --agui-gate-font: Georgia, serif; } ::part(card) { border-inline-start: 6px solid #7c3aed; }",
  terminal: `:root { color-scheme: dark; background: #060a06; }
    agui-confirm-card, agui-inbox { --agui-gate-font: ui-monospace, Menlo, Consolas, monospace; --agui-gate-font-size: 13px; --agui-gate-radius: 0; --agui-gate-control-radius: 0; --agui-gate-shadow: none;
      --agui-gate-surface: #060a06; --agui-gate-page: #000; --agui-gate-sunken: #0d1a0d; --agui-gate-line: #1f3d1f; --agui-gate-line-strong: #2f6b2f; --agui-gate-text: #c8f7c5; --agui-gate-quiet: #7fae7c;
      --agui-gate-accent: #39d353; --agui-gate-accent-strong: #7ee787; --agui-gate-on-accent: #031203; --agui-gate-wait: #e3b341; --agui-gate-wait-soft: #0d1a0d; --agui-gate-wait-line: #2f6b2f; }
    ::part(header) { padding-block: 4px; } ::part(arguments), ::part(actions) { padding-block: 5px; } ::part(arguments) { row-gap: 0; }
    ::part(title), ::part(card-title) { font-size: 1em; text-transform: uppercase; letter-spacing: 0.08em; } ::part(expiry) { border-radius: 0; } ::part(button) { min-height: 26px; padding-inline: 8px; }`,
  friendly: `:root { color-scheme: light; background: #eef4ff; }
    agui-confirm-card, agui-inbox { --agui-gate-font: ui-rounded, "Nunito", "Varela Round", system-ui, sans-serif; --agui-gate-font-size: 18px; --agui-gate-radius: 32px; --agui-gate-control-radius: 99px; --agui-gate-keys: none; --agui-gate-shadow: 0 10px 30px rgb(37 99 235 / 18%);
      --agui-gate-accent: #2563eb; --agui-gate-accent-strong: #1d4ed8; --agui-gate-text: #14213d; --agui-gate-quiet: #52607a; --agui-gate-line: #d5e0f5; --agui-gate-line-strong: #b9cbee; --agui-gate-page: #f7faff; --agui-gate-sunken: #e4edff;
      --agui-gate-wait: #9d3c66; --agui-gate-wait-soft: #ffe9f1; --agui-gate-wait-line: #ffc9dc; }
    ::part(header) { padding-block: 22px 16px; } ::part(title), ::part(card-title) { font-size: 1.3em; } ::part(arguments) { row-gap: 12px; } ::part(actions) { padding-block: 20px 24px; }
    ::part(button) { min-height: 52px; padding-inline: 12px; }`,
};

// In the page: `states` by name, each a function that fills a place.
const script = `
import { defineAguiGate, fromApproval, stringsFor } from "/agui-gate.js";
defineAguiGate();
const row = (more = {}) => ({ id: "apr_1", thread_id: "t1", call_id: "c1", agent: "support", tool: "refund", state: "pending", decision: null, message: "Refund 20 € for order 1003?",
  arguments: { order_id: "1003", amount: 20, note: "Parcel lost" }, effective_arguments: { order_id: "1003", amount: 20, note: "Parcel lost" }, editable: ["amount", "note"],
  asked_at: "2026-11-26T12:03:00Z", expires_at: null, result: null, replaced: false, refused: null, already_ran: [], thread: { title: "Anna's parcel", agent: "support" },
  schema: { properties: { order_id: { type: "string" }, amount: { type: "number", exclusiveMinimum: 0, description: "In euros." }, note: { type: "string" } } }, ...more });
const yes = { approved: true, by: "alice", at: "2026-11-26T12:04:00Z", way: "http" };
const ran = { arguments: { order_id: "1003", amount: 20, note: "Parcel lost" }, at: "2026-11-26T11:58:00Z", state: "done", result: "{}", replaced: false };
const card = (more, properties = {}) => Object.assign(document.createElement("agui-confirm-card"), { ask: fromApproval(row(more)), ...properties });
const after = (node, act) => (node.updateComplete.then(() => act(node)), node);
const question = { id: "q", key: "q", kind: "question", tool: "ask_person", arguments: {}, message: "Which warehouse?", fields: [{ path: ["answer"], name: "answer", label: "Answer", kind: "choice", options: ["Berlin", "Lyon"], value: undefined, required: true, nullable: false }] };
const ledger = (rows, state = {}) => ({ state: { problem: null, isRead: true, more: false, isOld: false, ...state }, subscribe: () => () => {}, forgetOver() {},
  entries: () => rows.map((one) => ({ id: one.id, record: one, ask: fromApproval({ ...one, agent: null }), sending: null, mine: null, problem: null, note: "", late: false, gone: false })), entry: () => null });
const inbox = (rows, state) => Object.assign(document.createElement("agui-inbox"), { ledger: ledger(rows, state), chats: true });
const many = (count) => Array.from({ length: count }, (_, at) => row({ id: "apr_" + at, call_id: "c" + at, thread_id: "t" + at, thread: { title: "Chat " + at, agent: "support" }, message: at % 3 ? null : "Refund 20 € for order 1003?", ...(at === 1 && { state: "done", decision: yes }) }));
const states = {
  view: () => card(), edit: () => after(card(), (node) => (node.mode = "edit")), reject: () => after(card(), (node) => (node.mode = "reject")),
  question: () => Object.assign(document.createElement("agui-confirm-card"), { ask: question }),
  expiring: () => card({ expires_at: new Date(Date.now() + 42_000).toISOString() }), expired: () => card({ expires_at: "2026-11-26T12:00:00Z" }),
  refused: () => card({ refused: "The edit was refused." }), "already ran": () => card({ already_ran: [ran] }), asker: () => card({ agent: "billing" }),
  notice: () => card({}, { notice: "The server can't be reached. It is tried again, and what you typed stays here." }),
  "no ask": () => Object.assign(document.createElement("agui-confirm-card"), { notice: "You have to log in to see and decide this. What you typed stays here." }),
  hidden: () => card({ message: null, effective_arguments: { order_id: "10\\u200b03", amount: 20, note: "\\u202eevil" } }), "no fields": () => card({ editable: [], arguments: {} }),
  decided: () => card({}, { draft: { approved: true, edits: { amount: 15 } } }), sending: () => after(card(), (node) => node.press("a")),
  approved: () => card({}, { record: row({ state: "done", decision: yes, effective_arguments: { order_id: "1003", amount: 15, note: "Parcel lost" } }) }),
  rejected: () => card({}, { record: row({ state: "rejected", decision: { ...yes, approved: false, reason: "too much" } }) }), unknown: () => card({}, { record: row({ state: "unknown", decision: yes }) }),
  "who asks": () => card({ asker: "ada", approvers: "finance", needs: 2, approvals: [{ by: "ben" }], edited_by: "ben", you: { may: ["approve", "edit", "reject"], agreed: false, why: null } }),
  "you agreed": () => card({ asker: "ada", approvers: ["ben", "cat", "dan"], needs: 2, approvals: [{ by: "ben" }], you: { may: ["approve", "edit", "reject"], agreed: true, why: null } }),
  "not yours": () => card({ approvers: "finance", needs: 1, approvals: [], you: { may: ["reject"], agreed: false, why: "You asked for this, so you can't approve it. Somebody else has to." } }),
  frozen: () => card({ frozen: "Approvals are frozen: Payments are being checked." }),
  grants: () => after(card({ grants: [{ scope: "thread", in_thread: true, hours: 1, times: null, same: [] }, { scope: "amount", hours: 24, times: 3, same: ["order_id"], field: "amount", up_to: 50, total: 200 }] }), (node) => { const select = node.renderRoot.querySelector("select"); select.value = "amount"; select.dispatchEvent(new Event("change")); }),
  "login refused": () => after(card({ approvers: "finance", needs: 1, approvals: [] }), (node) => (node.press("a"), node.reopen("Log in again: this needs a login in the last 300 s (auth_time)."))),
  "by two": () => card({ asker: "ada" }, { record: row({ state: "done", asker: "ada", decision: { ...yes, by: "cat", grant: "gr_1" }, approvals: [{ by: "ben" }, { by: "cat" }] }) }),
  "by rule": () => card({}, { record: row({ state: "done", decision: { ...yes, by: "", way: "rule" } }) }),
  "people, german": () => Object.assign(card({ asker: "ada", approvers: "finance", needs: 2, approvals: [{ by: "ben" }], grants: [{ scope: "thread", in_thread: true, hours: 1, times: 3, same: [] }] }), { lang: "de" }),
  compact: () => card({}, { density: "compact" }), german: () => Object.assign(card(), { lang: "de" }),
  inbox: () => inbox(many(4)), "inbox, open": () => after(inbox(many(3)), (node) => node.focus()), "inbox, search": () => inbox(many(12)),
  "inbox, empty": () => inbox([]), "inbox, away": () => inbox(many(1), { problem: { kind: "away", message: "" } }),
};
for (const [name, make] of Object.entries(states)) {
  const place = document.createElement("section");
  place.append(Object.assign(document.createElement("h2"), { textContent: name }), make());
  document.body.append(place);
}
document.body.dataset.ready = "";
`;

const html = (look) => `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><style>
  :root { color-scheme: light; } body { margin: 16px; display: grid; gap: 16px; grid-template-columns: repeat(auto-fill, minmax(min(100%, 460px), 1fr)); align-items: start; }
  section > h2 { font: 12px monospace; color: gray; margin: 0 0 4px; } ${LOOKS[look]}</style><script type="module" src="/page.js"></script><body>`;

const server = createServer(({ url }, response) => {
  const [type, text] = url.endsWith("page.js") ? ["text/javascript", script] : url.endsWith(".js") ? ["text/javascript", readFileSync(new URL(url.slice(1), BUNDLE))] : ["text/html", html(url.slice(1) || "light")];
  response.writeHead(200, { "content-type": type }).end(text);
}).listen(0, "127.0.0.1");
await new Promise((done) => server.on("listening", done));
mkdirSync(SHOTS, { recursive: true });
const browser = await launch();
for (const [look, width] of [["light", 1480], ["dark", 1480], ["serif", 1480], ["terminal", 1480], ["friendly", 1480], ["light", 340]]) {
  const page = await browser.newPage({ viewport: { width, height: 900 } });
  page.on("pageerror", (error) => console.log(String(error)));
  await page.goto(`http://127.0.0.1:${server.address().port}/${look}`);
  await page.locator("body[data-ready]").waitFor();
  const name = `${width < 500 ? "phone" : look}.png`;
  await page.waitForTimeout(300); // what opens after its first drawing
  await page.screenshot({ path: `${SHOTS}${name}`, fullPage: true });
  console.log(`tests/e2e/shots/gallery/${name}`);
}
await browser.close();
server.close();
