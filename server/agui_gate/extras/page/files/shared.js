/** The shared state of the conversation: one line over the message field, which opens to all of it. */

import { reveal } from "./components/core/reveal.js";
import { humanize, isObject, shorten } from "./components/core/values.js";
import { icon, setText } from "./dom.js";
import { createValue, sizeOf } from "./values.js";

const TOLD = 4; // members that the line tells

/**
 * `details` is its place in the page. `draw(state)` shows a conversation's state, where there is one; `onResize()` after
 * somebody opened or shut it.
 */
export function createShared(details, onResize) {
  const [preview, body] = [details.querySelector(".shared-preview"), details.querySelector(".shared-body")];
  const value = createValue();
  let last = null;
  body.append(value.node);
  preview.after(icon("chevron"));
  details.addEventListener("toggle", () => {
    if (details.open) value.update(last);
    onResize();
  });
  return {
    draw({ shared }) {
      if (shared === last) return;
      last = shared;
      details.hidden = isEmpty(shared);
      if (details.hidden) return;
      setText(preview, reveal(gist(shared)));
      if (details.open) value.update(shared);
    },
  };
}

const isEmpty = (value) => value === null || value === undefined || value === "" || (typeof value === "object" && Object.keys(value).length === 0);

/** A state in a line: its first members, in short. Pure. */
export function gist(value) {
  if (!isObject(value)) return inShort(value);
  const members = Object.entries(value);
  const told = members.slice(0, TOLD).map(([name, inner]) => `${humanize(shorten(name, 30))}: ${inShort(inner)}`);
  return [...told, ...(members.length > TOLD ? [`${members.length - TOLD} more`] : [])].join(" · ");
}

function inShort(value) {
  if (Array.isArray(value)) return value.length === 1 ? "1 entry" : `${value.length} entries`;
  if (isObject(value)) return Object.keys(value).length === 0 ? "–" : shorten(Object.keys(value).slice(0, TOLD).map(humanize).join(", "), 40);
  if (value === null || value === "") return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  const text = String(value).replace(/\s+/g, " ");
  return text.length > 4_000 ? sizeOf(text) : shorten(text, 40);
}
