/** Messages of the person that the server may not have, as their run never began or broke off. */

export function createUnsaid() {
  let messages = [];
  let notice = null; // what was said of that

  return {
    keep(said, why) {
      [messages, notice] = [said, why];
    },
    forget() {
      messages = [];
    },
    /** `state`, and behind it what isn't in it. */
    behind(state) {
      const known = new Set(state.messages.map(({ id }) => id));
      const missing = messages.filter(({ id }) => !known.has(id));
      return missing.length > 0 ? { ...state, notice, messages: [...state.messages, ...missing] } : state;
    },
  };
}
