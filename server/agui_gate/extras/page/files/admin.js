/**
 * The page of operators (`/admin`): what is at work, what waits and what went wrong, over all that an operator may see;
 * and what can be done about it: stop, settle, freeze. Read again every few seconds while somebody looks.
 */

import { meters, pairs, replicas, serverFacts, usageTable } from "./adminserver.js";
import { line, number, say, words } from "./adminwords.js";
import { changeOps, listAgents, readOps } from "./api.js";
import { at } from "./approvalwords.js";
import { reveal } from "./components/core/reveal.js";
import { serverSaid, stringsFor } from "./components/core/strings.js";
import { humanize } from "./components/core/values.js";
import { html, nothing, render, repeat } from "./components/vendor/lit.js";
import { ageIn, isOurs, keyList, lang, redraw, setUpDesk, turnTheme } from "./desk.js";
import { show } from "./dialogs.js";
import { focused, h } from "./dom.js";
import { askAndSend, field, valueOf } from "./forms.js";
import { askOtherToken, askToken } from "./frame.js";
import { readToken } from "./storage.js";

const element = (selector) => document.querySelector(selector);

const EVERY = 5_000; // ms between two looks
const SIZES_EVERY = 300_000; // ms between two counts of all rows
const DRAWN = 100; // rows of a list

const LISTS = { runs: "runs", unknown: "approvals?state=unknown", orphaned: "approvals?state=orphaned", pending: "approvals?state=pending", freezes: "freezes", summary: "summary" };
let seen = {}; // what was read last, by the names above
let sizes = null;
let problem = null;
let told = "";
let [timer, sizedAt, reading] = [null, -Infinity, null];

/** Read all that the page shows; where that is being done, once more behind it, as something may have changed since. */
async function read() {
  await reading;
  reading ??= readAll().finally(() => (reading = null));
  await reading;
}

async function readAll() {
  clearTimeout(timer);
  const wantsSizes = performance.now() - sizedAt >= SIZES_EVERY;
  const names = Object.keys(LISTS);
  const found = await Promise.allSettled([...names.map((name) => readOps(LISTS[name])), wantsSizes ? readOps("sizes") : null]);
  const failed = found.find(({ status }) => status === "rejected");
  problem = failed?.reason ?? null;
  if (problem?.code === "unauthorized") askToken();
  names.forEach((name, index) => found[index].status === "fulfilled" && (seen[name] = found[index].value));
  if (wantsSizes && found.at(-1).status === "fulfilled") [sizes, sizedAt] = [found.at(-1).value.sizes, performance.now()];
  draw();
  wait();
}

/** Nobody looks, or nobody may: nothing is read. */
function wait() {
  clearTimeout(timer);
  const isAsked = element("#token-dialog").open;
  if (!document.hidden && !isAsked && !isForbidden()) timer = setTimeout(read, EVERY);
}

const isForbidden = () => problem?.code === "forbidden";
const otherToken = () => html` <button class="button plain small" type="button" @click=${askOtherToken}>${words.otherToken}</button>`;

function draw() {
  const { summary } = seen;
  const bad = (seen.unknown?.approvals.length ?? 0) + (seen.orphaned?.approvals.length ?? 0) + runsOf(true).length;
  document.title = bad > 0 ? `(${bad}) ${words.title}` : words.title;
  redraw(() => render(html`
    <header class="desk-top">
      <h1>${words.title}</h1>
      <div class="desk-side">
        <a class="ghost" href="inbox">${words.inbox}</a>
        <a class="ghost" href="audit">${words.audit}</a>
        <a class="ghost" href="./">${words.chat}</a>
        <button class="ghost" type="button" @click=${read} aria-label=${words.refresh} title=${words.refresh}>↻</button>
        <button class="ghost" type="button" @click=${turnTheme} aria-label=${words.theme} title=${words.theme}>◐</button>
        <button class="ghost" type="button" @click=${help} aria-label=${words.keys} title=${words.keys}>?</button>
      </div>
      <p class="told" role="status">${told}</p>
    </header>
    <main class="desk ops" id="main">
      ${problem ? html`<p class="banner" data-tone="bad" role="alert">${say("failed", { why: serverSaid(problem.message, problem.code, stringsFor(lang)) })}${isForbidden() && readToken() ? otherToken() : nothing}</p>` : nothing}
      ${summary?.server.draining ? html`<p class="banner" role="status">${words.draining}</p>` : nothing}
      ${seen.freezes?.freezes.length ? html`<p class="banner" role="status"><a href="#frozen">${words.isFrozen}</a></p>` : nothing}
      ${summary ? everything(summary) : problem ? nothing : html`<p class="quiet">${words.loading}</p>`}
      ${summary ? html`<p class="desk-told">${say("readAt", { at: at(summary.at) })}</p>` : nothing}
    </main>`, element("#page")));
}

const runsOf = (isLost) => (seen.runs?.runs ?? []).filter(({ state }) => (state === "lost") === isLost);

function everything(summary) {
  return html`
    ${figures(summary.waiting)}
    ${section("running", rows(seen.runs?.runs, runRow, ({ run }) => run, seen.runs?.more, "agui-gate ops runs"))}
    ${section("unknown", calls("unknown", settleButton))}
    ${section("orphaned", calls("orphaned"))}
    ${section("waiting", calls("pending", openLink))}
    ${section("frozen", html`${rows(seen.freezes?.freezes, freezeRow, ({ tool, agent, tenant }) => JSON.stringify([tool, agent, tenant]))}
      <button class="button plain" type="button" @click=${freeze}>${words.freeze}</button>`)}
    ${section("budgets", meters(summary))}
    ${section("usage", usageTable(summary.usage))}
    ${section("holds", sizes ? pairs(Object.entries(words.sizes).map(([name, text]) => [text, number(sizes[name])])) : html`<p class="quiet">${sizedAt < 0 ? words.loading : words.noSizes}</p>`)}
    ${section("server", serverFacts(summary.server))}
    ${summary.server.replicas.length > 0 ? section("replicas", replicas(summary.server)) : nothing}`;
}

const section = (id, body) => html`<section id=${id} aria-labelledby="${id}-title"><h2 id="${id}-title">${words[id]}</h2>${words[`${id}Text`] ? html`<p class="quiet">${words[`${id}Text`]}</p>` : nothing}${body}</section>`;

/** How much of each there is; the store's figures where it tells them, else those of the lists. */
function figures(waiting) {
  const listed = (name) => ({ number: seen[name]?.approvals.length ?? 0, seconds: 0, more: Boolean(seen[name]?.next_cursor) });
  const of = (name) => waiting?.[name] ?? listed(name);
  const some = [
    ["running", words.running, { number: runsOf(false).length, more: seen.runs?.more }],
    ["running", words.lost, { number: runsOf(true).length }, "bad"],
    ["waiting", words.waiting, of("pending")],
    ["unknown", words.unknown, of("unknown"), "bad"],
    ["orphaned", words.orphaned, of("orphaned"), "bad"],
    ...(waiting ? [["holds", words.notices, waiting.notices, waiting.notices.seconds > 60 ? "wait" : ""]] : []),
  ];
  const isMore = ["pending", "unknown", "orphaned"].some((name) => !listed(name).more && of(name).number > listed(name).number);
  return html`<nav class="figures" aria-label=${words.title}>${some.map(([to, text, { number: count, seconds, more }, tone]) => html`<a href="#${to}" data-tone=${(count > 0 && tone) || nothing}>
    <b>${number(count)}${more ? "+" : ""}</b><span>${text}</span>${seconds > 0 && count > 0 ? html`<small>${say("oldest", { age: ageIn(seconds) })}</small>` : nothing}</a>`)}</nav>${isMore ? html`<p class="quiet">${words.ofAll}</p>` : nothing}`;
}

function rows(items, row, keyOf, more = false, command = "") {
  if (!items) return html`<p class="quiet">${words.loading}</p>`;
  if (items.length === 0) return html`<p class="quiet">${words.nothing}</p>`;
  const count = `${number(items.length)}${more ? "+" : ""}`;
  const rest = items.length > DRAWN ? say("shownOf", { shown: DRAWN, count, command }) : more ? say("more", { command }) : null;
  return html`<ul class="desk-list">${repeat(items.slice(0, DRAWN), keyOf, row)}</ul>${rest ? html`<p class="quiet">${rest}</p>` : nothing}`;
}

const calls = (state, action = () => nothing) => rows(seen[state]?.approvals, (call) => callRow(call, action), ({ id }) => id, Boolean(seen[state]?.next_cursor), `agui-gate ops approvals --state ${state}`);

const what = (text, ...about) => `${text} ${line(...about)}`; // of many buttons that say the same
const ownerOf = ({ owner, tenant }) => (tenant ? `${tenant}/${owner}` : owner);

const runRow = (run) => html`<li class="op"><div>
  <strong dir="auto">${line(humanize(run.agent), ownerOf(run))}</strong> ${run.state === "lost" ? html`<span class="lost">${words.lostLine}</span>` : nothing}
  <p class="quiet" dir="auto">${line(words.kindOf[run.kind], say("thread", { id: run.thread_id }), run.run, say("saved", { at: at(run.saved_at) }))}</p></div>
  ${run.state === "lost" ? nothing : html`<button class="button plain small danger" type="button" aria-label=${what(words.stop, humanize(run.agent), say("thread", { id: run.thread_id }))} @click=${() => stop(run)}>${words.stop}</button>`}
</li>`;

const callRow = (call, action) => html`<li class="op"><div>
  <strong dir="auto">${line(humanize(call.tool), humanize(call.agent), ownerOf(call))}</strong>
  <p class="quiet" dir="auto">${line(say("thread", { id: call.thread_id }), say("asked", { at: at(call.asked_at) }), call.expires_at && say("until", { at: at(call.expires_at) }))}</p>
  ${call.state === "unknown" || call.state === "orphaned" ? html`<p class="quiet">${words.key} <code>${reveal(call.idempotency_key)}</code></p>` : nothing}</div>
  <a class="ghost" aria-label=${ofCall(words.story, call)} href="audit?approval=${encodeURIComponent(call.id)}">${words.story}</a>${action(call)}
</li>`;

const ofCall = (text, { tool, thread_id: id }) => what(text, humanize(tool), say("thread", { id }));
const settleButton = (call) => html`<button class="button plain small" type="button" aria-label=${ofCall(words.settle, call)} @click=${() => settle(call)}>${words.settle}</button>`;
const openLink = (call) => html`<a class="button plain small" aria-label=${ofCall(words.decide, call)} href="inbox#${call.id}">${words.decide}</a>`;

const aboutFreeze = ({ tool, agent, tenant }) => line(tool && humanize(tool), agent && humanize(agent), tenant) || words.all;
const freezeRow = (one) => html`<li class="op"><div><strong dir="auto">${aboutFreeze(one)}</strong>
  <p class="quiet" dir="auto">${line(one.reason, at(one.since))}</p></div>
  <button class="button plain small" type="button" @click=${() => lift(one)}>${words.lift}</button></li>`;

// --- what is done

const reason = () => field("why", words.why, { required: true, maxlength: "500" });

/** Ask, do it, and say what came of it. */
async function act(question) {
  const done = await askAndSend({ ...question, no: words.cancel });
  if (done === null) return;
  told = done;
  await read();
  focused().scrollIntoView({ block: "nearest" }); // what came moved it
}

/** A field that offers `names` once they have come. */
function oneOf(id, label, names) {
  const offered = h("datalist", { id: `${id}s` });
  void names.then((all) => offered.append(...[...new Set(all.map(({ name }) => name))].map((value) => h("option", { value }))));
  return [...field(id, label, { maxlength: "256", list: offered.id }), offered];
}

const why = () => ({ reason: valueOf("why") });

const stop = (run) => act({
  title: words.stopTitle, text: line(humanize(run.agent), ownerOf(run), say("thread", { id: run.thread_id })), details: reason(), yes: words.stopYes, danger: true, read: why,
  send: async (body) => words.stopped[(await changeOps(`threads/${encodeURIComponent(run.run)}/stop`, body)).state],
});

async function settle({ id }) {
  const call = await readOps(`approvals/${encodeURIComponent(id)}`).catch((error) => void (problem = error));
  if (!call) return draw();
  const choice = (value, text) => h("label", { class: "choice" }, h("input", { type: "radio", name: "outcome", value, required: true }), text);
  const about = h("div", { class: "all-lines", tabindex: "0" }, `${call.tool} ${JSON.stringify(call.arguments, null, 1)}\n${words.key}: ${call.idempotency_key}`);
  await act({
    title: words.settleTitle, text: words.settleText, yes: words.settleYes,
    details: [about, choice("done", words.tookEffect), choice("failed", words.noEffect), ...field("found", words.found, { required: true, maxlength: "20000" }, "textarea"), ...reason()],
    read: () => ({ done: element("[name=outcome]:checked")?.value === "done", result: valueOf("found"), ...why() }),
    send: async (body) => (await changeOps(`approvals/${encodeURIComponent(id)}/settle`, body), words.settled),
  });
}

/** The names that there are are offered: a freeze of one that is misspelt freezes nothing. */
function freeze() {
  const agents = listAgents().catch(() => []);
  const tools = agents.then((all) => all.flatMap((agent) => agent.tools).filter(({ gated }) => gated));
  return act({
    title: words.freezeTitle, text: words.freezeText, yes: words.freezeYes, danger: true,
    details: [...oneOf("tool", words.ofTool, tools), ...oneOf("agent", words.ofAgent, agents), ...reason()],
    read: () => ({ ...(valueOf("tool") && { tool: valueOf("tool") }), ...(valueOf("agent") && { agent: valueOf("agent") }), ...why() }),
    send: async (body) => (await changeOps("freezes", body), words.froze),
  });
}

const lift = ({ tool, agent, tenant, reason: because }) => act({
  title: words.liftTitle, text: line(aboutFreeze({ tool, agent, tenant }), because), details: reason(), yes: words.liftYes, read: why,
  send: async (body) => (await changeOps("freezes", { ...body, tool, agent, tenant, lift: true }), words.lifted),
});

const help = () => void show({ title: words.keys, body: keyList(words.ops), close: words.close });
const KEYS = { r: read, f: freeze, "?": help };

document.addEventListener("keydown", (event) => {
  if (!isOurs(event) || !KEYS[event.key]) return;
  event.preventDefault();
  void KEYS[event.key]();
});
document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : void read()));
setUpDesk(words, read);
draw();
void read();
