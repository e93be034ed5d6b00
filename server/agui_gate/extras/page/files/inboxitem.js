/** One call in the inbox: a line that opens to the very card it has in its chat, and to how it ended once it is decided. */

import { clock, shortClock } from "./components/core/records.js";
import { reveal } from "./components/core/reveal.js";
import { humanize } from "./components/core/values.js";
import { createCountdown } from "./countdown.js";
import { h, icon, same, setText, shown } from "./dom.js";
import { withKeys } from "./keys.js";
import { createTool } from "./tools.js";
import { LABELS } from "./words.js";

/** `actions`: `decide(id, ask, decision)`, `look(id)` when it opens, `openChat(thread)`, `askToken()`. */
export function createItem(row, actions) {
  const view = makeView(row, actions);
  const tool = createTool({ decide: (ask, decision) => actions.decide(row.key, ask, decision), density: "compact" });
  view.line.addEventListener("click", ({ detail }) => {
    if (detail > 1) return; // the second click of a double one, which decided what stood here
    const open = view.detail.hidden;
    view.detail.hidden = !open;
    view.line.setAttribute("aria-expanded", String(open));
    if (open) actions.look(row.key);
  });
  withKeys(view.node);
  let last = null;
  let decided = false;
  return {
    node: view.node,
    update(next) {
      const had = view.node.contains(document.activeElement);
      const { call, ...rest } = next;
      if (call) tool.update(call);
      if (call && !tool.node.isConnected) view.detail.prepend(tool.node);
      if (call && !call.ask && !decided) tool.node.querySelector(".tool-line").open = true; // what ran is read where it was asked
      decided = Boolean(call && !call.ask);
      if (had && !view.node.contains(document.activeElement)) view.line.focus();
      const flat = { ...rest, thread: rest.thread.id };
      if (same(flat, last)) return;
      last = flat;
      showLine(view, next);
    },
  };
}

function makeView({ key, thread }, actions) {
  const id = `inbox-${key}`;
  const title = h("span", { class: "inbox-title" });
  const state = h("span", { class: "inbox-state" });
  const what = h("span", { class: "inbox-what", dir: "auto" });
  const where = h("span", { class: "inbox-where", dir: "auto" });
  const line = h("button", { class: "inbox-line", type: "button", "aria-expanded": "false", "aria-controls": id }, icon("chevron"), title, state, what, where);
  const note = h("p", { class: "inbox-note" });
  const token = h("button", { class: "button plain small", type: "button", onclick: actions.askToken }, "Enter token");
  const chat = h("button", { class: "ghost small", type: "button", onclick: () => actions.openChat(thread) }, "Open chat");
  const detail = h("div", { class: "inbox-detail", id, hidden: true }, note, h("div", { class: "inbox-more" }, token, chat));
  const node = h("li", { class: "inbox-item", "data-thread": thread.id }, h("h3", {}, line), detail);
  return { node, line, title, state, what, where, note, token, chat, detail };
}

function showLine(view, row) {
  view.node.dataset.status = row.status;
  view.title.replaceChildren(...shown(row.title));
  view.state.replaceChildren(...stateOf(row));
  view.what.replaceChildren(...shown(row.what));
  view.what.hidden = !row.what;
  const chat = [row.asker && reveal(`${humanize(row.asker)} asks`), row.chat && reveal(row.chat), row.isCurrent && "this chat"].filter(Boolean).join(" · ");
  view.where.replaceChildren(`${chat} · `, h("time", { datetime: row.asked, title: clock(row.asked) }, shortClock(row.asked)));
  setText(view.note, row.note ?? "");
  view.note.hidden = !row.note;
  view.token.hidden = !row.needsToken;
  view.chat.hidden = row.isGone;
}

function stateOf({ status, expires }) {
  if (status !== "waiting") return [LABELS[status]];
  return [expires && createCountdown(expires)].filter(Boolean);
}
