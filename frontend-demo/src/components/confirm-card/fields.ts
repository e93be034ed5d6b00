/** Inputs made from JSON Schema: which there are, what they show, what was typed. Pure. */

import { humanize, isObject, type Json } from "./values";

/** The parts of JSON Schema that an input is made from. */
export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  unit?: string;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  $ref?: string;
  $defs?: Record<string, Schema>;
  required?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
}

/** One editable value. `lines` are strings, one a line; `json` is whatever has no simpler input. */
export interface Field {
  /** Where it is in the arguments: `["address", "street"]`. */
  path: string[];
  /** The path in one word. */
  name: string;
  label: string;
  kind: "text" | "long" | "lines" | "number" | "integer" | "boolean" | "choice" | "json";
  value: unknown;
  required: boolean;
  /** Left empty, it is null. */
  nullable: boolean;
  options?: unknown[];
  help?: string;
  min?: number;
  above?: number;
  max?: number;
}

/** The schema of what may be changed, by that of an interrupt's answer. An open question wants that answer itself, in the argument `answer`. */
export function editedSchema(response: Schema = {}, editable: readonly string[]): Schema | undefined {
  const { approved, editedArgs } = response.properties ?? {};
  return editedArgs ?? (!approved && editable.includes("answer") ? { properties: { answer: response } } : undefined);
}

type Definitions = Record<string, Schema>;

/** Fields for the editable names, objects taken apart; without a schema the present values' types decide. `definitions`: what its references name. */
export function makeFields(names: readonly string[], values: Json, schema: Schema = {}, definitions: Definitions = schema.$defs ?? {}): Field[] {
  return names.flatMap((name) => fieldsAt([name], schema, values, definitions, ""));
}

function fieldsAt(path: string[], parent: Schema, values: Json, definitions: Definitions, prefix: string): Field[] {
  const name = path.at(-1) ?? "";
  const value = values[name];
  const { known, nullable } = resolve(parent.properties?.[name], definitions);
  const own = known.title ?? humanize(name);
  const label = prefix ? `${prefix} ${own.charAt(0).toLowerCase()}${own.slice(1)}` : own;
  if (isObject(value) && Object.keys(value).every((key) => known.properties?.[key])) {
    return Object.keys(known.properties ?? {}).flatMap((key) => fieldsAt([...path, key], known, value, definitions, label));
  }
  return [
    {
      path,
      name: path.join("."),
      label,
      kind: kindOf(known, value),
      value: value === undefined ? known.default : value,
      required: parent.required?.includes(name) ?? !parent.properties,
      nullable: nullable || value === null,
      options: "const" in known ? [known.const] : known.enum,
      help: known.description,
      min: known.minimum,
      above: known.exclusiveMinimum,
      max: known.maximum,
    },
  ];
}

/** What a schema says once references are followed and `X | null` is X; what stands next to them counts more. */
function resolve(schema: Schema = {}, definitions: Definitions, depth = 0): { known: Schema; nullable: boolean } {
  const { $ref, anyOf, oneOf, allOf, type, ...own } = schema;
  const variants: Schema[] = Array.isArray(type) ? type.map((one) => ({ type: one })) : (anyOf ?? oneOf ?? (allOf?.length === 1 ? allOf : []));
  const others = variants.filter((variant) => variant.type !== "null");
  const nullable = others.length < variants.length;
  const next = $ref ? definitions[$ref.split("/").at(-1) ?? ""] : others.length === 1 ? others[0] : undefined;
  if (!next || depth > 8) return { known: typeof type === "string" ? { ...own, type } : own, nullable };
  const inner = resolve(next, definitions, depth + 1);
  const title = $ref ? undefined : inner.known.title; // what is referred to is titled as a type
  return { known: { ...inner.known, title, ...own }, nullable: nullable || inner.nullable };
}

function kindOf(schema: Schema, value: unknown): Field["kind"] {
  if (schema.enum || "const" in schema) return "choice";
  const type = schema.type ?? (value === null || value === undefined ? "string" : Array.isArray(value) ? "array" : typeof value);
  if (type === "number" || type === "integer" || type === "boolean") return type;
  if (type === "array" && isLines(schema, value)) return "lines";
  if (type !== "string") return "json";
  return typeof value === "string" && (value.length > 60 || value.includes("\n")) ? "long" : "text";
}

const isLine = (value: unknown) => typeof value === "string" && value.trim() !== "" && !value.includes("\n");

function isLines(schema: Schema, value: unknown): boolean {
  const listed = Array.isArray(value) ? value : [];
  return listed.every(isLine) && (schema.items ? schema.items.type === "string" && !schema.items.enum : listed.length > 0);
}

/** What an input shows for a value. */
export function toText({ kind, value }: Field): string {
  if (value === undefined || value === null) return "";
  if (kind === "lines") return (value as string[]).join("\n");
  return kind === "json" ? JSON.stringify(value, null, 2) : String(value);
}

/** The arguments that were changed, whole, and by field what is wrong. What nobody touched stays as it is. */
export function readFields(fields: readonly Field[], texts: Json, values: Json): { changed: Json; problems: Record<string, string> } {
  const changed: Json = {};
  const problems: Record<string, string> = {};
  for (const field of fields) {
    const text = texts[field.name];
    if (typeof text !== "string" || text === toText(field)) continue;
    try {
      put(changed, values, field.path, fromText(field, text));
    } catch (error) {
      problems[field.name] = (error as Error).message;
    }
  }
  return { changed, problems };
}

function put(changed: Json, values: Json, [top = "", ...path]: string[], value: unknown): void {
  const last = path.pop();
  if (last === undefined) {
    changed[top] = value;
    return;
  }
  changed[top] ??= structuredClone(values[top]);
  const owner = path.reduce((node, key) => node[key] as Json, changed[top] as Json);
  owner[last] = value;
}

/** What was typed, as a value. Throws `Error` with a sentence for the person. */
function fromText(field: Field, text: string): unknown {
  if (text.trim() === "") return empty(field);
  switch (field.kind) {
    case "boolean":
      return text === "true";
    case "number":
    case "integer":
      return toNumber(field, text);
    case "choice":
      return field.options?.find((option) => String(option) === text);
    case "lines":
      return text.split("\n").map((line) => line.trim()).filter(Boolean);
    case "json":
      return toJson(field, text);
    default:
      return text;
  }
}

function empty({ kind, label, required, nullable }: Field): unknown {
  if (nullable) return null;
  if (kind === "lines") return [];
  if ((kind === "text" || kind === "long") && !required) return "";
  throw new Error(`${label} is needed.`);
}

/** `12,50` is 12.50: many keyboards have no point. A comma that could stand between thousands is left, and refused. */
const withPoint = (text: string) => text.replace(/^(\s*-?\d+),(\d{1,2}\s*)$/, "$1.$2");

/** A whole number that a browser would round stays the text that was typed: the server reads it as the number it is. */
function toNumber({ label, kind, min, above, max }: Field, text: string): number | string {
  const value = Number(withPoint(text));
  if (!Number.isFinite(value)) throw new Error(`${label} must be a number.`);
  if (kind === "integer" && !Number.isInteger(value)) throw new Error(`${label} must be a whole number.`);
  if (above !== undefined && value <= above) throw new Error(`${label} must be more than ${above}.`);
  if (min !== undefined && value < min) throw new Error(`${label} must be at least ${min}.`);
  if (max !== undefined && value > max) throw new Error(`${label} must be at most ${max}.`);
  if (/^\s*-?\d+\s*$/.test(text) && !Number.isSafeInteger(value)) return text.trim();
  return value;
}

function toJson({ label }: Field, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${label} must be valid JSON.`);
  }
}
