/** Values and fields for people: labels, text, and inputs made from JSON Schema. Pure. */

export type Json = Record<string, unknown>;

/** The parts of JSON Schema that an input is made from. */
export interface Schema {
  type?: string;
  title?: string;
  description?: string;
  enum?: unknown[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  anyOf?: Schema[];
  required?: string[];
  properties?: Record<string, Schema>;
}

/** One editable value. `kind` is `json` for whatever has no simpler input. */
export interface Field {
  name: string;
  label: string;
  kind: "text" | "long" | "number" | "integer" | "boolean" | "choice" | "json";
  value: unknown;
  required: boolean;
  options?: unknown[];
  help?: string;
  min?: number;
  max?: number;
}

/** `order_id` → `Order id`. */
export function humanize(name: string): string {
  const words = name.replace(/([a-z\d])([A-Z])/g, "$1 $2").replace(/[_-]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase();
}

/** A value for reading: strings as they are, everything else as JSON. */
export function showValue(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "object" && value !== null ? JSON.stringify(value, null, 2) : String(value);
}

/** Values in one line, shortened to 90 characters. */
export function summary(values: Json): string {
  const text = Object.values(values).map((value) => showValue(value).replace(/\s+/g, " ")).join(" · ");
  return text.length > 90 ? `${text.slice(0, 89)}…` : text;
}

/** The object that `text` holds as JSON, or null. */
export function parseObject(text: string | undefined): Json | null {
  try {
    const value: unknown = JSON.parse(text || "{}");
    return value && typeof value === "object" && !Array.isArray(value) ? (value as Json) : null;
  } catch {
    return null;
  }
}

/** One field per editable name; without a schema the present value's type decides. */
export function makeFields(names: readonly string[], values: Json, schema?: Schema): Field[] {
  const required = schema?.required ?? Object.keys(values);
  return names.map((name) => makeField(name, schema?.properties?.[name], values[name], required.includes(name)));
}

function makeField(name: string, schema: Schema | undefined, value: unknown, required: boolean): Field {
  const known = schema?.anyOf?.find((variant) => variant.type !== "null") ?? schema ?? {};
  return {
    name,
    label: known.title ?? humanize(name),
    kind: kindOf(known, value),
    value: value ?? known.default,
    required,
    options: known.enum,
    help: known.description,
    min: known.minimum,
    max: known.maximum,
  };
}

function kindOf(schema: Schema, value: unknown): Field["kind"] {
  if (schema.enum) return "choice";
  const type = schema.type ?? (value === null || value === undefined ? "string" : typeof value);
  if (type === "number" || type === "integer" || type === "boolean") return type;
  if (type !== "string") return "json";
  return typeof value === "string" && (value.length > 60 || value.includes("\n")) ? "long" : "text";
}

/** What an input shows for a value. */
export function toText(field: Field): string {
  if (field.value === undefined || field.value === null) return "";
  return field.kind === "json" ? JSON.stringify(field.value, null, 2) : String(field.value);
}

/** What was typed, as a value. Throws `Error` with a sentence for the person; `undefined` means left empty. */
export function fromText(field: Field, text: string): unknown {
  if (field.kind === "boolean") return text === "true";
  if (text.trim() === "" && (field.kind !== "text" && field.kind !== "long" || field.required)) return empty(field);
  if (field.kind === "number" || field.kind === "integer") return toNumber(field, text);
  if (field.kind === "choice") return field.options?.find((option) => String(option) === text);
  return field.kind === "json" ? toJson(field, text) : text;
}

function empty(field: Field): undefined {
  if (field.required) throw new Error(`${field.label} is needed.`);
  return undefined;
}

function toNumber({ label, kind, min, max }: Field, text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value)) throw new Error(`${label} must be a number.`);
  if (kind === "integer" && !Number.isInteger(value)) throw new Error(`${label} must be a whole number.`);
  if (min !== undefined && value < min) throw new Error(`${label} must be at least ${min}.`);
  if (max !== undefined && value > max) throw new Error(`${label} must be at most ${max}.`);
  return value;
}

function toJson({ label }: Field, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${label} must be valid JSON.`);
  }
}
