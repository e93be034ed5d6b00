/** Values for people: labels and text. Pure. */

import { reveal } from "./invisible";
import { noUnit, type Unit } from "./units";

export type Json = Record<string, unknown>;

/** `order_id` → `Order id`. */
export function humanize(name: string): string {
  const words = name.replace(/([a-z\d])([A-Z])/g, "$1 $2").replace(/[_-]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase();
}

/** Labels for the values of one object, by name. Names that would read alike, or like nothing, are their own. */
export function labelsOf(names: readonly string[]): Map<string, string> {
  const words = names.map(humanize);
  const isTelling = (word: string) => word !== "" && words.filter((other) => other === word).length === 1;
  return new Map(names.map((name, at) => [name, isTelling(words[at] ?? "") ? (words[at] ?? "") : name.trim() === "" ? `“${name}”` : name]));
}

export const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);

/** What is said of a value that holds nothing; null for every other. Which kind of nothing it is, the tool may ask. */
export function emptiness(value: unknown): string | null {
  if (value === null || value === undefined) return "None";
  if (value === "") return "Empty";
  if (typeof value !== "object" || Object.keys(value).length > 0) return null;
  return Array.isArray(value) ? "Empty list" : "Empty object";
}

/** What yes, no and nothing are called, here and in JSON. */
const NO_TEXT = /^(true|false|yes|no|null|none|empty( list| object)?)$/i;

/** Whether text reads as something else. A whole number that a browser would round is text here too, as it was written (`parseJson`). */
function readsAsOther(text: string): boolean {
  const sign = text.trim();
  if (/^-?\d+$/.test(sign) && !Number.isSafeInteger(Number(sign))) return false;
  return NO_TEXT.test(sign) || /^".*"$/s.test(sign) || !Number.isNaN(Number(sign));
}

/** A value for reading: text as it is, or in quotes where it reads as something else that could stand there (a schema may say that it is text); everything else as JSON. */
export function showValue(value: unknown, schema?: { type?: unknown }): string {
  if (typeof value === "string") return schema?.type !== "string" && readsAsOther(value) ? JSON.stringify(value) : value;
  return typeof value === "object" && value !== null ? JSON.stringify(value, null, 2) : String(value);
}

/** Cut to a number of characters. */
export function shorten(text: string, to: number): string {
  const signs = [...text];
  return signs.length > to ? `${signs.slice(0, to - 1).join("")}…` : text;
}

interface Besides {
  refused?: string;
  agent?: string;
  already_ran?: unknown[];
}

/** The question itself: for clients that show no more, it begins with why the last answer wasn't taken and with who asks, and ends with what already ran. */
export function theQuestion(message: string | undefined, { refused = "", agent, already_ran: ran }: Besides): string | undefined {
  const said = message?.startsWith(refused) ? message.slice(refused.length).trim() : message;
  const asked = agent && said?.startsWith(`${agent} asks: `) ? said.slice(`${agent} asks: `.length) : said;
  return ran?.length ? asked?.replace(/ ?Already ran in this thread: .*$/s, "") : asked;
}

/** What there is to tell in values, however deep, in one line; yes, no and nothing say little without their names. */
export function summary(values: Json, { to = 90, unit = noUnit }: { to?: number; unit?: Unit } = {}): string {
  const told = Object.entries(values).flatMap(([name, value]) => leaves(value).map((leaf) => withUnit(reveal(String(leaf)), unit(name, leaf))));
  return shorten(told.map((text) => text.replace(/\s+/g, " ")).join(" · "), to);
}

const CURRENCIES = /^([€$£¥₹]|EUR|USD|GBP|CHF|INR|euros?|dollars|pounds)$/;

/** `20 €`, `64.90 €`: money has two digits behind the point, or none. */
export function withUnit(text: string, unit: string): string {
  if (!unit) return text;
  return `${CURRENCIES.test(unit) && /^-?\d+[.]\d$/.test(text) ? `${text}0` : text} ${unit}`;
}

function leaves(value: unknown): unknown[] {
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(leaves);
  return typeof value === "number" || (typeof value === "string" && value) ? [value] : [];
}

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;

/** The value that `text` holds as JSON, without losing a digit: a whole number that JavaScript would round becomes the text that it was written as. Throws `SyntaxError`. */
export function parseJson(text: string): unknown {
  const isSafe = (token: string) => !/^-?\d+$/.test(token) || Number.isSafeInteger(Number(token));
  return JSON.parse(text.replace(TOKENS, (token) => (token.startsWith('"') || isSafe(token) ? token : `"${token}"`)));
}

/** The object that `text` holds as JSON, or null. */
export function parseObject(text: string | undefined): Json | null {
  try {
    const value = parseJson(text || "{}");
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
