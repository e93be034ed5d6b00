/**
 * The page of the inbox (`/inbox`): what waits for the person and for their roles, several at once, what was decided, and
 * what is granted, and who decides in whose place. The elements do what is about one call; here is what is about many.
 */

import { decidedPage, deputiesPage, doneBy, emergenciesPage, grantsPage, revokeGrant, whoAmI } from "./api.js";
import { say, words } from "./approvalwords.js";
import { actionsOf, decideTogether, emergencyRow, handOn } from "./colleagues.js";
import { defineAguiGate } from "./components/agui-gate.js";
import { isWaiting } from "./components/core/ledger.js";
import { reveal } from "./components/core/reveal.js";
import { humanize } from "./components/core/values.js";
import { html, nothing, render } from "./components/vendor/lit.js";
import { addDeputy, deputyRow } from "./deputies.js";
import { createLists } from "./desklists.js";
import { isOurs, keyList, redraw, setUpDesk, turnTheme } from "./desk.js";
import { confirm, show } from "./dialogs.js";
import { askToken } from "./frame.js";
import { grantRow } from "./grantrows.js";
import { decidedOf, decidedRow, givenTo, isHandedTo, isOpen, othersRow } from "./mine.js";
import { readToken } from "./storage.js";

defineAguiGate();

const element = (selector) => document.querySelector(selector);
const gate = () => element("agui-gate");
const inbox = () => element("agui-inbox");

const LOOK = 10_000; // ms between looks for calls that may be decided in an emergency
const KINDS = {
  emergencies: { read: emergenciesPage, empty: "noEmergencies", row: emergencyRow(changed) },
  decided: { read: decidedPage, empty: "nothingDecided", row: decidedRow },
  grants: { read: grantsPage, empty: "nothingGranted", row: grantRow(revoke) },
  deputies: { read: deputiesPage, empty: "noDeputies", row: deputyRow(changed) },
  others: { read: othersPage, empty: "noneOfOthers", row: othersRow }, // below what was decided of one's own
};
const TABS = ["waiting", "emergencies", "decided", "grants", "deputies"];
const NEEDS = { grants: "GET /grants", deputies: "GET /deputies" };
const FILTERS = {
  tool: ({ record }) => record.tool,
  agent: ({ record }) => record.agent ?? "",
  asker: ({ record }) => record.asker ?? "",
  whose: ({ record }) => (isHandedTo(me, record) ? "handed" : record.thread === null ? "others" : "mine"),
};
const filters = { tool: "", agent: "", asker: "", whose: "" };
const lists = createLists(KINDS, draw);
let waits = { count: 0, more: false };
let told = "";
let me = null; // who uses the page, as the server knows them; null: not known yet
let looking = null; // the timer of the next look for emergencies

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
const isShown = (name) => tab() === name || (name === "emergencies" ? lists.count(name) > 0 : !NEEDS[name] || isOpen(me, NEEDS[name]));

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
  redraw(() => render(html`
    <header class="desk-top">
      <h1>${words.inbox}</h1>
      <nav aria-label=${words.inbox}>${TABS.filter(isShown).map((name) => html`<a href="#${name}" aria-current=${name === current ? "page" : nothing}>${words[name]}${name === "waiting" && waits.count > 0 ? ` (${count})` : ""}</a>`)}</nav>
      <div class="desk-side">
        ${isOpen(me, "GET /threads") ? html`<a class="ghost" href="./">${words.chat}</a>` : nothing}
        <a class="ghost" href="audit">${words.trail}</a>
        <button class="ghost" type="button" @click=${turnTheme} aria-label=${words.theme} title=${words.theme}>◐</button>
        <button class="ghost" type="button" @click=${help} aria-label=${words.keys} title=${words.keys}>?</button>
      </div>
      <p class="told" role="status" dir="auto">${told}</p>
    </header>
    <main class="desk" id="main">
      <agui-gate base="./" send look="10" .getToken=${readToken} @agui-problem=${problem} @agui-count=${counted} @agui-decided=${decided} @agui-pick=${draw}>
        ${linked() ? html`<section aria-labelledby="linked" class="linked"><h2 id="linked">${words.linked}</h2><a class="ghost" href="#waiting">${words.close}</a><agui-confirm-card approval=${linked()} @agui-decide=${({ currentTarget }) => currentTarget.focus()}>${actionsFor(linked(), "after")}</agui-confirm-card></section>` : nothing}
        <section ?hidden=${current !== "waiting"}>
          ${givenTo(me, entries())}
          ${choices()}
          <agui-inbox picks ?chats=${isOpen(me, "GET /threads")} @agui-toggle=${draw} @agui-open-chat=${({ detail }) => (location.href = `./#t=${encodeURIComponent(detail.thread)}`)}>
            <h2 slot="title">${words.waiting}${waits.count > 0 ? ` (${count})` : ""}</h2>
            ${[...(inbox()?.opened ?? [])].map((id) => actionsFor(id, id))}
          </agui-inbox>
          ${several()}
        </section>
      </agui-gate>
      ${current === "waiting" ? nothing : html`<section><h2>${words[current]}</h2>${lists.view(current)}
        ${current === "deputies" ? html`<button class="button plain" type="button" @click=${() => addDeputy(changed)}>${words.addDeputy}</button>` : nothing}
        ${current === "decided" && isOpen(me, "GET /audit") ? html`<h2>${words.othersDecided}</h2>${lists.view("others")}` : nothing}</section>`}
    </main>`, element("#page")));
}

/** What else may be done with a call, in a slot of its card. */
const actionsFor = (id, slot) => html`<div slot=${slot} class="card-actions">${actionsOf(gate()?.ledger?.entry(id), changed)}</div>`;

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
  const failed = await decideTogether(chosen, approved, gate());
  if (!failed) return;
  inbox().picked = new Set(failed.map(({ id }) => id));
  inbox().requestUpdate();
  told = [say("ended", { done: chosen.length - failed.length }), failed.length > 0 && say("notDone", { failed: failed.length })].filter(Boolean).join(" ");
  draw();
}

async function revoke(id) {
  if (!(await confirm({ title: words.revokeTitle, text: words.revokeText, yes: words.revoke, no: words.cancel, danger: true }))) return;
  told = await revokeGrant(id).then(() => words.revoked, ({ message }) => message);
  await lists.load("grants");
}

/** What this person decided of others' calls. */
async function othersPage(cursor) {
  me ??= await whoAmI();
  return decidedOf(me, await doneBy(me.person, cursor));
}

function load() {
  for (const name of tab() === "decided" ? ["decided", "others"] : [tab()]) if (KINDS[name]) void lists.load(name);
}

/** Learn who uses the page: what may be offered to them. Resolves to the code of what is wrong, or null. */
async function learn() {
  try {
    me = await whoAmI();
  } catch ({ code }) {
    return code;
  }
  draw();
  return null;
}

/** Look whether something may be decided in an emergency, and go on as long as the person may do that at all. */
async function lookForEmergencies() {
  clearTimeout(looking);
  let code = me ? null : await learn();
  if (me && !me.break_glass) return;
  if (me && !document.hidden) code = await lists.load("emergencies");
  if (code === null || code === "network") looking = setTimeout(lookForEmergencies, LOOK);
}

function problem({ detail: { kind } }) {
  if (kind === "unauthorized") askToken();
}

function counted({ detail }) {
  waits = detail;
  draw();
}

/** Something was done with a call or a deputy: all that shows it is read anew. */
async function changed(said) {
  told = said;
  decided();
  gate().retry();
  await learn();
  await Promise.all([...new Set(["emergencies", tab()])].map((name) => lists.isKnown(name) && lists.load(name)));
}

/** Decided here: the list of that is read anew when it is looked at. */
function decided() {
  if (tab() === "decided") return load();
  for (const name of ["decided", "others"]) lists.forget(name);
  draw();
}

const help = () => void show({ title: words.keys, body: keyList(words.keysOf), close: words.close });

const focused = () => gate().ledger.entry(inbox().renderRoot.activeElement?.closest("li")?.dataset.id ?? "");
const handFocused = () => focused() && isWaiting(focused()) && void handOn(focused().record, changed);
const KEYS = { h: handFocused, j: () => inbox().step(1), k: () => inbox().step(-1), x: () => inbox().pick(), "?": help, "/": () => inbox().renderRoot.querySelector(".search")?.focus() };

function pressed(event) {
  const from = event.composedPath()[0];
  if (event.key === "Escape" && from.matches?.(".search") && !document.querySelector("dialog[open]")) {
    event.preventDefault(); // what was searched stays
    return inbox().step(1);
  }
  if (!isOurs(event) || tab() !== "waiting" || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
}

addEventListener("hashchange", () => {
  told = "";
  draw();
  load();
});
document.addEventListener("keydown", pressed);
setUpDesk(words, () => {
  me = null;
  gate().retry();
  load();
  void lookForEmergencies();
});
draw();
gate().updateComplete.then(() => {
  gate().ledger.subscribe(draw);
});
load();
void lookForEmergencies();
