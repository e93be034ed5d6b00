/** A small menu at a button, with words: a popover, so that Escape and a click elsewhere close it. */

import { h, icon } from "./dom.js";

/** A `⋯` button, and its menu of `[{text, danger?, act}]`. `setLabel(text)` names both. */
export function createMenu(items) {
  const opener = h("button", { class: "thread-more", type: "button", "aria-haspopup": "menu", "aria-expanded": "false" }, icon("more"));
  opener.addEventListener("click", () => show(opener, items));
  return {
    node: opener,
    setLabel(text) {
      opener.title = text;
      opener.setAttribute("aria-label", text);
    },
  };
}

function show(opener, items) {
  const entries = items.map(({ text, danger, act }) =>
    h("button", { class: danger ? "menu-item danger" : "menu-item", type: "button", role: "menuitem", tabindex: "-1", onclick: () => close(act) }, text),
  );
  const menu = h("div", { class: "menu-list", role: "menu", popover: "auto", "aria-label": opener.getAttribute("aria-label") }, entries);
  const close = (act) => {
    menu.hidePopover();
    act();
  };
  menu.addEventListener("toggle", ({ newState }) => {
    if (newState === "open") return;
    const inside = menu.contains(document.activeElement);
    menu.remove();
    opener.setAttribute("aria-expanded", "false");
    if (inside || document.activeElement === document.body) opener.focus();
  });
  menu.addEventListener("keydown", (event) => move(event, entries));
  opener.closest("nav").append(menu);
  menu.showPopover();
  place(menu, opener);
  opener.setAttribute("aria-expanded", "true");
  entries[0].focus();
}

function move(event, entries) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Tab") event.currentTarget.hidePopover();
  if (!step) return;
  event.preventDefault();
  const at = entries.indexOf(document.activeElement);
  entries.at((at + step) % entries.length).focus();
}

function place(menu, opener) {
  const { right, bottom, top } = opener.getBoundingClientRect();
  const below = bottom + menu.offsetHeight + 4 < innerHeight;
  menu.style.top = `${below ? bottom + 2 : top - menu.offsetHeight - 2}px`;
  menu.style.left = `${Math.max(8, Math.min(right - menu.offsetWidth, innerWidth - menu.offsetWidth - 8))}px`;
}
