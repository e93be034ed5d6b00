/** Fields a person can fill in, made from a JSON Schema and the values at hand. Pure. */

/**
 * One editable value: `{name, label, kind, value, options?, required, help?, min?, max?}`.
 * `kind` is `text`, `long`, `number`, `integer`, `boolean`, `choice` or `json` (whatever has no simpler input).
 */
export function makeField(name, schema, value, required = false) {
  const known = resolve(schema);
  const options = known.enum;
  return {
    name,
    label: known.title ?? humanize(name),
    kind: kindOf(known, value),
    value: value ?? known.default,
    options,
    required,
    help: known.description,
    min: known.minimum,
    max: known.maximum,
  };
}

/** `X | null` is X for the person who fills it in. */
function resolve(schema) {
  const variants = schema?.anyOf ?? schema?.oneOf;
  return variants?.find((variant) => variant.type !== "null") ?? schema ?? {};
}

function kindOf(schema, value) {
  if (schema.enum) return "choice";
  const type = schema.type ?? typeOf(value);
  if (["number", "integer", "boolean"].includes(type)) return type;
  if (type !== "string") return "json";
  return typeof value === "string" && (value.length > 60 || value.includes("\n")) ? "long" : "text";
}

function typeOf(value) {
  if (value === null || value === undefined) return "string";
  return typeof value;
}

/** What an input shows for a value. */
export function toInput(field) {
  if (field.kind === "boolean") return field.value === true;
  if (field.value === undefined || field.value === null) return "";
  return field.kind === "json" ? JSON.stringify(field.value, null, 2) : String(field.value);
}

/** What was typed, as a value; throws `Error` with a sentence for the person. `undefined` means left empty. */
export function fromInput(field, input) {
  if (field.kind === "boolean") return input === true;
  const text = String(input);
  if (text.trim() === "" && field.kind !== "text" && field.kind !== "long") return empty(field);
  if (text === "" && (field.value === undefined || field.required)) return empty(field);
  switch (field.kind) {
    case "number":
    case "integer":
      return toNumber(field, text);
    case "choice":
      return field.options.find((option) => String(option) === text);
    case "json":
      return toJson(field, text);
    default:
      return text;
  }
}

function empty(field) {
  if (field.required) throw new Error(`${field.label} is needed.`);
  return undefined;
}

function toNumber({ label, kind, min, max }, text) {
  const value = Number(text);
  if (!Number.isFinite(value)) throw new Error(`${label} must be a number.`);
  if (kind === "integer" && !Number.isInteger(value)) throw new Error(`${label} must be a whole number.`);
  if (min !== undefined && value < min) throw new Error(`${label} must be at least ${min}.`);
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

/** `order_id` → `Order id`. */
export function humanize(name) {
  const words = name.replace(/([a-z\d])([A-Z])/g, "$1 $2").replace(/[_-]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase();
}

/** A value for reading: strings as they are, everything else as JSON. */
export function showValue(value) {
  if (typeof value === "string") return value;
  return typeof value === "object" && value !== null ? JSON.stringify(value, null, 2) : String(value);
}
