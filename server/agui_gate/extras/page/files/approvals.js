/**
 * The page of the inbox (`/inbox`): what waits for the person and for their roles, several at once, what was decided, and
 * what is granted. The elements do what is about one call; here is what is about many.
 */

import { decidedPage, grantsPage, revokeGrant } from "./api.js";
import { wordsFor } from "./approvalwords.js";
import { defineAguiGate } from "./components/agui-gate.js";
import { isWaiting } from "./components/core/ledger.js";
import { grantText } from "./components/core/people.js";
import { clock } from "./components/core/records.js";
import { reveal } from "./components/core/reveal.js";
import { fill, stringsFor } from "./components/core/strings.js";
import { humanize, summary } from "./components/core/values.js";
import { html, nothing, render, repeat } from "./components/vendor/lit.js";
import { askToken, isOurs, keyList, lang, setUpDesk, turnTheme } from "./desk.js";
import { confirm, show } from "./dialogs.js";
import { h } from "./dom.js";
import { readToken } from "./storage.js";

defineAguiGate();

const words = wordsFor(lang);
const say = (key, blanks) => fill(words, key, blanks);
const at = (time) => clock(time, undefined, stringsFor(lang));
const element = (selector) => document.querySelector(selector);
const gate = () => element("agui-gate");
const inbox = () => element("agui-inbox");

const AT_ONCE = 4; // requests
const TABS = ["waiting", "decided", "grants"];
const FILTERS = {
  tool: ({ record }) => record.tool,
  agent: ({ record }) => record.agent ?? "",
  asker: ({ record }) => record.asker ?? "",
  whose: ({ record }) => (record.thread === null ? "others" : "mine"),
};
const filters = { tool: "", agent: "", asker: "", whose: "" };
const lists = { decided: null, grants: null };
let waits = { count: 0, more: false };
let told = "";

// The address says what is shown: a tab, or one call (`#apr_…`) above what waits.
function place() {
  const said = location.hash.slice(1);
  try {
    return decodeURIComponent(said);
  } catch {
    return said; // no address of ours
  }
}
const tab = () => (TABS.includes(place()) ? place() : "waiting");
const linked = () => (place().startsWith("apr_") ? place() : null);

const entries = () => gate()?.ledger?.entries() ?? [];
const picked = () => entries().filter((entry) => inbox().picked.has(entry.id) && isWaiting(entry));
const whatOf = ({ record }) => `${humanize(record.tool)} · ${record.message || summary(record.effective_arguments ?? record.arguments)}`;

/** Which calls are shown. A new function each time, so that the list sees that it is another one. */
function choose(name, value) {
  filters[name] = value;
  const chosen = Object.keys(filters).filter((one) => filters[one] !== "");
  inbox().filter = chosen.length === 0 ? null : (entry) => chosen.every((one) => FILTERS[one](entry) === filters[one]);
  draw();
}

function draw() {
  const current = tab();
  const count = waits.more ? `${waits.count}+` : String(waits.count);
  document.title = waits.count > 0 ? `(${count}) ${words.inbox}` : words.inbox;
  render(html`
    <header class="desk-top">
      <h1>${words.inbox}</h1>
      <nav aria-label=${words.inbox}>${TABS.map((name) => html`<a href="#${name}" aria-current=${name === current ? "page" : nothing}>${words[name]}${name === "waiting" && waits.count > 0 ? ` (${count})` : ""}</a>`)}</nav>
      <span class="spacer"></span>
      <a class="ghost" href="./">${words.chat}</a>
      <button class="ghost" type="button" @click=${turnTheme} aria-label=${words.theme} title=${words.theme}>◐</button>
      <button class="ghost" type="button" @click=${help} aria-label=${words.keys} title=${words.keys}>?</button>
    </header>
    <main class="desk" id="main">
      <agui-gate base="./" send look="10" .getToken=${readToken} @agui-problem=${problem} @agui-count=${counted} @agui-decided=${decided} @agui-pick=${draw}>
        ${linked() ? html`<section aria-labelledby="linked" class="linked"><h2 id="linked">${words.linked}</h2><a class="ghost" href="#waiting">${words.close}</a><agui-confirm-card approval=${linked()}></agui-confirm-card></section>` : nothing}
        <section ?hidden=${current !== "waiting"}>
          ${choices()}
          <agui-inbox picks chats @agui-open-chat=${({ detail }) => (location.href = `./#t=${encodeURIComponent(detail.thread)}`)}><h2 slot="title">${words.waiting}${waits.count > 0 ? ` (${count})` : ""}</h2></agui-inbox>
          ${several()}
        </section>
      </agui-gate>
      <section ?hidden=${current !== "decided"}><h2>${words.decided}</h2>${current === "decided" ? list(lists.decided, "nothingDecided", decidedRow, moreDecided) : nothing}</section>
      <section ?hidden=${current !== "grants"}><h2>${words.grants}</h2>${current === "grants" ? list(lists.grants, "nothingGranted", grantRow) : nothing}</section>
      <p class="desk-told" role="status">${told}</p>
    </main>`, element("#page"));
}

/** A choice for what the calls differ in. */
function choices() {
  const all = entries().filter(isWaiting);
  const shown = Object.keys(FILTERS).map((name) => [name, [...new Set(all.map(FILTERS[name]).filter(Boolean))].sort()]).filter(([name, values]) => values.length > 1 || filters[name]);
  if (shown.length === 0) return nothing;
  return html`<div class="filters">${shown.map(([name, values]) => html`<label>${words[name]}
    <select name=${name} autocomplete="off" @change=${({ target }) => choose(name, target.value)}>
      <option value="" ?selected=${filters[name] === ""}>${words.all}</option>
      ${[...new Set([...values, ...[filters[name]].filter(Boolean)])].map((value) => html`<option value=${value} ?selected=${filters[name] === value}>${name === "whose" ? words[value] : name === "asker" ? reveal(value) : humanize(value)}</option>`)}
    </select></label>`)}</div>`;
}

/** What is chosen is decided together; each gets an answer of its own. */
function several() {
  const chosen = inbox() ? picked() : [];
  const { length: count } = chosen;
  const isSome = count > 0;
  const pick = (ids) => {
    inbox().picked = new Set(ids);
    inbox().requestUpdate();
    draw();
  };
  if (waits.count < 2 && !isSome) return nothing;
  return html`<div class="several">
    ${isSome ? html`<span>${say("chosen", { count })}</span>
      <button class="button primary small" type="button" @click=${() => decideAll(chosen, true)}>${say("approveAll", { count })}</button>
      <button class="button plain small" type="button" @click=${() => decideAll(chosen, false)}>${say("rejectAll", { count })}</button>
      <button class="ghost" type="button" @click=${() => pick([])}>${words.pickNone}</button>` : nothing}
    <button class="ghost" type="button" @click=${() => pick(inbox().shown.filter(isWaiting).map(({ id }) => id))}>${words.pickAll}</button>
  </div>`;
}

async function decideAll(chosen, approved) {
  const { length: count } = chosen;
  const reason = h("input", { type: "text", id: "all-reason", maxlength: "500", autocomplete: "off" });
  const lines = h("ul", { class: "all-lines", tabindex: "0" }, chosen.map((entry) => h("li", { dir: "auto" }, reveal(whatOf(entry)))));
  const details = approved ? [lines] : [lines, h("label", { for: "all-reason" }, words.reason), reason];
  const [title, yes] = approved ? ["approveTitle", "approve"] : ["rejectTitle", "reject"];
  if (!(await confirm({ title: say(title, { count }), details, yes: words[yes], no: words.cancel, danger: !approved }))) return;
  const decision = { approved, ...(reason.value.trim() && { reason: reason.value.trim() }) };
  const left = chosen.map(({ id, ask }) => ({ id, ask })).reverse();
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let one = left.pop(); one; one = left.pop()) await gate().decide(one.id, decision, { shown: one.ask }); // what was listed
  }));
  const failed = chosen.filter(({ id }) => ![null, undefined, "agreed"].includes(gate().ledger.entry(id)?.problem?.kind));
  inbox().picked = new Set(failed.map(({ id }) => id));
  inbox().requestUpdate();
  told = [say("ended", { done: count - failed.length }), failed.length > 0 && say("notDone", { failed: failed.length })].filter(Boolean).join(" ");
  draw();
}

/** Rows of a list of the server: `{rows, next, why}`; null: not read yet. */
function list(known, empty, row, more) {
  if (!known) return html`<p class="quiet">${words.loading}</p>`;
  if (known.why !== null) return html`<p role="alert">${say("failed", { why: known.why })} <button class="button plain small" type="button" @click=${load}>${words.again}</button></p>`;
  if (known.rows.length === 0) return html`<p class="quiet">${words[empty]}</p>`;
  return html`<ul class="desk-list">${repeat(known.rows, ({ id }) => id, row)}</ul>${known.next && more ? html`<button class="button plain" type="button" @click=${more}>${words.more}</button>` : nothing}`;
}

const decidedRow = (record) => html`<li>
  <agui-decision-line call .record=${record} .schema=${record.schema}></agui-decision-line>
  <p class="quiet" dir="auto">${[record.thread?.title, record.message].filter(Boolean).map(reveal).join(" · ")} <time datetime=${record.asked_at}>${at(record.asked_at)}</time></p>
</li>`;

function grantRow({ id, tool, agent, by, at: since, until, thread_id, arguments: same, times, used, field, up_to, total, spent }) {
  const scope = { in_thread: thread_id !== null, field, up_to, total, same: [] };
  const values = Object.entries(same).map(([name, value]) => `${humanize(name)} ${typeof value === "string" ? value : JSON.stringify(value)}`);
  const uses = [times === null ? say("used", { used }) : say("usedOf", { used, times }), total && say("spent", { spent, total })];
  return html`<li>
    <strong dir="auto">${reveal([humanize(tool), humanize(agent)].join(" · "))}</strong>
    <p dir="auto">${reveal([...values, grantText(scope, stringsFor(lang))].filter(Boolean).join(", "))}</p>
    <p class="quiet" dir="auto">${[say("given", { by: reveal(by), at: at(since), until: at(until) }), ...uses].filter(Boolean).join(" · ")}</p>
    <button class="button plain small" type="button" @click=${() => revoke(id)}>${words.revoke}</button>
  </li>`;
}

async function revoke(id) {
  if (!(await confirm({ title: words.revokeTitle, text: words.revokeText, yes: words.revoke, no: words.cancel, danger: true }))) return;
  told = await revokeGrant(id).then(() => words.revoked, ({ message }) => message);
  await load();
}

/** Read what the tab shows. */
async function load() {
  const name = tab();
  if (name === "waiting") return draw();
  const read = name === "decided" ? decidedPage : grantsPage;
  lists[name] = await read().then(({ rows, next }) => ({ rows, next, why: null }), failed);
  draw();
}

async function moreDecided() {
  const { rows, next } = lists.decided;
  const page = await decidedPage(next).catch(failed);
  lists.decided = page.why ? page : { rows: [...rows, ...page.rows], next: page.next, why: null };
  draw();
}

function failed(error) {
  if (error.code === "unauthorized") askToken();
  return { rows: [], next: null, why: error.message };
}

function problem({ detail: { kind } }) {
  if (kind === "unauthorized") askToken();
}

function counted({ detail }) {
  waits = detail;
  draw();
}

/** Decided here: the list of that is read anew when it is looked at. */
function decided() {
  lists.decided = null;
  draw();
}

const help = () => void show({ title: words.keys, body: keyList(words.keysOf), close: words.close });

const KEYS = { j: () => inbox().step(1), k: () => inbox().step(-1), x: () => inbox().pick(), "?": help, "/": () => inbox().renderRoot.querySelector(".search")?.focus() };

function pressed(event) {
  const from = event.composedPath()[0];
  if (event.key === "Escape" && from.matches?.(".search") && !document.querySelector("dialog[open]")) return inbox().step(1);
  if (!isOurs(event) || tab() !== "waiting" || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
}

addEventListener("hashchange", () => {
  told = "";
  draw();
  void load();
});
document.addEventListener("keydown", pressed);
setUpDesk(words, () => {
  gate().retry();
  void load();
});
draw();
gate().updateComplete.then(() => gate().ledger.subscribe(draw));
void load();
