/** What a number is in, where the tool's schema or the gate's message says so. Pure. */

/** @import { Json, Schema, Unit } from "./types.js" */

/** @type {Record<string, string>} */
const SIGNS = { euros: "€", euro: "€", eur: "€", dollars: "$", usd: "$", pounds: "£", gbp: "£" };
const CODES = "EUR|USD|GBP|CHF|JPY|INR";
const NAMES = `${CODES}|euros?|dollars|pounds`;
const IN_UNIT = new RegExp(`\\bin (${NAMES}|[€$£¥₹%])(?![\\p{L}\\d])`, "iu");
const AFTER = new RegExp(`^\\s?([€$£¥₹%]|(?:${NAMES})\\b)`);
const BEFORE = new RegExp(`([€$£¥₹]|\\b(?:${CODES}))\\s?$`);
/** Money, which is written with two digits behind the point, or none. */
export const MONEY = new RegExp(`^([€$£¥₹]|${NAMES})$`);

/**
 * What the schema says in `unit` or as "in euros"; else what stands next to the number in the gate's message
 * ("Refund 20 € for …"), which was made with the arguments `issued`: those before an edit, where `about` has them.
 * @param {Json} args
 * @param {{issued?: Json, schema?: Schema | null, message?: string | null}} [about]
 * @returns {Unit}
 */
export function unitsFor(args, { issued = args, schema, message } = {}) {
  const numbers = Object.values(issued).filter((value) => typeof value === "number");
  return (name, value) => {
    if (typeof value !== "number") return null;
    const said = described(schema?.properties?.[name]);
    const asked = issued[name];
    if (said || typeof asked !== "number" || !message) return said;
    const isUnclear = numbers.filter((number) => number === asked).length > 1;
    return isUnclear ? null : besides(String(asked), message);
  };
}

/**
 * @param {Schema} [schema]
 * @returns {string | null}
 */
function described(schema) {
  if (typeof schema?.unit === "string") return schema.unit;
  const found = IN_UNIT.exec(schema?.description ?? "")?.[1];
  return found ? (SIGNS[found.toLowerCase()] ?? found) : null;
}

/**
 * @param {string} number
 * @param {string} message
 * @returns {string | null}
 */
function besides(number, message) {
  const escaped = number.replace(/[.\\+*?^$()[\]{}|]/g, "\\$&");
  for (const { index, 0: found } of message.matchAll(new RegExp(`(?<![\\d.,])${escaped}(?:[.]0+|(?<=[.]\\d+)0+)?(?![\\d]|[.,]\\d)`, "g"))) {
    const unit = AFTER.exec(message.slice(index + found.length)) ?? BEFORE.exec(message.slice(0, index));
    if (unit) return unit[1] ?? null;
  }
  return null;
}
