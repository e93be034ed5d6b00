/** Reading JSON without losing a digit: a number that JavaScript would round becomes the text it was written as. */

import { isObject } from "./values.js";

/** @import { Json } from "./types.js" */

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;

/**
 * The value that `text` holds; throws `SyntaxError`.
 * @param {string} text
 * @returns {unknown}
 */
export function parseJson(text) {
  return JSON.parse(text.replace(TOKENS, (token) => (token.startsWith('"') || survives(token) ? token : `"${token}"`)));
}

/** @param {string} token */
function survives(token) {
  const value = Number(token);
  return Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
}

/**
 * The object that `text` holds as JSON, or null.
 * @param {string | null} [text]
 * @returns {Json | null}
 */
export function parseObject(text) {
  try {
    const value = parseJson(text || "{}");
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
