/** Escape outside of the cards takes the focus to the first of them. */

/**
 * Escape, where nothing else takes it, goes to the first card that waits, from there to the next one, and after the last
 * back to where one types; `isFree()` says whether it may, `back()` focuses that. The inbox has an Escape of its own.
 */
export function setUpEscape({ isFree, back }) {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || !isFree()) return;
    if (document.querySelector("dialog[open], .sidebar.open, [popover]:popover-open, .main[inert]")) return;
    const cards = openCards();
    if (cards.length === 0) return;
    event.preventDefault();
    const next = cards[cards.findIndex((card) => card.contains(document.activeElement)) + 1];
    if (!next) return back();
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  });
}

/** The cards of the conversation that can be answered. */
export const openCards = () => [...document.querySelectorAll(".rows agui-confirm-card:not([mode=decided], [mode=sending])")];
