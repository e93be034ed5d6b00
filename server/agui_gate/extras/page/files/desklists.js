/** The lists of a page that the server has, a page at a time: read, shown, and why one of them could not be read. */

import { say, words } from "./approvalwords.js";
import { serverSaid, stringsFor } from "./components/core/strings.js";
import { html, nothing, repeat } from "./components/vendor/lit.js";
import { lang } from "./desk.js";
import { askToken } from "./frame.js";

/**
 * `kinds`: by their names `{read, empty, row}`: `read(cursor)` resolves to `{rows, next}`, `empty` is the word for none, and
 * `row(item)` draws one with an `id`. `draw()` is called when something was read.
 */
export function createLists(kinds, draw) {
  const known = {}; // `{rows, next, code, why}`, by their names

  const read = (name, cursor = null) => kinds[name].read(cursor).then((page) => ({ ...page, code: null, why: null }), failed);

  async function load(name) {
    known[name] = await read(name);
    draw();
    return known[name].code;
  }

  async function more(name) {
    const { rows, next } = known[name];
    const page = await read(name, next);
    known[name] = page.code ? page : { ...page, rows: [...rows, ...page.rows] };
    draw();
  }

  return {
    /** Read a list from its beginning; resolves to the code of what is wrong, or null. */
    load,
    isKnown: (name) => name in known,
    count: (name) => known[name]?.rows.length ?? 0,
    /** It is not known any more. */
    forget: (name) => delete known[name],
    /** What is known of a list. */
    view(name) {
      if (!known[name]) return html`<p class="quiet">${words.loading}</p>`;
      const { rows, next, code, why } = known[name];
      if (code) return html`<p role="alert">${say("failed", { why })} <button class="button plain small" type="button" @click=${() => load(name)}>${words.again}</button></p>`;
      if (rows.length === 0 && !next) return html`<p class="quiet">${words[kinds[name].empty]}</p>`;
      return html`<ul class="desk-list">${repeat(rows, ({ id }) => id, kinds[name].row)}</ul>${next ? html`<button class="button plain" type="button" @click=${() => more(name)}>${words.more}</button>` : nothing}`;
    },
  };
}

function failed({ code, message }) {
  if (code === "unauthorized") askToken();
  return { rows: [], next: null, code, why: serverSaid(message, code, stringsFor(lang)) };
}
