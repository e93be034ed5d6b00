/**
 * One-letter keys of a card's buttons: `A` approves, and so on, as the buttons say. They count while the focus is on the
 * card and not in a field, so that nobody approves by typing; Escape takes the focus to the first card.
 */

import { h } from "./dom.js";

const FIELD = "input, select, textarea, [contenteditable]";

/** `button` with its key shown on it. */
export function keyed(key, button) {
  button.dataset.key = key.toLowerCase();
  button.setAttribute("aria-keyshortcuts", key);
  button.append(h("kbd", { "aria-hidden": "true" }, key));
  return button;
}

/** Make the keys of the buttons that `card` shows work; Escape leaves its forms by `leave()`, which says whether there was one. */
export function withKeys(card, leave = () => false) {
  card.addEventListener("keydown", (event) => {
    if (event.defaultPrevented) return; // a card in an item of the inbox
    if (event.key === "Escape" && !event.isComposing && leave()) event.preventDefault();
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
    if (event.target.closest(FIELD)) return;
    const button = card.querySelector(`button[data-key="${CSS.escape(event.key.toLowerCase())}"]:not(:disabled)`);
    if (!button?.offsetParent) return; // none, or not shown
    event.preventDefault();
    button.click();
  });
}

/**
 * Escape, where nothing else takes it, goes to the first card that waits, from there to the next one, and after the last
 * back to where one types; `isFree()` says whether it may, `back()` focuses that. The inbox has an Escape of its own.
 */
export function setUpEscape({ isFree, back }) {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || !isFree()) return;
    if (document.querySelector("dialog[open], .sidebar.open, [popover]:popover-open, .main[inert]")) return;
    const cards = [...document.querySelectorAll(".rows .card:not([data-mode=decided])")];
    if (cards.length === 0) return;
    event.preventDefault();
    const next = cards[cards.findIndex((card) => card.contains(document.activeElement)) + 1];
    if (!next) return back();
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  });
}
