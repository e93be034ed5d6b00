/** The page: wires the session to what is drawn, and the address to the thread. */

import { mayReplace } from "./again.js";
import { newsOf } from "./announce.js";
import * as api from "./api.js";
import { openAsks } from "./asks.js";
import { createBatch } from "./batch.js";
import { createChats } from "./chats.js";
import { humanize } from "./components/core/values.js";
import { createComposer } from "./composer.js";
import { createList, icon, perFrame, setText } from "./dom.js";
import { askToken, setUpAgents, setUpTheme, setUpToken } from "./frame.js";
import { createInboxPanel } from "./inboxpanel.js";
import { openCards, setUpEscape } from "./keys.js";
import { createActivity, createCut, createFooter, createForm, createKept, createReasoning, createReplaced, createText, createUnread, createUser, createWorking } from "./messages.js";
import { createNotice } from "./notices.js";
import { createPoller } from "./poll.js";
import { isVisible, setUpPresence } from "./presence.js";
import { toRows } from "./rows.js";
import { createScroller } from "./scroll.js";
import { createSession } from "./session.js";
import { createShared } from "./shared.js";
import { createSidebar } from "./sidebar.js";
import { isGone } from "./state.js";
import { readNew, writeNew } from "./storage.js";
import { createHandoff, createSpeaker, createTask } from "./tasks.js";
import { knownOf } from "./team.js";
import { createTool } from "./tools.js";
import { createUnreadChats } from "./unread.js";
import { renderProblem, renderWelcome } from "./welcome.js";

const element = (id) => document.getElementById(id);
const announce = (text) => text && setText(element("announcer"), text);
const cards = new URLSearchParams(location.search).get("hitl") === "card";
const LIST_EVERY = 20_000; // ms between looks at the other chats, while nothing happens in them
let agents = [];

const actions = {
  decide(ask, decision) {
    const inCard = document.activeElement?.closest("agui-confirm-card");
    void session.decide(ask, decision);
    composer.takeFocus();
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
  form: createForm,
  speaker: createSpeaker,
  handoff: createHandoff,
  task: () => createTask(create),
  reasoning: createReasoning,
  activity: createActivity,
  working: createWorking,
  replaced: createReplaced,
  cut: createCut,
  kept: createKept,
  footer: () => createFooter(actions),
  tool: () => createTool(actions),
  notice: () => createNotice(actions),
  unread: () => createUnread(actions),
};

const create = (row) => CREATORS[row.kind](row);
const drawRows = createList(element("rows"), create);
const shared = createShared(element("shared"), () => scroller.follow());
const scroller = createScroller(element("scroll"), element("to-end"));
const composer = createComposer(
  { form: element("composer"), input: element("input"), button: element("send"), rest: element("scroll") },
  { send, stop: () => session.stop() },
);
const batch = createBatch(
  { bar: element("batch"), text: element("batch-text"), all: element("batch-all"), button: element("batch-send"), finePrint: element("fine-print") },
  { onApproveAll: (asks) => void session.decide(asks, { approved: true }), onSend: () => void session.sendDecisions({ partial: true }), setHint: composer.setHint, isWriting: () => composer.getText().trim() !== "", announce },
);
const news = createUnreadChats({ read: readNew, write: writeNew });
const chats = createChats({
  api: { ...api, listApprovals: () => inbox.waiting() },
  news,
  current: threadInAddress,
  announce,
  onChange: (changes) => {
    sidebar.render(changes);
    inbox.setCurrent(threadInAddress());
    drawHeader(session.state);
    lists.update();
  },
  onForbidden(error) {
    renderProblem(element("welcome"), error, { again: start, askToken });
    composer.setReady(false);
  },
  onRemoved: (id) => {
    if (id === threadInAddress()) go(null);
  },
});
const sidebar = createSidebar(
  { list: element("threads"), drawer: element("sidebar"), toggle: element("menu"), scrim: element("scrim"), main: element("main") },
  { open: (thread) => go(thread.id, thread.agent), rename: chats.rename, remove: chats.remove, older: chats.older, inbox: () => inbox.show() },
);
const inbox = createInboxPanel(
  { panel: element("inbox"), scroll: element("inbox-scroll"), title: element("inbox-title"), close: element("inbox-close"), opener: element("inbox-open"), main: element("main") },
  {
    askToken,
    openChat({ id, agent }) {
      const isHere = id === threadInAddress();
      go(id, agent);
      if (isHere) focusNextCard();
    },
    onNews: () => lists.now(),
    onDecided(record, run) {
      void chats.decided(record, run);
      if (record.thread_id === session.state.threadId) watch.back();
    },
  },
);
const session = createSession({ api, cards, onChange: perFrame(() => draw(session.state)), knownOf: (agent) => knownOf(agents, agent) });
const watch = createPoller({ look: session.learnDecisions, waits: session.waits, isVisible });
const lists = createPoller({ look: lookAtList, waits: () => news.isBusy(threadInAddress()), isVisible, seldom: LIST_EVERY });

let before = session.state;

function draw(state) {
  const empty = state.messages.length === 0 && !state.run && !state.notice && state.interrupts.length === 0;
  const held = document.activeElement?.closest("agui-confirm-card");
  drawRows(toRows(state));
  if (held && !held.isConnected && document.activeElement === document.body) composer.takeFocus();
  element("welcome").hidden = !empty;
  element("rows").setAttribute("aria-busy", String(state.run !== null));
  composer.setRunning(state.run !== null);
  drawHeader(state);
  batch.draw(state);
  shared.draw(state);
  if (!state.run && (before.run || openAsks(before).length !== openAsks(state).length)) refreshList();
  announce(newsOf(before, state));
  before = state;
  watch.update();
  if (empty) scroller.rest();
  else scroller.follow();
}

function drawHeader(state) {
  setText(element("agent-name"), humanize(state.agent || "agui-gate"));
  if (element("agent-choice").value !== state.agent) element("agent-choice").value = state.agent;
  document.title = [chats.find(state.threadId)?.title, "agui-gate"].filter(Boolean).join(" · ");
}

function focusNextCard() {
  openCards()[0]?.focus();
}

async function regenerate() {
  const { threadId } = session.state;
  if ((await mayReplace(session.state)) && session.state.threadId === threadId) await session.regenerate();
}

async function send(text) {
  if (isGone(session.state)) void session.startNew(session.state.agent); // its id would lead to another chat
  const { threadId, agent } = session.state;
  if (threadInAddress() !== threadId) history.pushState(null, "", `#t=${encodeURIComponent(threadId)}`);
  chats.begin({ id: threadId, agent, title: text.slice(0, 80) });
  sidebar.render({ current: threadId });
  composer.focus();
  scroller.jump();
  if (await session.send(text)) return;
  if (!composer.getText()) composer.setText(text);
  refreshList();
}

function threadInAddress() {
  return new URLSearchParams(location.hash.slice(1)).get("t");
}

/** Show what the address says: a thread, or a new chat. */
async function show(agent = session.state.agent) {
  const threadId = threadInAddress();
  composer.setReady(false);
  composer.focus();
  sidebar.render({ current: threadId });
  if (threadId) news.read(threadId);
  chats.tell();
  const opened = threadId ? session.open(threadId, chats.find(threadId)?.agent || agent) : session.startNew(agent);
  renderWelcome(element("welcome"), agents.find(({ name }) => name === session.state.agent), send);
  if (threadId) scroller.jump();
  else scroller.rest();
  await opened;
  if (threadId === threadInAddress()) composer.setReady(true);
}

const clearAddress = () => history.pushState(null, "", location.pathname + location.search);

function go(threadId, agent) {
  inbox.giveWay();
  if (threadId === threadInAddress()) return;
  if (threadId) history.pushState(null, "", `#t=${encodeURIComponent(threadId)}`);
  else clearAddress();
  void show(agent);
}

async function start() {
  api.askEarly(threadInAddress()); // over a slow line the thread needn't wait for what is served
  try {
    agents = await api.listAgents();
  } catch (error) {
    return renderProblem(element("welcome"), error, { again: start, askToken });
  }
  setUpAgents(agents, (agent) => {
    clearAddress();
    void show(agent);
  });
  inbox.begin();
  await Promise.all([chats.refresh(), show(session.state.agent || agents[0]?.name || "")]);
}

const refreshList = () => void (isVisible() && chats.refresh());

/** Nobody is asked before it is known what is served, and to whom. */
async function lookAtList() {
  if (agents.length > 0) await chats.look();
}

setUpTheme();
element("input").addEventListener("input", () => batch.draw(session.state));
setUpToken(() => {
  if (agents.length > 0) inbox.begin();
  void (session.state.notice?.code === "unauthorized" ? session.retry() : start());
});
setUpEscape({ isFree: () => session.state.run === null, back: () => composer.focus() });
element("new-chat").replaceChildren(icon("plus"), "New chat");
element("menu").replaceChildren(icon("menu"));
element("to-end").replaceChildren(icon("down"));
element("new-chat").addEventListener("click", () => {
  sidebar.close();
  go(null);
  composer.focus();
});
addEventListener("popstate", () => void show());
addEventListener("storage", () => chats.tell()); // another tab has read what was new
setUpPresence([watch, lists]);
void start();
