/** `on`: look again; `away`: nothing could be seen, look again later; `over`: there is nothing more to look for. */
export type Sight = "on" | "away" | "over";

const RARELY = 15_000; // ms between looks at most, while nothing can be seen

/**
 * Looks again and again, `every` ms, while the page is visible, and at once when the person comes back to it. The first
 * look comes after `every` ms. Returns what ends it.
 */
export function lookOut(every: number, look: () => Promise<Sight>): () => void {
  let isBusy = false;
  let isOver = false;
  let timer = 0;
  let wait = every;
  const now = async () => {
    if (isBusy || isOver || document.visibilityState !== "visible") return; // coming back is what wakes it
    isBusy = true;
    clearTimeout(timer);
    const sight = await look();
    isBusy = false;
    if (sight === "over") return stop();
    wait = sight === "away" ? Math.min(wait * 2, RARELY) : every;
    if (!isOver) timer = window.setTimeout(back, wait);
  };
  const back = () => void now();
  const stop = () => {
    isOver = true;
    clearTimeout(timer);
    removeEventListener("focus", back);
    document.removeEventListener("visibilitychange", back);
  };
  timer = window.setTimeout(back, every);
  addEventListener("focus", back);
  document.addEventListener("visibilitychange", back);
  return stop;
}
