/** The person's chats, and the drawer they are in on narrow screens. */

import { clock, shortClock } from "./components/core/records.js";
import { reveal } from "./components/core/reveal.js";
import { serverNow } from "./components/core/servertime.js";
import { createList, h, icon, same, setText } from "./dom.js";
import { createMenu } from "./menu.js";
import { apart, nextExpiry, sections } from "./threads.js";

/**
 * `actions`: `open`, `rename`, `remove` (each with a thread), `older()`, `inbox()`. `render(changes)` draws the list with
 * what is new of `{current, threads, marks, approvals, moreApprovals, more}`.
 */
export function createSidebar({ list, drawer, toggle, scrim, main }, actions) {
  const drawn = createDrawer(drawer, toggle, scrim, main);
  let known = { current: null, threads: [], marks: {}, approvals: [], moreApprovals: false, more: false };
  let expiry = null;
  const choose = (thread) => {
    drawn.setOpen(false);
    actions.open(thread);
  };
  const openInbox = () => {
    drawn.setOpen(false);
    actions.inbox();
  };
  const creators = {
    waiting: () => createWaiting(openInbox),
    group: createGroup,
    thread: () => createThread({ ...actions, choose }),
    older: () => createOlder(actions.older),
  };
  const draw = createList(list, ({ kind }) => creators[kind]());
  const render = (changes = {}) => {
    known = { ...known, ...changes };
    const shown = sections(apart(known.threads), known.approvals, serverNow(), known);
    clearTimeout(expiry);
    const next = nextExpiry(known.approvals, serverNow());
    expiry = next === null ? null : setTimeout(render, Math.min(next - serverNow() + 500, 2 ** 31 - 1));
    keepFocus(list, () => draw([...shown.flatMap((section) => toRows(section, known.current)), ...(known.more ? [{ kind: "older", key: "" }] : [])]));
  };
  return { render, close: () => drawn.setOpen(false) };
}

/** What waits is one section, however much it is. */
function toRows([name, members], current) {
  const head = members[0].waits ? { kind: "waiting", key: "", name } : { kind: "group", key: name, name };
  return [head, ...members.map((thread) => ({ kind: "thread", key: thread.id, thread, isCurrent: thread.id === current }))];
}

/** While it is open, what it covers takes no focus. */
function createDrawer(drawer, toggle, scrim, main) {
  const setOpen = (open) => {
    if (open !== drawer.classList.contains("open")) main.inert = open;
    drawer.classList.toggle("open", open);
    scrim.hidden = !open;
    toggle.setAttribute("aria-expanded", String(open));
    if (open) drawer.querySelector("button")?.focus();
  };
  toggle.addEventListener("click", () => setOpen(!drawer.classList.contains("open")));
  scrim.addEventListener("click", () => setOpen(false));
  matchMedia("(min-width: 821px)").addEventListener("change", () => setOpen(false)); // there it is no drawer
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || !drawer.classList.contains("open") || document.querySelector("dialog[open], [popover]:popover-open")) return;
    event.preventDefault();
    setOpen(false);
    toggle.focus();
  });
  return { setOpen };
}

/** Draw the list; what has the focus keeps it, also where it moves. */
function keepFocus(list, draw) {
  const focused = list.contains(document.activeElement) ? document.activeElement : null;
  draw();
  if (focused?.isConnected && focused !== document.activeElement) focused.focus();
}

function createGroup() {
  const name = h("h2", {});
  return { node: h("li", { class: "thread-group" }, name), update: (row) => setText(name, row.name) };
}

/** The name is the way to decide what waits without opening its chats. */
function createWaiting(openInbox) {
  const name = h("span", {});
  const button = h("button", { class: "group-button", type: "button", title: "Look at them and decide", "aria-controls": "inbox", onclick: openInbox }, name, icon("chevron"));
  return { node: h("li", { class: "thread-group" }, h("h2", {}, button)), update: (row) => setText(name, row.name) };
}

const createOlder = (older) => ({ node: h("li", {}, h("button", { class: "ghost older", type: "button", onclick: older }, "Show older chats")), update() {} });

const MARKS = { waits: "Waiting for you: ", others: "Waiting for others: ", working: "At work: ", new: "New: " };

function markOf({ waits, isOthers, mark }) {
  const kind = waits ? "waits" : mark;
  return kind && h("span", { class: "thread-mark", "data-mark": kind }, h("span", { class: "visually-hidden" }, MARKS[isOthers ? "others" : kind]));
}

/** A chat. Its nodes stay for as long as it is listed: a click that began on it ends on it, whatever is news meanwhile. */
function createThread({ choose, rename, remove }) {
  let thread = null;
  let last = null;
  const name = h("span", { class: "thread-title", dir: "auto" });
  const line = h("span", { class: "thread-line" }, name);
  const waits = h("span", { class: "thread-waits", dir: "auto" });
  const time = h("time", { class: "thread-time" });
  const open = h("button", { class: "thread", type: "button", onclick: () => choose(thread) }, line, time);
  const menu = createMenu([
    { text: "Rename…", act: () => rename(thread) },
    { text: "Delete…", danger: true, act: () => remove(thread) },
  ]);
  const node = h("li", { class: "thread-item" }, open, menu.node);
  return {
    node,
    update(row) {
      thread = row.thread;
      const next = { ...thread, isCurrent: row.isCurrent, clock: shortClock(thread.at) };
      if (same(next, last)) return;
      last = next;
      const title = thread.number ? `${reveal(thread.title)} (${thread.number})` : reveal(thread.title);
      node.dataset.id = thread.id;
      menu.setLabel(`Rename or delete “${title}”`);
      open.title = thread.waits ? `${title}\n${reveal(thread.waits)}` : title;
      if (row.isCurrent) open.setAttribute("aria-current", "page");
      else open.removeAttribute("aria-current");
      setText(name, title);
      line.querySelector(".thread-mark")?.remove();
      line.prepend(...[markOf(thread)].filter(Boolean));
      setText(waits, reveal(thread.waits ?? ""));
      if (thread.waits) line.after(waits);
      else waits.remove();
      setText(time, next.clock);
      time.title = clock(thread.at);
      if (!isNaN(thread.at)) time.dateTime = new Date(thread.at).toISOString();
    },
  };
}
