/** Follow the end while the reader is there; leave them alone once they scroll up. */

const NEAR = 64; // px from the end that still count as "at the end"

export function createScroller(view, button) {
  let following = true;
  let resting = true;
  let lastTop = 0;
  const distance = () => view.scrollHeight - view.scrollTop - view.clientHeight;
  const toEnd = () => {
    view.scrollTop = view.scrollHeight;
  };
  view.addEventListener("scroll", () => {
    // Only a move upwards lets go: new content also changes the distance, but is not the reader's doing.
    if (distance() < NEAR) following = true;
    else if (view.scrollTop < lastTop) following = false;
    lastTop = view.scrollTop;
    button.hidden = following;
  }, { passive: true });
  // A telephone that is turned, a keyboard, a longer message that is typed: the end stays in sight.
  new ResizeObserver(() => {
    if (following && !resting) toEnd();
  }).observe(view);
  button.addEventListener("click", () => {
    following = true;
    button.hidden = true;
    toEnd();
  });
  return {
    /** There is nothing to follow yet: what is there is read from its beginning. */
    rest() {
      following = resting = true;
      button.hidden = true;
      view.scrollTop = 0;
      lastTop = 0; // this move is not the reader's, either
    },
    /** Call after drawing. */
    follow() {
      resting = false;
      if (following) toEnd();
      else button.hidden = distance() < NEAR;
    },
    /** The reader did something that belongs at the end. */
    jump() {
      following = true;
      resting = false;
      button.hidden = true;
      toEnd();
    },
  };
}
