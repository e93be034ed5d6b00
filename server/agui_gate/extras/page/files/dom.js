/** Small tools for making and updating DOM. Text is always set as text; the one HTML sink is in messages.js. */

import { pieces } from "./components/core/reveal.js";

/** An element: `h("button", {class: "x", onclick: f, "aria-label": "…"}, "text", child)`. Null attributes are left out. */
export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(node, name, value);
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
  else node.setAttribute(name, value === true ? "" : value);
}

/** `text` as nodes, what was hidden in it marked as such. */
export function shown(text) {
  return pieces(String(text)).map((piece) => (piece.isHidden ? h("span", { class: "hidden-character" }, piece.text) : piece.text));
}

/** Set text only where it differs: an untouched node keeps the reader's selection. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * Make the children of `container` those of `items`, in order, by `item.key`. `create(item)` returns
 * `{node, update(item)}`; what is there already is updated in place, so focus and open details survive.
 */
export function createList(container, create) {
  let parts = new Map();
  return (items) => {
    const next = new Map();
    let place = container.firstChild;
    for (const item of items) {
      const id = `${item.kind}:${item.key}`;
      const part = parts.get(id) ?? create(item);
      part.update(item);
      if (part.node === place) place = place.nextSibling;
      else container.insertBefore(part.node, place);
      next.set(id, part);
    }
    for (const [id, part] of parts) if (!next.has(id)) part.node.remove();
    parts = next;
  };
}

/** `draw`, at most once between two frames, however often it is asked for. A hidden page has no frames. */
export function perFrame(draw) {
  let scheduled = false;
  const drawNow = () => {
    scheduled = false;
    draw();
  };
  return () => {
    if (scheduled) return;
    scheduled = true;
    if (document.hidden) setTimeout(drawNow);
    else requestAnimationFrame(drawNow);
  };
}

/** True when two flat objects have the same values; nested values are compared by identity. */
export function same(a, b) {
  const keys = Object.keys(a);
  return b !== null && keys.length === Object.keys(b).length && keys.every((key) => Object.is(a[key], b[key]));
}

const PATHS = {
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M8 8h8v8H8z",
  check: "M5 12.5l4.5 4.5L19 7.5",
  cross: "M7 7l10 10M17 7L7 17",
  plus: "M12 5v14M5 12h14",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  menu: "M4 7h16M4 12h16M4 17h16",
  sun: "M12 8a4 4 0 100 8 4 4 0 000-8zM12 2v2M12 20v2M2 12h2M20 12h2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4",
  moon: "M20 14.5A8.5 8.5 0 019.5 4 8.5 8.5 0 1020 14.5z",
  chevron: "M9 6l6 6-6 6",
  down: "M12 5v14M6 13l6 6 6-6",
  arrow: "M5 12h14M13 6l6 6-6 6",
  gate: "M5 20V9a7 7 0 0114 0v11M5 20h14M12 20v-9M9 20v-9M15 20v-9",
  edit: "M4 20l4.5-1L19 8.5 15.5 5 5 15.5zM13 7.5l3.5 3.5",
  retry: "M20 12a8 8 0 11-2.3-5.6M20 4v4h-4",
  copy: "M9 9h10v11H9zM15 9V4H5v11h4",
  clock: "M12 4a8 8 0 100 16 8 8 0 000-16zM12 8v4l3 2",
  warning: "M12 4L3 19h18zM12 10v4M12 16.5v.5",
  skip: "M6 6l7 6-7 6zM17 6v12",
  spark: "M12 3l1.8 6.2L20 11l-6.2 1.8L12 19l-1.8-6.2L4 11l6.2-1.8z",
  tool: "M14.5 6.5a4 4 0 015-1l-3 3 2 2 3-3a4 4 0 01-5.5 5L9 19.5 5.5 16 13 9a4 4 0 011.5-2.5z",
};

/** A line icon; decorative, so hidden from assistive technology. */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("icon", `icon-${name}`);
  const path = document.createElementNS(svg.namespaceURI, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

/** What has the focus, inside of an element too: that may have a `focus()` of its own, which goes elsewhere. */
export function focused() {
  let node = document.activeElement;
  while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  return node;
}
