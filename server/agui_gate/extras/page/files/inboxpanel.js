/** Where the inbox is: beside the conversation, or over it where there is no room for both. */

import { createList, h, icon, setText } from "./dom.js";
import { createItem } from "./inboxitem.js";

const COVERS = "(max-width: 1080px)";

/** `parts` are nodes; `actions` are those of `createItem`, `opened()` and `closed()`. `draw({items, count, more})` draws it. */
export function createPanel({ panel, list, title, close, opener, main }, actions) {
  const covers = matchMedia(COVERS);
  const draw = createList(list, (row) => createItem(row, actions));
  const rest = h("p", { class: "inbox-rest" });
  let before = null;

  function setOpen(open) {
    panel.hidden = !open;
    opener.setAttribute("aria-expanded", String(open));
    document.body.classList.toggle("with-inbox", open);
    cover();
  }

  const cover = () => (main.inert = !panel.hidden && covers.matches);

  function show() {
    if (!panel.hidden) return hide();
    before = document.activeElement;
    setOpen(true);
    actions.opened();
    const first = list.querySelector(".inbox-line");
    first?.click();
    (first ?? close).focus();
  }

  function hide() {
    const had = panel.contains(document.activeElement) || document.activeElement === document.body;
    setOpen(false);
    actions.closed();
    draw([]);
    const back = before?.offsetParent ? before : opener;
    if (had) back.focus();
  }

  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
    event.preventDefault();
    hide();
  });
  close.replaceChildren(icon("cross"));
  close.addEventListener("click", hide);
  opener.addEventListener("click", show);
  covers.addEventListener("change", cover);
  list.after(rest);
  return {
    show,
    /** Make room for the conversation, where the inbox is over it. */
    giveWay: () => covers.matches && !panel.hidden && hide(),
    draw({ items, count, more }) {
      const said = more ? `${count}+` : String(count);
      opener.hidden = count === 0 && panel.hidden;
      opener.replaceChildren(icon("gate"), count > 0 ? `${said} waiting` : "Nothing waits");
      if (panel.hidden) return;
      setText(title, count > 0 ? `Waiting for you (${said})` : "Waiting for you");
      draw(items);
      setText(rest, restOf(items, count, more));
    },
  };
}

function restOf(items, count, more) {
  if (more) return "More are shown when these are decided.";
  if (count > 0) return "";
  return items.length > 0 ? "Nothing else is waiting for you." : "Nothing is waiting for you.";
}
