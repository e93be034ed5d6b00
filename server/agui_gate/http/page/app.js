/** The page: wires the session to what is drawn, and the address to the thread. */

import * as api from "./api.js";
import { openAsks } from "./asks.js";
import { createComposer } from "./composer.js";
import { createList, h, icon, setText } from "./dom.js";
import { humanize } from "./fields.js";
import { createActivity, createFooter, createReasoning, createText, createUser, createWorking } from "./messages.js";
import { createNotice } from "./notices.js";
import { plainText, toRows } from "./rows.js";
import { createScroller } from "./scroll.js";
import { createSession } from "./session.js";
import { createSidebar } from "./sidebar.js";
import { readThreads, readToken, rememberThread, writeTheme, writeToken } from "./storage.js";
import { createTool } from "./tools.js";
import { renderProblem, renderWelcome } from "./welcome.js";

const element = (id) => document.getElementById(id);
const cards = new URLSearchParams(location.search).get("hitl") === "card";
let agents = [];

const actions = {
  decide(ask, decision) {
    void session.decide(ask, decision);
    composer.focus();
  },
  regenerate: () => void session.regenerate(),
  retry: () => void session.retry(),
  takeBack: () => composer.setText(session.takeBack()),
  askToken: () => element("token-dialog").showModal(),
  copy: (text) => navigator.clipboard.writeText(text),
};

const CREATORS = {
  user: createUser,
  text: createText,
  reasoning: createReasoning,
  activity: createActivity,
  working: createWorking,
  footer: () => createFooter(actions),
  tool: () => createTool(actions),
  notice: () => createNotice(actions),
};

const drawRows = createList(element("rows"), (row) => CREATORS[row.kind](row));
const scroller = createScroller(element("scroll"), element("to-end"));
const composer = createComposer(
  { form: element("composer"), input: element("input"), button: element("send") },
  { send, stop: () => session.stop() },
);
const sidebar = createSidebar(
  { list: element("threads"), drawer: element("sidebar"), toggle: element("menu"), scrim: element("scrim") },
  { open: (thread) => go(thread.id, thread.agent) },
);
const session = createSession({ api, cards, onChange: schedule });

let before = session.state;
let scheduled = false;

/** Many events may come between two frames; they are drawn once. */
function schedule() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    draw(session.state);
  });
}

function draw(state) {
  const empty = state.messages.length === 0 && !state.run && !state.notice && state.interrupts.length === 0;
  drawRows(toRows(state));
  element("welcome").hidden = !empty;
  element("rows").setAttribute("aria-busy", String(state.run !== null));
  composer.setRunning(state.run !== null);
  drawHeader(state);
  drawBatch(state);
  if (before.run && !state.run) void markWaiting();
  announceChange(before, state);
  before = state;
  if (empty) scroller.rest();
  else scroller.follow();
}

/** Which chats wait for the person; the list is a convenience, so a failure only leaves it as it was. */
async function markWaiting() {
  const approvals = await api.listApprovals().catch(() => undefined);
  sidebar.render(threadInAddress(), approvals);
}

function drawHeader(state) {
  setText(element("agent-name"), humanize(state.agent || "agui-gate"));
  if (element("agent-choice").value !== state.agent) element("agent-choice").value = state.agent;
  const title = readThreads().find((thread) => thread.id === state.threadId)?.title;
  document.title = title ? `${title} · agui-gate` : "agui-gate";
}

/** Several open cards: how many are decided, and a way to send those now. */
function drawBatch(state) {
  const asks = state.run ? [] : openAsks(state);
  const decided = asks.filter((ask) => state.drafts[ask.id]).length;
  element("batch").hidden = asks.length < 2;
  setText(element("batch-text"), decided === 0 ? `${asks.length} approvals wait for you` : `${decided} of ${asks.length} decided`);
  element("batch-send").hidden = decided === 0;
  setText(element("batch-send"), `Send ${decided} now`);
  composer.setHint(asks.length > 0 ? "Decide above, or write…" : "Message…");
}

/** The log itself is silent while it streams; this says what a listener needs to know. */
function announceChange(old, state) {
  if (old.threadId !== state.threadId || !old.run || state.run) return;
  const asks = openAsks(state);
  const answer = state.messages.at(-1);
  if (asks.length > 0) announce(asks.length === 1 ? `Approval needed: ${humanize(asks[0].tool)}` : `${asks.length} approvals needed`);
  else if (state.notice) announce(state.notice.code === "abort" ? "Stopped" : `Error: ${state.notice.message}`);
  else if (answer?.role === "assistant") announce(plainText(answer.content));
}

function announce(text) {
  setText(element("announcer"), text);
}

function send(text) {
  const { threadId, agent } = session.state;
  rememberThread({ id: threadId, agent, title: text.slice(0, 80), updatedAt: Date.now() });
  if (threadInAddress() !== threadId) history.pushState(null, "", `#t=${encodeURIComponent(threadId)}`);
  sidebar.render(threadId);
  void session.send(text);
  composer.focus();
  scroller.jump();
}

const threadInAddress = () => new URLSearchParams(location.hash.slice(1)).get("t");

/** Show what the address says: a thread, or a new chat. */
async function show(agent = session.state.agent) {
  const threadId = threadInAddress();
  const known = readThreads().find((thread) => thread.id === threadId);
  composer.setReady(false);
  composer.focus();
  sidebar.render(threadId);
  const opened = threadId ? session.open(threadId, known?.agent || agent) : session.startNew(agent);
  renderWelcome(element("welcome"), agents.find(({ name }) => name === session.state.agent), send);
  if (threadId) scroller.jump();
  else scroller.rest();
  await opened;
  if (threadId === threadInAddress()) composer.setReady(true);
}

function go(threadId, agent) {
  if (threadId === threadInAddress()) return;
  history.pushState(null, "", threadId ? `#t=${encodeURIComponent(threadId)}` : location.pathname + location.search);
  void show(agent);
}

function setUpTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const refresh = () => {
    element("theme").replaceChildren(icon(isDark() ? "sun" : "moon"));
    element("theme").setAttribute("aria-label", isDark() ? "Use the light theme" : "Use the dark theme");
  };
  element("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    writeTheme(document.documentElement.dataset.theme);
    refresh();
  });
  dark.addEventListener("change", refresh);
  refresh();
}

/** With one agent there is nothing to choose. */
function setUpAgents() {
  const choice = element("agent-choice");
  choice.hidden = agents.length < 2;
  element("agent-name").hidden = agents.length > 1;
  choice.replaceChildren(...agents.map(({ name }) => h("option", { value: name }, humanize(name))));
  choice.addEventListener("change", () => {
    history.pushState(null, "", location.pathname + location.search);
    void show(choice.value);
  });
}

function setUpToken() {
  const dialog = element("token-dialog");
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "save") return;
    writeToken(element("token").value.trim());
    element("token").value = "";
    if (session.state.notice?.code === "unauthorized") void session.retry();
    else void start();
  });
}

async function start() {
  try {
    agents = await api.listAgents();
  } catch (error) {
    return showStartProblem(error);
  }
  setUpAgents();
  await show(session.state.agent || agents[0]?.name || "");
  await markWaiting();
}

function showStartProblem({ code, message }) {
  const text = "Is it still running? Check the connection, then try again.";
  if (code !== "unauthorized") {
    const title = code === "network" ? "The server can't be reached" : message;
    return renderProblem(element("welcome"), { title, text, label: "Try again", act: start });
  }
  const refused = readToken() ? "The token was not accepted. Enter the one you were given." : "Enter the token you were given.";
  setText(element("token-text"), `${refused} It is kept for this tab only.`);
  renderProblem(element("welcome"), { title: "This server asks who you are", text: refused, label: "Enter token", act: actions.askToken });
  actions.askToken();
}

setUpTheme();
setUpToken();
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
void start();
