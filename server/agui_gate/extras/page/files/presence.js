/** Whether somebody is at the page: told to what looks for them (poll.js). */

export const isVisible = () => !document.hidden;

export function setUpPresence(watches) {
  /** Somebody is back, and what happened meanwhile is shown at once; or nobody sees the page any more. */
  const turn = () => {
    if (isVisible()) for (const watch of watches) watch.back();
  };
  const stir = () => watches.forEach((watch) => watch.stir());
  addEventListener("focus", turn);
  document.addEventListener("visibilitychange", turn);
  for (const sign of ["pointermove", "keydown"]) addEventListener(sign, stir, { passive: true });
}
