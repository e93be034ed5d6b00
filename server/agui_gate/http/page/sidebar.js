/** The threads this browser has seen, and the drawer they are in on narrow screens. */

import { h, icon } from "./dom.js";
import { forgetThread, readThreads } from "./storage.js";

const DAY = 86_400_000; // ms

/** `actions.open(thread)` shows one; `render(currentId)` draws the list anew. */
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
  const render = (currentId) => {
    const choose = (thread) => {
      setOpen(false);
      actions.open(thread);
    };
    const forget = (thread) => {
      forgetThread(thread.id);
      render(currentId);
    };
    list.replaceChildren(...groups(readThreads(), Date.now()).flatMap(([name, threads]) => [
      h("li", { class: "thread-group" }, h("h2", {}, name)),
      ...threads.map((thread) => threadItem(thread, thread.id === currentId, choose, forget)),
    ]));
  };
  return { render, close: () => setOpen(false) };
}

function groups(threads, now) {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const named = { Today: [], Yesterday: [], Earlier: [] };
  for (const thread of threads) {
    if (thread.updatedAt >= midnight) named.Today.push(thread);
    else if (thread.updatedAt >= midnight - DAY) named.Yesterday.push(thread);
    else named.Earlier.push(thread);
  }
  return Object.entries(named).filter(([, members]) => members.length > 0);
}

function threadItem(thread, current, choose, forget) {
  const title = thread.title || "New chat";
  const open = h("button", { class: "thread", type: "button", "aria-current": current ? "page" : null, onclick: () => choose(thread) }, title);
  const label = `Remove “${title}” from this list`;
  const remove = h("button", { class: "thread-remove", type: "button", title: "Remove from this list", "aria-label": label, onclick: () => forget(thread) }, icon("cross"));
  return h("li", { class: "thread-item" }, open, remove);
}
