/** Values for people: labels and text. Pure. */

import { ENGLISH, fill } from "./strings.js";
import { MONEY } from "./units.js";

/**
 * @import { Json, Schema, Strings, Unit } from "./types.js"
 */

/**
 * @param {unknown} value
 * @returns {value is Json}
 */
export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * `order_id` → `Order id`.
 * @param {string} name
 */
export function humanize(name) {
  const words = name.replace(/([a-z\d])([A-Z])/g, "$1 $2").replace(/[_-]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase();
}

/**
 * Labels for the values of one object, by name. Names that would read alike, or like nothing, are their own.
 * @param {string[]} names
 * @returns {Map<string, string>}
 */
export function labelsOf(names) {
  const words = names.map(humanize);
  /** @param {string} word */
  const isTelling = (word) => word !== "" && words.filter((other) => other === word).length === 1;
  return new Map(names.map((name, at) => [name, isTelling(words[at] ?? "") ? (words[at] ?? "") : name.trim() === "" ? `“${name}”` : name]));
}

/**
 * What is said of a value that holds nothing; null for every other. Which kind of nothing it is, the tool may ask.
 * @param {unknown} value
 * @param {Strings} [strings]
 * @returns {string | null}
 */
export function emptiness(value, strings = ENGLISH) {
  if (value === null || value === undefined) return fill(strings, "none");
  if (value === "") return fill(strings, "emptyText");
  if (typeof value !== "object" || Object.keys(value).length > 0) return null;
  return fill(strings, Array.isArray(value) ? "emptyList" : "emptyObject");
}

/** What yes, no and nothing are called, here and in JSON. */
const NO_TEXT = /^(true|false|yes|no|null|none|empty( list| object)?)$/i;

/**
 * Whether text reads as something else. A whole number that a browser would round is text here too, as it was written (`json.js`).
 * @param {string} text
 */
function readsAsOther(text) {
  const sign = text.trim();
  if (/^-?\d+$/.test(sign) && !Number.isSafeInteger(Number(sign))) return false;
  return NO_TEXT.test(sign) || /^".*"$/s.test(sign) || !Number.isNaN(Number(sign));
}

/**
 * A value for reading: text as it is, or in quotes where it reads as something else that could stand there (a schema may
 * say that it is text and nothing else); everything else as JSON.
 * @param {unknown} value
 * @param {Schema} [schema]
 */
export function showValue(value, schema) {
  if (typeof value === "string") return schema?.type !== "string" && readsAsOther(value) ? JSON.stringify(value) : value;
  return typeof value === "object" && value !== null ? JSON.stringify(value, null, 2) : String(value);
}

/**
 * `20 €`, `64.90 €`: money has two digits behind the point, or none.
 * @param {string} text
 * @param {string | null} [unit]
 */
export function withUnit(text, unit) {
  if (!unit) return text;
  return `${MONEY.test(unit) && /^-?\d+[.]\d$/.test(text) ? `${text}0` : text} ${unit}`;
}

/**
 * Cut to a number of characters, none of them in half.
 * @param {string} text
 * @param {number} to
 */
export function shorten(text, to) {
  if (text.length <= to) return text;
  const signs = [...text];
  return signs.length > to ? `${signs.slice(0, to - 1).join("")}…` : text;
}

/**
 * What there is to tell in values, however deep, in one line; yes, no and nothing say little without their names.
 * @param {Json} values
 * @param {Unit} [unit]
 * @param {number} [to] characters
 */
export function summary(values, unit = () => null, to = 80) {
  const told = Object.entries(values).flatMap(([name, value]) => leaves(value).map((leaf) => withUnit(String(leaf), unit(name, leaf))));
  return shorten(told.map((text) => text.replace(/\s+/g, " ")).join(" · "), to);
}

/**
 * @param {unknown} value
 * @returns {unknown[]}
 */
function leaves(value) {
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(leaves);
  return typeof value === "number" || (typeof value === "string" && value) ? [value] : [];
}

/**
 * Values in the order in which the tool's schema names them; what that doesn't name follows as it came.
 * @param {Json} values
 * @param {Schema | {properties?: Json} | null} [schema]
 * @returns {Json}
 */
export function inOrder(values, schema) {
  const names = [...Object.keys(schema?.properties ?? {}).filter((name) => Object.hasOwn(values, name)), ...Object.keys(values)];
  return Object.fromEntries(names.map((name) => [name, values[name]]));
}
