/** Fields a person can fill in, made from a JSON Schema and the values at hand: which there are, what they show, what was typed. Pure. */

import { ENGLISH, fill } from "./strings.js";
import { unitsFor } from "./units.js";
import { humanize, isObject } from "./values.js";

/** @import { Ask, Field, Json, Kind, Schema, Strings } from "./types.js" */

/** @typedef {Record<string, Schema>} Definitions */

/**
 * Fields for the values called `names`, objects taken apart; without a schema the present values' types decide.
 * @param {readonly string[]} names
 * @param {Json} values
 * @param {Schema} [schema]
 * @param {Definitions} [definitions] what the schema's references name
 * @returns {Field[]}
 */
export function makeFields(names, values, schema = {}, definitions = schema.$defs ?? {}) {
  return names.flatMap((name) => fieldsAt([name], schema, values, definitions, ""));
}

/**
 * @param {string[]} path
 * @param {Schema} parent
 * @param {Json} values
 * @param {Definitions} definitions
 * @param {string} prefix
 * @returns {Field[]}
 */
function fieldsAt(path, parent, values, definitions, prefix) {
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

/**
 * What a schema says once references are followed and `X | null` is X; what stands next to them counts more.
 * @param {Schema | undefined} schema
 * @param {Definitions} definitions
 * @returns {{known: Schema, nullable: boolean}}
 */
function resolve(schema, definitions, depth = 0) {
  const { $ref, anyOf, oneOf, allOf, type, ...own } = schema || {};
  /** @type {Schema[]} */
  const variants = Array.isArray(type) ? type.map((one) => ({ type: one })) : (anyOf ?? oneOf ?? (allOf?.length === 1 ? allOf : []));
  const others = variants.filter((variant) => variant.type !== "null");
  const nullable = others.length < variants.length;
  const next = $ref ? definitions[$ref.split("/").at(-1) ?? ""] : others.length === 1 ? others[0] : undefined;
  if (!next || depth > 8) return { known: typeof type === "string" ? { ...own, type } : own, nullable };
  const inner = resolve(next, definitions, depth + 1);
  const title = $ref ? undefined : inner.known.title; // what is referred to is titled as a type
  return { known: { ...inner.known, title, ...own }, nullable: nullable || inner.nullable };
}

/**
 * @param {Schema} schema
 * @param {unknown} value
 * @returns {Kind}
 */
function kindOf(schema, value) {
  if (schema.enum || "const" in schema) return "choice";
  const type = schema.type ?? typeOf(value);
  if (type === "number" || type === "integer" || type === "boolean") return type;
  if (type === "array" && isLines(schema, value)) return "lines";
  if (type !== "string") return "json";
  return typeof value === "string" && (value.length > 60 || value.includes("\n")) ? "long" : "text";
}

/** @param {unknown} value */
function typeOf(value) {
  if (value === null || value === undefined) return "string";
  return Array.isArray(value) ? "array" : typeof value;
}

/** @param {unknown} value */
const isLine = (value) => typeof value === "string" && value.trim() !== "" && !value.includes("\n");

/**
 * @param {Schema} schema
 * @param {unknown} value
 */
function isLines({ items }, value) {
  const listed = Array.isArray(value) ? value : [];
  return listed.every(isLine) && (items ? items.type === "string" && !items.enum : listed.length > 0);
}

/**
 * The fields of an ask; where a number has a unit, its label says so: `Amount (€)`.
 * @param {Ask} ask
 * @returns {Field[]}
 */
export function fieldsOf(ask) {
  const unit = unitsFor(ask.arguments, ask);
  return ask.fields.map((field) => {
    const sign = field.path.length === 1 ? unit(field.path[0] ?? "", field.value) : null;
    return sign ? { ...field, label: `${field.label} (${sign})` } : field;
  });
}

/**
 * What an input shows for a value, as text.
 * @param {Field} field
 * @returns {string}
 */
export function toText({ kind, value }) {
  if (value === undefined || value === null) return "";
  if (kind === "lines") return Array.isArray(value) ? value.join("\n") : String(value);
  return kind === "json" ? JSON.stringify(value, null, 2) : String(value);
}

/** What is wrong with what was typed: `message` is a sentence for the person. */
export class FieldError extends Error {}

/**
 * What was typed, as a value; `undefined` means left empty. Throws `FieldError`.
 * @param {Field} field
 * @param {string} text
 * @param {Strings} [strings]
 * @returns {unknown}
 */
export function fromText(field, text, strings = ENGLISH) {
  if (text.trim() === "") return empty(field, strings);
  switch (field.kind) {
    case "boolean":
      return text === "true";
    case "number":
    case "integer":
      return toNumber(field, text, strings);
    case "choice":
      return field.options?.find((option) => String(option) === text);
    case "lines":
      return text.split("\n").map((line) => line.trim()).filter(Boolean);
    case "json":
      return toJson(field, text, strings);
    default:
      return text;
  }
}

/**
 * @param {Field} field
 * @param {Strings} strings
 */
function empty({ kind, label, value, required, nullable }, strings) {
  if (nullable) return null;
  if (value === undefined && !required) return undefined;
  if (kind === "lines") return [];
  if ((kind === "text" || kind === "long") && !required) return "";
  throw new FieldError(fill(strings, "isNeeded", { label }));
}

/**
 * `12,50` is 12.50: many keyboards have no point. A comma that could stand between thousands is left, and refused.
 * @param {string} text
 */
const withPoint = (text) => text.replace(/^(\s*-?\d+),(\d{1,2}\s*)$/, "$1.$2");

/**
 * A whole number that a browser would round stays the text that was typed: the server reads it as the number it is.
 * @param {Field} field
 * @param {string} text
 * @param {Strings} strings
 */
function toNumber({ label, kind, min, above, max }, text, strings) {
  const value = Number(withPoint(text));
  if (!Number.isFinite(value)) throw new FieldError(fill(strings, "isNumber", { label }));
  if (kind === "integer" && !Number.isInteger(value)) throw new FieldError(fill(strings, "isWhole", { label }));
  if (min !== undefined && value < min) throw new FieldError(fill(strings, "isLeast", { label, limit: min }));
  if (above !== undefined && value <= above) throw new FieldError(fill(strings, "isMore", { label, limit: above }));
  if (max !== undefined && value > max) throw new FieldError(fill(strings, "isMost", { label, limit: max }));
  return /^\s*-?\d+\s*$/.test(text) && !Number.isSafeInteger(value) ? text.trim() : value;
}

/**
 * @param {Field} field
 * @param {string} text
 * @param {Strings} strings
 */
function toJson({ label }, text, strings) {
  try {
    return JSON.parse(text);
  } catch {
    throw new FieldError(fill(strings, "isJson", { label }));
  }
}

/**
 * Put a field's value into `changed`, in its place in a copy of the argument that it is part of.
 * @param {Json} changed
 * @param {Json} values
 * @param {string[]} path
 * @param {unknown} value
 */
export function put(changed, values, [top = "", ...path], value) {
  const last = path.pop();
  if (last === undefined) {
    changed[top] = value;
    return;
  }
  changed[top] ??= structuredClone(values[top]);
  let owner = changed[top];
  for (const key of path) owner = isObject(owner) ? owner[key] : undefined;
  if (isObject(owner)) owner[last] = value;
}

/**
 * What was typed as values, and by field what is wrong. With `onlyChanged` what nobody touched stays out: the arguments
 * in which something was changed, whole.
 * @param {readonly Field[]} fields
 * @param {Record<string, string>} texts by the field's name; a field without one was not touched
 * @param {Json} values
 * @param {{onlyChanged?: boolean, strings?: Strings}} [options]
 * @returns {{values: Json, problems: Record<string, string>}}
 */
export function readFields(fields, texts, values, { onlyChanged = false, strings = ENGLISH } = {}) {
  /** @type {Json} */
  const read = {};
  /** @type {Record<string, string>} */
  const problems = {};
  for (const field of fields) {
    const before = toText(field);
    const text = texts[field.name] ?? before;
    if (onlyChanged && text === before) continue;
    try {
      const value = fromText(field, text, strings);
      if (value !== undefined) put(read, values, field.path, value);
    } catch (error) {
      if (!(error instanceof FieldError)) throw error;
      problems[field.name] = error.message;
    }
  }
  return { values: read, problems };
}

/**
 * Those of `values` that differ from what is there already.
 * @param {Json} before
 * @param {Json} values
 * @returns {Json}
 */
export const changesTo = (before, values) =>
  Object.fromEntries(Object.entries(values).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])));
