/** Text and values for reading, as templates: nothing in them is hidden, and none of it is markup. */

import { nothing, render } from "lit/html.js";
import { hides, pieces } from "../core/reveal.js";
import { ENGLISH, fill } from "../core/strings.js";
import { emptiness, isObject, labelsOf, showValue, withUnit } from "../core/values.js";
import { html } from "./html.js";
import { joined, listed } from "./joined.js";

/**
 * @import { Json, Schema, Strings, Unit } from "../core/types.js"
 */

const AMOUNT = /([\d.,]+ (?:[€$£¥₹%]|[A-Z]{3}\b))/;

/**
 * `text` with what was hidden in it marked as such, and a number on the same line as its unit.
 * @param {string} text
 * @returns {unknown}
 */
export function shown(text) {
  if (!hides(text)) return unbroken(text);
  return pieces(text).map((piece) => (piece.isHidden ? html`<span class="hidden-character">${piece.text}</span>` : unbroken(piece.text)));
}

/**
 * The end of an element's start tag, and `text` in it, for a template that is joined: text of one piece needs no node
 * that keeps its place.
 * @param {unknown} text
 */
export function inside(text) {
  const content = typeof text === "string" ? shown(text) : text;
  return typeof content === "string" ? html` .textContent=${content}>` : html`>${content}`;
}

/** @param {string} text */
const unbroken = (text) => (AMOUNT.test(text) ? text.split(AMOUNT).map((part, at) => (at % 2 ? html`<span class="amount">${part}</span>` : part)) : text);

/**
 * Label and value of each argument.
 * @param {Json} args
 * @param {{strings: Strings, unit?: Unit, schema?: Schema | null, rows?: Map<string, unknown>, changed?: Map<string, unknown>}} options
 * `rows`: by an argument's name what stands there instead, such as inputs; they come with their own labels. `changed`:
 * what a person changed, by name as it was issued.
 */
export function argumentTable(args, { strings, unit, schema, rows, changed }) {
  const names = [...new Set([...Object.keys(args), ...(rows?.keys() ?? [])])];
  if (names.length === 0) return html`<p class="quiet" part="arguments">${fill(strings, "noArguments")}</p>`;
  const labels = labelsOf(names);
  const shownRows = names.map((name) => {
    const own = schema?.properties?.[name];
    const was = changed?.has(name) ? html`<span class="was">${fill(strings, "was")} ${valueOf(changed.get(name), { strings, unit: unit?.(name, changed.get(name)), schema: own })}</span>` : nothing;
    return rows?.get(name) ?? valueRow(labels.get(name) ?? name, args[name], { strings, unit: unit?.(name, args[name]), schema: own, was });
  });
  return html`<dl class="arguments" part="arguments">${listed(shownRows)}</dl>`;
}

/**
 * Draw that table in an element of the page, which styles it.
 * @template {HTMLElement} Node
 * @param {Node} node
 * @param {Json} args
 * @param {Partial<Parameters<typeof argumentTable>[1]>} [options]
 * @returns {Node}
 */
export function drawArguments(node, args, options) {
  render(joined(argumentTable(args, { strings: ENGLISH, ...options })), node);
  return node;
}

/**
 * @param {string} label
 * @param {unknown} value
 * @param {{strings: Strings, unit?: string | null, schema?: Schema, was: unknown}} options
 */
function valueRow(label, value, { was, ...options }) {
  if (!isNested(value)) return html`<dt${inside(label)}</dt><dd dir="auto"${was === nothing ? inside(valueOf(value, options)) : html`>${valueOf(value, options)}${was}`}</dd>`;
  return html`<dt class="nested"${inside(label)}</dt><dd class="nested" dir="auto">${valueOf(value, options)}${was}</dd>`;
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
  if (Array.isArray(value)) return value.map((item) => joined(html`<div>${valueOf(item, { strings, schema: schema?.items })}</div>`));
  if (isObject(value)) return argumentTable(value, { strings, schema });
  return shown(withUnit(showValue(value, schema), unit));
}
