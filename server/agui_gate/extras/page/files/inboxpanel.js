/**
 * The inbox of the page: `<agui-inbox>`, beside the conversation, or over it where there is no room for both. The gate around
 * it follows what waits in all chats, for the list of chats too.
 */

import { isWaiting } from "./components/core/ledger.js";
import { h, icon, setText } from "./dom.js";
import { readToken } from "./storage.js";

const COVERS = "(max-width: 1080px)";
const LOOK = 20; // s between looks for the calls of others

/**
 * `parts` are nodes. `openChat({id, agent})`, `askToken()`; `onNews()`: something waits, or doesn't any more;
 * `onDecided(record, run)`: it was decided here.
 */
export function createInboxPanel({ panel, scroll, title, close, opener, main }, { openChat, askToken, onNews, onDecided }) {
  const covers = matchMedia(COVERS);
  const list = h("agui-inbox", { chats: true }, h("span", { slot: "title" }));
  const gate = h("agui-gate", { base: "./", send: true, look: LOOK }, list);
  gate.getToken = readToken;
  let before = null;
  let seen = "";

  function setOpen(open) {
    panel.hidden = !open;
    opener.setAttribute("aria-expanded", String(open));
    document.body.classList.toggle("with-inbox", open);
    cover();
    draw();
    list.clear();
  }

  const cover = () => (main.inert = !panel.hidden && covers.matches);

  function show() {
    if (!panel.hidden) return hide();
    before = document.activeElement;
    setOpen(true);
    if (list.count > 0) list.focus();
    else close.focus();
  }

  function hide() {
    const had = panel.contains(document.activeElement) || document.activeElement === document.body;
    setOpen(false);
    const back = before?.offsetParent ? before : opener;
    if (had) back.focus();
  }

  function draw({ count, more, heading } = { count: list.count, more: gate.ledger?.state.more, heading: list.heading }) {
    const said = more ? `${count}+` : String(count);
    opener.hidden = count === 0 && panel.hidden;
    opener.replaceChildren(icon("gate"), count > 0 ? `${said} waiting` : "Nothing waits");
    setText(title, heading);
  }

  const entries = () => gate.ledger?.entries() ?? [];

  /** What waits, or what a chat is at, has changed. */
  function hear() {
    const now = entries().map(({ id, record, gone }) => `${id} ${gone || record.state}`).join();
    if (now !== seen) onNews();
    seen = now;
  }

  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
    event.preventDefault();
    hide();
  });
  gate.addEventListener("agui-count", ({ detail }) => draw(detail));
  gate.addEventListener("agui-decided", ({ detail: { record, run } }) => onDecided(record, run));
  gate.addEventListener("agui-problem", ({ detail: { kind } }) => kind === "unauthorized" && !panel.hidden && askToken());
  gate.addEventListener("agui-open-chat", ({ detail: { thread, agent } }) => openChat({ id: thread, agent }));
  close.replaceChildren(icon("cross"));
  close.addEventListener("click", hide);
  opener.addEventListener("click", show);
  covers.addEventListener("change", cover);
  return {
    show,
    /** Make room for the conversation, where the inbox is over it. */
    giveWay: () => covers.matches && !panel.hidden && hide(),
    /** Begin to follow, once it is known what is served, and to whom. */
    begin() {
      if (gate.isConnected) return gate.retry();
      scroll.append(gate);
      gate.ledger.subscribe(hear);
    },
    setCurrent: (id) => (list.current = id),
    /** What waits: `{approvals, more}`. */
    waiting: async () => ({ approvals: entries().filter(isWaiting).map(({ record }) => record), more: gate.ledger?.state.more ?? false }),
  };
}
