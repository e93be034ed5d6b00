/** Reading JSON without losing a digit: a number that JavaScript would round becomes the text it was written as. */

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;

/** The value that `text` holds; throws `SyntaxError`. */
export function parseJson(text) {
  return JSON.parse(text.replace(TOKENS, (token) => (token.startsWith('"') || survives(token) ? token : `"${token}"`)));
}

function survives(token) {
  const value = Number(token);
  return Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
}

/** The object that `text` holds as JSON, or null. */
export function parseObject(text) {
  try {
    const value = parseJson(text || "{}");
    return value && typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
