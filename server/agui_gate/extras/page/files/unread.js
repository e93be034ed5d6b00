/**
 * Chats that are at work while the person looks elsewhere, and those in which there is something new since. The browser
 * remembers the new ones, so that all its tabs say the same.
 */

const MOST = 100; // remembered

/** `read()` and `write(ids)` are what the browser remembers. */
export function createUnreadChats({ read, write }) {
  let working = new Set();

  function remember(change) {
    const ids = new Set(read());
    const before = ids.size;
    change(ids);
    if (ids.size !== before) write([...ids].slice(-MOST));
  }

  return {
    /** The list as the server has it; `open` is the chat that the person looks at. Returns those that have news by now. */
    see(threads, open) {
      const now = new Set(threads.filter(isAtWork).map(({ id }) => id));
      const over = threads.filter(({ id }) => working.has(id) && !now.has(id) && id !== open);
      remember((ids) => {
        for (const { id } of over) ids.add(id);
        ids.delete(open);
      });
      working = now;
      return over;
    },
    /** A run began there, whether or not the list has it yet. */
    began: (id) => working.add(id),
    read: (id) => remember((ids) => ids.delete(id)),
    isBusy: (open) => [...working].some((id) => id !== open),
    /** `working`, `new` or null for each of `threads`. */
    marks(threads, open) {
      const fresh = new Set(read());
      return Object.fromEntries(threads.map(({ id }) => [id, id === open ? null : working.has(id) ? "working" : fresh.has(id) ? "new" : null]));
    },
  };
}

const isAtWork = ({ run }) => run?.status === "running";
