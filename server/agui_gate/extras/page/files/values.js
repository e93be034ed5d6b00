/** Any JSON for reading, however large: a table where it is small enough to be one, else text, its beginning first. */

import { drawArguments } from "./components/elements/text.js";
import { isObject } from "./components/core/values.js";
import { h, shown } from "./dom.js";

const TABLE = 6_000; // characters of JSON that are a table
const DEEP = 6; // levels
const BEGINNING = 4_000; // characters of what is longer

/** A component: `update(value)` shows it. What a person unfolded stays unfolded. */
export function createValue() {
  const node = h("div", { class: "value" });
  let last = null; // as JSON
  let value = null;
  let isWhole = false;

  function draw() {
    if (last.length <= TABLE && depthOf(value) <= DEEP) return node.replaceChildren(table(value));
    const text = textOf(value);
    if (isWhole || text.length <= BEGINNING) return node.replaceChildren(pre(text));
    const unfold = () => {
      isWhole = true;
      draw();
      node.firstElementChild.focus();
    };
    return node.replaceChildren(pre(`${text.slice(0, BEGINNING)}…`), h("button", { class: "button plain small", type: "button", onclick: unfold }, `Show all ${sizeOf(text)}`));
  }

  return {
    node,
    update(next) {
      const json = JSON.stringify(next) ?? "null";
      if (json === last) return;
      [last, value] = [json, next];
      draw();
    },
  };
}

const pre = (text) => h("pre", { tabindex: "0", dir: "auto" }, shown(text));

const table = (value) => drawArguments(h("div"), isObject(value) ? value : { content: value });

const textOf = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 1));

export const sizeOf = (text) => (text.length < 10_000 ? `${text.length.toLocaleString("en")} characters` : `${Math.round(text.length / 1000)} KB`);

/** How deep `value` goes, counted no further than needed. */
function depthOf(value, most = DEEP + 1) {
  if (typeof value !== "object" || value === null || most === 0) return 0;
  return 1 + Math.max(0, ...Object.values(value).map((inner) => depthOf(inner, most - 1)));
}
