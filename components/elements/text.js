/** Text and values for reading, as templates: nothing in them is hidden, and none of it is markup. */

import { html } from "lit";
import { hides, pieces } from "../core/reveal.js";
import { fill } from "../core/strings.js";
import { emptiness, isObject, labelsOf, showValue, withUnit } from "../core/values.js";

/**
 * @import { Json, Schema, Strings, Unit } from "../core/types.js"
 */

/**
 * `text` with what was hidden in it marked as such.
 * @param {string} text
 * @returns {unknown}
 */
export function shown(text) {
  if (!hides(text)) return text;
  return pieces(text).map((piece) => (piece.name ? html`<span class="hidden-character" title=${piece.name}>${piece.text}</span>` : piece.text));
}

/**
 * Label and value of each argument; where a value is a field, `fieldOf` has its input.
 * @param {Json} args
 * @param {{strings: Strings, unit?: Unit, schema?: Schema, rows?: Map<string, unknown>}} options `rows`: by an argument's
 * name what stands there instead, such as inputs; they come with their own labels.
 */
export function argumentTable(args, { strings, unit, schema, rows }) {
  const names = [...new Set([...Object.keys(args), ...(rows?.keys() ?? [])])];
  if (names.length === 0) return html`<p class="quiet" part="arguments">${fill(strings, "noArguments")}</p>`;
  const labels = labelsOf(names);
  return html`<dl class="arguments" part="arguments">
    ${names.map((name) => rows?.get(name) ?? valueRow(labels.get(name) ?? name, args[name], { strings, unit: unit?.(name, args[name]), schema: schema?.properties?.[name] }))}
  </dl>`;
}

/**
 * @param {string} label
 * @param {unknown} value
 * @param {{strings: Strings, unit?: string | null, schema?: Schema}} options
 */
function valueRow(label, value, options) {
  if (!isNested(value)) return html`<dt>${shown(label)}</dt><dd dir="auto">${valueOf(value, options)}</dd>`;
  return html`<dt class="nested">${shown(label)}</dt><dd class="nested" dir="auto">${valueOf(value, options)}</dd>`;
}

/**
 * @param {unknown} value
 * @returns {boolean}
 */
const isNested = (value) => isObject(value) || (Array.isArray(value) && value.some(isNested));

/**
 * Nothing is set apart from text that says so.
 * @param {unknown} value
 * @param {{strings: Strings, unit?: string | null, schema?: Schema}} options
 * @returns {unknown}
 */
function valueOf(value, { strings, unit, schema }) {
  const empty = emptiness(value, strings);
  if (empty) return html`<span class="quiet">${empty}</span>`;
  if (typeof value === "boolean") return fill(strings, value ? "yes" : "no");
  if (Array.isArray(value)) return value.map((item) => html`<div>${valueOf(item, { strings, schema: schema?.items })}</div>`);
  if (isObject(value)) return argumentTable(value, { strings, schema });
  return shown(withUnit(showValue(value, schema), unit));
}
