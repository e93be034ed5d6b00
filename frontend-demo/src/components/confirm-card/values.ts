/** Values for people: labels and text. Pure. */

export type Json = Record<string, unknown>;

/** `order_id` → `Order id`. */
export function humanize(name: string): string {
  const words = name.replace(/([a-z\d])([A-Z])/g, "$1 $2").replace(/[_-]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase();
}

export const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);

/** A value for reading: strings as they are, everything else as JSON. */
export function showValue(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "object" && value !== null ? JSON.stringify(value, null, 2) : String(value);
}

/** Cut to a number of characters. */
export const shorten = (text: string, to: number): string => (text.length > to ? `${text.slice(0, to - 1)}…` : text);

/** The question itself: for clients that show no more, it begins with why the last answer wasn't taken. */
export const withoutRefusal = (message: string | undefined, refused = ""): string | undefined =>
  message?.startsWith(refused) ? message.slice(refused.length).trim() : message;

/** What there is to tell in values, however deep, in one line; yes, no and nothing say little without their names. */
export function summary(values: Json, to = 90): string {
  return shorten(leaves(values).map((value) => String(value).replace(/\s+/g, " ")).join(" · "), to);
}

function leaves(value: unknown): unknown[] {
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(leaves);
  return typeof value === "number" || (typeof value === "string" && value) ? [value] : [];
}

/** The object that `text` holds as JSON, or null. */
export function parseObject(text: string | undefined): Json | null {
  try {
    const value: unknown = JSON.parse(text || "{}");
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
