/** The person's chats, and the drawer they are in on narrow screens. */

import { h, icon } from "./dom.js";
import { createMenu } from "./menu.js";
import { reveal } from "./reveal.js";
import { nextExpiry, sections } from "./threads.js";
import { clock, shortClock } from "./words.js";

/**
 * `actions`: `open`, `rename`, `remove` (each with a thread), `older()`, `inbox()`. `render(changes)` draws the list with
 * what is new of `{current, threads, marks, approvals, moreApprovals, more}`.
 */
export function createSidebar({ list, drawer, toggle, scrim }, actions) {
  const drawn = createDrawer(drawer, toggle, scrim);
  let known = { current: null, threads: [], marks: {}, approvals: [], moreApprovals: false, more: false };
  let expiry = null;
  let last = "";
  const choose = (thread) => {
    drawn.setOpen(false);
    actions.open(thread);
  };
  const openInbox = () => {
    drawn.setOpen(false);
    actions.inbox();
  };
  const render = (changes = {}) => {
    known = { ...known, ...changes };
    const shown = sections(known.threads, known.approvals, Date.now(), known);
    clearTimeout(expiry);
    const next = nextExpiry(known.approvals, Date.now());
    expiry = next === null ? null : setTimeout(render, Math.min(next - Date.now() + 500, 2 ** 31 - 1));
    const picture = JSON.stringify([shown, known.current, known.more]);
    if (picture === last) return; // what has the focus stays
    last = picture;
    const head = (name, [{ waits }]) => (waits ? waitingItem(name, openInbox) : groupItem(name));
    const items = shown.flatMap(([name, members]) => [head(name, members), ...members.map((thread) => threadItem(thread, known.current, { ...actions, choose }))]);
    const older = known.more ? [h("li", {}, h("button", { class: "ghost older", type: "button", onclick: actions.older }, "Show older chats"))] : [];
    keepFocus(list, () => list.replaceChildren(...items, ...older));
  };
  return { render, close: () => drawn.setOpen(false) };
}

function createDrawer(drawer, toggle, scrim) {
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
  return { setOpen };
}

/** Draw the list anew; the focus stays on the same button. */
function keepFocus(list, draw) {
  const focused = list.contains(document.activeElement) ? document.activeElement : null;
  const id = focused?.closest(".thread-item")?.dataset.id;
  const which = focused?.className;
  draw();
  if (focused?.matches(".group-button")) list.querySelector(".group-button")?.focus();
  if (!id) return;
  const item = [...list.querySelectorAll(".thread-item")].find((each) => each.dataset.id === id);
  [...(item?.querySelectorAll("button") ?? [])].find((button) => button.className === which)?.focus();
}

const groupItem = (name) => h("li", { class: "thread-group" }, h("h2", {}, name));

/** The name is the way to decide what waits without opening its chats. */
function waitingItem(name, openInbox) {
  const button = h("button", { class: "group-button", type: "button", title: "Look at them and decide", "aria-controls": "inbox", onclick: openInbox }, name, icon("chevron"));
  return h("li", { class: "thread-group" }, h("h2", {}, button));
}

const MARKS = { waits: "Waits for you: ", working: "At work: ", new: "New: " };

function markOf({ waits, mark }) {
  const kind = waits ? "waits" : mark;
  return kind && h("span", { class: "thread-mark", "data-mark": kind }, h("span", { class: "visually-hidden" }, MARKS[kind]));
}

function threadItem(thread, current, { choose, rename, remove }) {
  const title = reveal(thread.title);
  const name = h("span", { class: "thread-title", dir: "auto" }, title);
  const mark = markOf(thread);
  const time = h("time", { class: "thread-time", title: clock(thread.at), datetime: isNaN(thread.at) ? null : new Date(thread.at).toISOString() }, shortClock(thread.at));
  const waits = thread.waits ? h("span", { class: "thread-waits", dir: "auto" }, reveal(thread.waits)) : null;
  const open = h(
    "button",
    { class: "thread", type: "button", title: thread.waits ? `${title}\n${reveal(thread.waits)}` : title, "aria-current": thread.id === current ? "page" : null, onclick: () => choose(thread) },
    h("span", { class: "thread-line" }, mark, name),
    waits,
    time,
  );
  const items = [
    { text: "Rename…", act: () => rename(thread) },
    { text: "Delete…", danger: true, act: () => remove(thread) },
  ];
  return h("li", { class: "thread-item", "data-id": thread.id }, open, createMenu(`Rename or delete “${title}”`, items));
}
