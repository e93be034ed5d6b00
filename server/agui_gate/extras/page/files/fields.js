/** Fields a person can fill in, made from a JSON Schema and the values at hand. Pure. */

/**
 * Fields for the values called `names`, objects taken apart; without a schema the present values' types decide.
 * `definitions` is what the schema's references name. A field is `{path, name, label, kind, value, required, nullable,
 * options?, help?, min?, above?, max?}`: `path` is where it is in the values (`["address", "street"]`), `kind` is `text`,
 * `long`, `lines` (strings, one a line), `number`, `integer`, `boolean`, `choice` or `json` (whatever has no simpler
 * input); what is `nullable` is null when left empty.
 */
export function makeFields(names, values, schema = {}, definitions = schema.$defs ?? {}) {
  return names.flatMap((name) => fieldsAt([name], schema, values, definitions, ""));
}

function fieldsAt(path, parent, values, definitions, prefix) {
  const name = path.at(-1);
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
function resolve(schema, definitions, depth = 0) {
  const { $ref, anyOf, oneOf, allOf, type, ...own } = schema || {};
  const variants = Array.isArray(type) ? type.map((one) => ({ type: one })) : (anyOf ?? oneOf ?? (allOf?.length === 1 ? allOf : []));
  const others = variants.filter((variant) => variant.type !== "null");
  const nullable = others.length < variants.length;
  const next = $ref ? definitions[$ref.split("/").at(-1)] : others.length === 1 ? others[0] : undefined;
  if (!next || depth > 8) return { known: typeof type === "string" ? { ...own, type } : own, nullable };
  const inner = resolve(next, definitions, depth + 1);
  const title = $ref ? undefined : inner.known.title; // what is referred to is titled as a type
  return { known: { ...inner.known, title, ...own }, nullable: nullable || inner.nullable };
}

function kindOf(schema, value) {
  if (schema.enum || "const" in schema) return "choice";
  const type = schema.type ?? typeOf(value);
  if (["number", "integer", "boolean"].includes(type)) return type;
  if (type === "array" && isLines(schema, value)) return "lines";
  if (type !== "string") return "json";
  return typeof value === "string" && (value.length > 60 || value.includes("\n")) ? "long" : "text";
}

function typeOf(value) {
  if (value === null || value === undefined) return "string";
  return Array.isArray(value) ? "array" : typeof value;
}

const isLine = (value) => typeof value === "string" && value.trim() !== "" && !value.includes("\n");

function isLines({ items }, value) {
  const listed = Array.isArray(value) ? value : [];
  return listed.every(isLine) && (items ? items.type === "string" && !items.enum : listed.length > 0);
}

export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** What an input shows for a value, as text. */
export function toText({ kind, value }) {
  if (value === undefined || value === null) return "";
  if (kind === "lines") return value.join("\n");
  return kind === "json" ? JSON.stringify(value, null, 2) : String(value);
}

/** What was typed, as a value; throws `Error` with a sentence for the person. `undefined` means left empty. */
export function fromText(field, text) {
  if (text.trim() === "") return empty(field);
  switch (field.kind) {
    case "boolean":
      return text === "true";
    case "number":
    case "integer":
      return toNumber(field, text);
    case "choice":
      return field.options.find((option) => String(option) === text);
    case "lines":
      return text.split("\n").map((line) => line.trim()).filter(Boolean);
    case "json":
      return toJson(field, text);
    default:
      return text;
  }
}

function empty({ kind, label, value, required, nullable }) {
  if (nullable) return null;
  if (value === undefined && !required) return undefined;
  if (kind === "lines") return [];
  if ((kind === "text" || kind === "long") && !required) return "";
  throw new Error(`${label} is needed.`);
}

/** `12,50` is 12.50: many keyboards have no point. A comma that could stand between thousands is left, and refused. */
const withPoint = (text) => text.replace(/^(\s*-?\d+),(\d{1,2}\s*)$/, "$1.$2");

function toNumber({ label, kind, min, above, max }, text) {
  const value = Number(withPoint(text));
  if (!Number.isFinite(value)) throw new Error(`${label} must be a number.`);
  if (/^\s*-?\d+\s*$/.test(text) && !Number.isSafeInteger(value)) return text.trim(); // as a number it would lose digits
  if (kind === "integer" && !Number.isInteger(value)) throw new Error(`${label} must be a whole number.`);
  if (min !== undefined && value < min) throw new Error(`${label} must be at least ${min}.`);
  if (above !== undefined && value <= above) throw new Error(`${label} must be more than ${above}.`);
  if (max !== undefined && value > max) throw new Error(`${label} must be at most ${max}.`);
  return value;
}

function toJson({ label }, text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${label} must be valid JSON.`);
  }
}

/** Put a field's value into `changed`, in its place in a copy of the argument that it is part of. */
export function put(changed, values, [top, ...path], value) {
  if (path.length === 0) {
    changed[top] = value;
    return;
  }
  changed[top] ??= structuredClone(values[top]);
  const owner = path.slice(0, -1).reduce((node, key) => node[key], changed[top]);
  owner[path.at(-1)] = value;
}

/** Arguments in the order in which the tool's schema names them; what that doesn't name follows as it came. */
export function inOrder(args, schema) {
  const names = [...Object.keys(schema?.properties ?? {}).filter((name) => Object.hasOwn(args, name)), ...Object.keys(args)];
  return Object.fromEntries(names.map((name) => [name, args[name]]));
}

/** `order_id` → `Order id`. */
export function humanize(name) {
  const words = name.replace(/([a-z\d])([A-Z])/g, "$1 $2").replace(/[_-]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase();
}

/** What is said of a value that holds nothing; null for every other. Which kind of nothing it is, the tool may ask. */
export function emptiness(value) {
  if (value === null || value === undefined) return "None";
  if (value === "") return "Empty";
  if (typeof value !== "object" || Object.keys(value).length > 0) return null;
  return Array.isArray(value) ? "Empty list" : "Empty object";
}

/** Labels for the values of one object, by name. Names that would read alike, or like nothing, are their own. */
export function labelsOf(names) {
  const words = names.map(humanize);
  const isTelling = (word) => word !== "" && words.filter((other) => other === word).length === 1;
  return new Map(names.map((name, at) => [name, isTelling(words[at]) ? words[at] : name.trim() === "" ? `“${name}”` : name]));
}

/** What yes, no and nothing are called, here and in JSON. */
const NO_TEXT = /^(true|false|yes|no|null|none|empty( list| object)?)$/i;

/** Whether text reads as something else. A whole number that a browser would round is text here too, as it was written (`json.js`). */
function readsAsOther(text) {
  const sign = text.trim();
  if (/^-?\d+$/.test(sign) && !Number.isSafeInteger(Number(sign))) return false;
  return NO_TEXT.test(sign) || /^".*"$/s.test(sign) || !Number.isNaN(Number(sign));
}

/** Whether a schema says that a value is text and nothing else. */
export const isText = (schema) => schema?.type === "string";

/** A value for reading: text as it is, or in quotes where it reads as something else that could stand there; everything else as JSON. */
export function showValue(value, schema) {
  if (typeof value === "string") return !isText(schema) && readsAsOther(value) ? JSON.stringify(value) : value;
  return typeof value === "object" && value !== null ? JSON.stringify(value, null, 2) : String(value);
}

const CURRENCIES = /^([€$£¥₹]|EUR|USD|GBP|CHF|INR|euros?|dollars|pounds)$/;

/** `20 €`, `64.90 €`: money has two digits behind the point, or none. */
export function withUnit(text, unit) {
  if (!unit) return text;
  return `${CURRENCIES.test(unit) && /^-?\d+[.]\d$/.test(text) ? `${text}0` : text} ${unit}`;
}

/** Cut to a number of characters. */
export const shorten = (text, to) => (text.length > to ? `${text.slice(0, to - 1)}…` : text);

/**
 * What there is to tell in values, however deep, in one line; yes, no and nothing say little without their names.
 * `unit(name, value)` is what a number is in.
 */
export function summary(values, unit = () => null) {
  const told = Object.entries(values).flatMap(([name, value]) => leaves(value).map((leaf) => withUnit(String(leaf), unit(name, leaf))));
  return shorten(told.map((text) => text.replace(/\s+/g, " ")).join(" · "), 80);
}

function leaves(value) {
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(leaves);
  return typeof value === "number" || (typeof value === "string" && value) ? [value] : [];
}
