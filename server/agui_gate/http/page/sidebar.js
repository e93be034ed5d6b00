/** The threads this browser has seen, and the drawer they are in on narrow screens. */

import { h, icon } from "./dom.js";
import { humanize } from "./fields.js";
import { forgetThread, readThreads } from "./storage.js";

const DAY = 86_400_000; // ms

/** `actions.open(thread)` shows one; `render(currentId, approvals)` draws the list, with a mark where something waits. */
export function createSidebar({ list, drawer, toggle, scrim }, actions) {
  const setOpen = (open) => {
    drawer.classList.toggle("open", open);
    scrim.hidden = !open;
    toggle.setAttribute("aria-expanded", String(open));
    if (open) drawer.querySelector("button")?.focus();
  };
  toggle.addEventListener("click", () => setOpen(!drawer.classList.contains("open")));
  scrim.addEventListener("click", () => setOpen(false));
  drawer.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !drawer.classList.contains("open")) return;
    setOpen(false);
    toggle.focus();
  });
  let waiting = [];
  const render = (currentId, approvals = waiting) => {
    waiting = approvals;
    const choose = (thread) => {
      setOpen(false);
      actions.open(thread);
    };
    const forget = (thread) => {
      forgetThread(thread.id);
      render(currentId);
    };
    const threads = readThreads();
    const marked = new Set(approvals.map((approval) => approval.thread_id));
    const sections = [...elsewhere(threads, approvals), ...byDay(threads, Date.now())];
    list.replaceChildren(...sections.flatMap(([name, members]) => [
      h("li", { class: "thread-group" }, h("h2", {}, name)),
      ...members.map((thread) => threadItem(thread, { current: thread.id === currentId, waits: marked.has(thread.id), choose, forget })),
    ]));
  };
  return { render, close: () => setOpen(false) };
}

/** Approvals that wait on chats this browser has not seen. */
function elsewhere(threads, approvals) {
  const known = new Set(threads.map((thread) => thread.id));
  const others = new Map(approvals.filter(({ thread_id }) => !known.has(thread_id)).map((approval) => [approval.thread_id, approval]));
  const members = [...others.values()].map(({ thread_id, agent, tool }) => ({ id: thread_id, agent, title: humanize(tool), foreign: true }));
  return members.length > 0 ? [["Waiting for you", members]] : [];
}

function byDay(threads, now) {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const named = { Today: [], Yesterday: [], Earlier: [] };
  for (const thread of threads) {
    if (thread.updatedAt >= midnight) named.Today.push(thread);
    else if (thread.updatedAt >= midnight - DAY) named.Yesterday.push(thread);
    else named.Earlier.push(thread);
  }
  return Object.entries(named).filter(([, members]) => members.length > 0);
}

function threadItem(thread, { current, waits, choose, forget }) {
  const title = thread.title || "New chat";
  const mark = waits ? h("span", { class: "thread-mark" }, h("span", { class: "visually-hidden" }, "Waits for you: ")) : null;
  const open = h("button", { class: "thread", type: "button", "aria-current": current ? "page" : null, onclick: () => choose(thread) }, mark, title);
  if (thread.foreign) return h("li", { class: "thread-item" }, open);
  const label = `Remove “${title}” from this list`;
  const remove = h("button", { class: "thread-remove", type: "button", title: "Remove from this list", "aria-label": label, onclick: () => forget(thread) }, icon("cross"));
  return h("li", { class: "thread-item" }, open, remove);
}
