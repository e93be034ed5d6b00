/** The page: wires the session to what is drawn, and the address to the thread. */

import { mayReplace } from "./again.js";
import { newsOf } from "./announce.js";
import * as api from "./api.js";
import { openAsks } from "./asks.js";
import { createChats } from "./chats.js";
import { createComposer } from "./composer.js";
import { createList, icon, setText } from "./dom.js";
import { humanize } from "./fields.js";
import { askToken, setUpAgents, setUpTheme, setUpToken } from "./frame.js";
import { setUpEscape } from "./keys.js";
import { createActivity, createFooter, createReasoning, createReplaced, createText, createUnread, createUser, createWorking } from "./messages.js";
import { createNotice } from "./notices.js";
import { toRows } from "./rows.js";
import { createScroller } from "./scroll.js";
import { createSession } from "./session.js";
import { createSidebar } from "./sidebar.js";
import { createTool } from "./tools.js";
import { createWatch } from "./watch.js";
import { renderProblem, renderWelcome } from "./welcome.js";

const element = (id) => document.getElementById(id);
const cards = new URLSearchParams(location.search).get("hitl") === "card";
const LIST_EVERY = 20_000; // ms between looks at what waits in other chats
let agents = [];

const actions = {
  decide(ask, decision) {
    const inCard = document.activeElement?.closest(".card");
    void session.decide(ask, decision);
    composer.focus();
    if (inCard && decision) requestAnimationFrame(focusNextCard);
  },
  regenerate: () => void regenerate(),
  retry: () => void session.retry(),
  goOn: () => void session.goOn(),
  takeBack: () => composer.setText(session.takeBack()),
  askToken,
  copy: (text) => navigator.clipboard.writeText(text),
};

const CREATORS = {
  user: createUser,
  text: createText,
  reasoning: createReasoning,
  activity: createActivity,
  working: createWorking,
  replaced: createReplaced,
  footer: () => createFooter(actions),
  tool: () => createTool(actions),
  notice: () => createNotice(actions),
  unread: () => createUnread(actions),
};

const drawRows = createList(element("rows"), (row) => CREATORS[row.kind](row));
const scroller = createScroller(element("scroll"), element("to-end"));
const composer = createComposer(
  { form: element("composer"), input: element("input"), button: element("send") },
  { send, stop: () => session.stop() },
);
const chats = createChats({
  api,
  onChange: (changes) => {
    sidebar.render(changes);
    drawHeader(session.state);
  },
  onRemoved: (id) => {
    if (id === threadInAddress()) go(null);
  },
});
const sidebar = createSidebar(
  { list: element("threads"), drawer: element("sidebar"), toggle: element("menu"), scrim: element("scrim") },
  { open: (thread) => go(thread.id, thread.agent), rename: chats.rename, remove: chats.remove, older: chats.older },
);
const session = createSession({ api, cards, onChange: schedule, schemasOf });
const watch = createWatch({ look: session.look, waits: session.waits, isVisible: () => !document.hidden });

function schemasOf(agent) {
  const tools = agents.find(({ name }) => name === agent)?.tools ?? [];
  return Object.fromEntries(tools.map((tool) => [tool.name, tool.parameters]));
}

let before = session.state;
let scheduled = false;

/** Many events may come between two frames; they are drawn once. A hidden page has no frames. */
function schedule() {
  if (scheduled) return;
  scheduled = true;
  const drawNow = () => {
    scheduled = false;
    draw(session.state);
  };
  if (document.hidden) setTimeout(drawNow);
  else requestAnimationFrame(drawNow);
}

function draw(state) {
  const empty = state.messages.length === 0 && !state.run && !state.notice && state.interrupts.length === 0;
  const held = document.activeElement?.closest(".card");
  drawRows(toRows(state));
  if (held && !held.isConnected && document.activeElement === document.body) composer.focus();
  element("welcome").hidden = !empty;
  element("rows").setAttribute("aria-busy", String(state.run !== null));
  composer.setRunning(state.run !== null);
  drawHeader(state);
  drawBatch(state);
  if (!state.run && (before.run || openAsks(before).length !== openAsks(state).length)) refreshList();
  const news = newsOf(before, state);
  if (news) setText(element("announcer"), news);
  before = state;
  watch.update();
  if (empty) scroller.rest();
  else scroller.follow();
}

function drawHeader(state) {
  setText(element("agent-name"), humanize(state.agent || "agui-gate"));
  if (element("agent-choice").value !== state.agent) element("agent-choice").value = state.agent;
  const title = chats.find(state.threadId)?.title;
  document.title = title ? `${title} · agui-gate` : "agui-gate";
}

const HINT = "Esc goes to the card. There A approves, E edits, R rejects.";
const FINE_PRINT = element("fine-print").textContent;

/** Several open cards: how many are decided, and a way to send those now. */
function drawBatch(state) {
  const asks = state.run ? [] : openAsks(state);
  const decided = asks.filter((ask) => state.drafts[ask.key]).length;
  element("batch").hidden = asks.length < 2;
  setText(element("batch-text"), decided === 0 ? `${asks.length} approvals wait for you` : `${decided} of ${asks.length} decided`);
  element("batch-send").hidden = decided === 0;
  setText(element("batch-send"), `Send ${decided} now`);
  composer.setHint(asks.length > 0 ? "Decide above, or write…" : "Message…");
  setText(element("fine-print"), asks.length > 0 && matchMedia("(hover: hover)").matches ? HINT : FINE_PRINT);
}

function focusNextCard() {
  document.querySelector(".card:not([data-mode=decided])")?.focus();
}

async function regenerate() {
  const { threadId } = session.state;
  if ((await mayReplace(session.state)) && session.state.threadId === threadId) await session.regenerate();
}

function send(text) {
  const { threadId, agent } = session.state;
  if (threadInAddress() !== threadId) history.pushState(null, "", `#t=${encodeURIComponent(threadId)}`);
  chats.begin({ id: threadId, agent, title: text.slice(0, 80) });
  sidebar.render({ current: threadId });
  void session.send(text);
  composer.focus();
  scroller.jump();
}

const threadInAddress = () => new URLSearchParams(location.hash.slice(1)).get("t");

/** Show what the address says: a thread, or a new chat. */
async function show(agent = session.state.agent) {
  const threadId = threadInAddress();
  composer.setReady(false);
  composer.focus();
  sidebar.render({ current: threadId });
  const opened = threadId ? session.open(threadId, chats.find(threadId)?.agent || agent) : session.startNew(agent);
  renderWelcome(element("welcome"), agents.find(({ name }) => name === session.state.agent), send);
  if (threadId) scroller.jump();
  else scroller.rest();
  await opened;
  if (threadId === threadInAddress()) composer.setReady(true);
}

const clearAddress = () => history.pushState(null, "", location.pathname + location.search);

function go(threadId, agent) {
  if (threadId === threadInAddress()) return;
  if (threadId) history.pushState(null, "", `#t=${encodeURIComponent(threadId)}`);
  else clearAddress();
  void show(agent);
}

async function start() {
  try {
    agents = await api.listAgents();
  } catch (error) {
    return showStartProblem(error);
  }
  setUpAgents(agents, (agent) => {
    clearAddress();
    void show(agent);
  });
  const listed = chats.refresh();
  await show(session.state.agent || agents[0]?.name || "");
  await listed;
}

function showStartProblem({ code, message }) {
  const text = "Is it still running? Check the connection, then try again.";
  if (code !== "unauthorized") {
    const title = code === "network" ? "The server can't be reached" : message;
    return renderProblem(element("welcome"), { title, text, label: "Try again", act: start });
  }
  renderProblem(element("welcome"), { title: "This server asks who you are", text: askToken(), label: "Enter token", act: askToken });
}

/** Somebody is back: what happened meanwhile is shown at once. */
function back() {
  if (document.hidden) return;
  watch.back();
  refreshList();
}

function refreshList() {
  if (!document.hidden && agents.length > 0) void chats.refresh();
}

setUpTheme();
setUpToken(() => void (session.state.notice?.code === "unauthorized" ? session.retry() : start()));
setUpEscape({ isFree: () => session.state.run === null, back: () => composer.focus() });
element("new-chat").replaceChildren(icon("plus"), "New chat");
element("menu").replaceChildren(icon("menu"));
element("to-end").replaceChildren(icon("down"));
element("new-chat").addEventListener("click", () => {
  sidebar.close();
  go(null);
  composer.focus();
});
element("batch-send").addEventListener("click", () => void session.sendDecisions({ partial: true }));
addEventListener("popstate", () => void show());
addEventListener("focus", back);
document.addEventListener("visibilitychange", back);
setInterval(refreshList, LIST_EVERY);
for (const sign of ["pointermove", "keydown"]) addEventListener(sign, () => watch.stir(), { passive: true });
void start();
