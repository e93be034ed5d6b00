/** Lit's `html`, without the line breaks and indents of the sources: text nodes that nobody sees cost time, and stand in what is copied. */

import { html as tag } from "lit/html.js";

/** @type {WeakMap<TemplateStringsArray, TemplateStringsArray>} */
const packed = new WeakMap();

/**
 * @param {TemplateStringsArray} strings
 * @param {unknown[]} values
 */
export function html(strings, ...values) {
  let short = packed.get(strings);
  if (!short) {
    const texts = strings.map((text) => text.replace(/\n\s*/g, ""));
    short = /** @type {TemplateStringsArray} */ (/** @type {unknown} */ (Object.assign(texts, { raw: texts })));
    packed.set(strings, short);
  }
  return tag(short, ...values);
}
