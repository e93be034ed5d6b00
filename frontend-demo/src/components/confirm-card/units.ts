/** What a number is in, where the tool's schema or the gate's message says so. Pure. */

import type { Schema } from "./fields";
import type { Json } from "./values";

/** The unit of a value, or "". */
export type Unit = (name: string, value: unknown) => string;

const SIGNS: Record<string, string> = { euros: "€", euro: "€", eur: "€", dollars: "$", usd: "$", pounds: "£", gbp: "£" };
const IN_UNIT = /\bin (euros?|eur|dollars|usd|pounds|gbp|[€$£¥%])(?![\p{L}\d])/iu;
const AFTER = /^\s?([€$£¥₹%]|(?:EUR|USD|GBP|CHF|JPY|INR|euros?|dollars|pounds)\b)/;
const BEFORE = /([€$£¥₹]|\b(?:EUR|USD|GBP|CHF|JPY|INR))\s?$/;

/**
 * What the schema says in `unit` or as "in euros"; else what stands next to the number in the gate's message
 * ("Refund 20 € for …"), which was made with the arguments as they were issued.
 */
export function unitsFor(issued: Json, { schema, message = "" }: { schema?: Schema; message?: string | null }): Unit {
  const numbers = Object.values(issued).filter((value) => typeof value === "number");
  return (name, value) => {
    if (typeof value !== "number") return "";
    const said = described(schema?.properties?.[name]);
    const asked = issued[name];
    if (said || typeof asked !== "number") return said;
    const isUnclear = numbers.filter((number) => number === asked).length > 1;
    return isUnclear ? "" : besides(String(asked), message ?? "");
  };
}

export const noUnit: Unit = () => "";

function described(schema: Schema | undefined): string {
  if (schema?.unit) return schema.unit;
  const found = IN_UNIT.exec(schema?.description ?? "")?.[1];
  return found ? (SIGNS[found.toLowerCase()] ?? found) : "";
}

function besides(number: string, message: string): string {
  const escaped = number.replace(/[.\\+*?^$()[\]{}|]/g, "\\$&");
  for (const { index, 0: found } of message.matchAll(new RegExp(`(?<![\\d.,])${escaped}(?:[.]0+|(?<=[.]\\d+)0+)?(?![\\d]|[.,]\\d)`, "g"))) {
    const unit = AFTER.exec(message.slice(index + found.length)) ?? BEFORE.exec(message.slice(0, index));
    if (unit) return unit[1] ?? "";
  }
  return "";
}
