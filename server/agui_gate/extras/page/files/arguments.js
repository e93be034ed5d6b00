/** Arguments for reading: label and value, with units, nothing hidden; a changed one says what it was. */

import { h } from "./dom.js";
import { emptiness, isObject, labelsOf, showValue, withUnit } from "./fields.js";
import { shown } from "./reveal.js";

const plain = { unit: () => null, changed: new Map() };

/**
 * Label and value; what one of the `inputs` is about is shown as that input instead. `unit(name, value)` is what a
 * number is in; `schema` is of the arguments; `changed` has what a person changed: name to the value as it was issued.
 */
export function argumentTable(args, { inputs = [], unit = plain.unit, changed = plain.changed, schema } = {}) {
  const names = [...new Set([...Object.keys(args), ...inputs.map(({ field }) => field.path[0])])];
  if (names.length === 0) return h("p", { class: "quiet" }, "No arguments.");
  const labels = labelsOf(names);
  const rows = names.flatMap((name) => {
    const own = inputs.filter(({ field }) => field.path[0] === name);
    return own.length > 0 ? own.flatMap(inputRow) : valueRow(name, labels.get(name), args[name], { unit, changed, schema: schema?.properties?.[name] });
  });
  return h("dl", { class: "arguments" }, rows);
}

export const inputRow = ({ id, field, node }) => [h("dt", {}, h("label", { for: id }, shown(field.label))), h("dd", {}, node)];

function valueRow(name, said, value, { unit, changed, schema }) {
  const nested = isNested(value) ? "nested" : null;
  const before = changed.has(name) ? [h("span", { class: "was" }, "was ", valueNodes(changed.get(name), unit(name, changed.get(name)), schema))] : [];
  const label = h("dt", { class: nested }, shown(said));
  return [label, h("dd", { class: nested, dir: "auto" }, valueNodes(value, unit(name, value), schema), before)];
}

const isNested = (value) => isObject(value) || (Array.isArray(value) && value.some(isNested));

/** Nothing is set apart from text that says so. */
function valueNodes(value, unit, schema) {
  const nothing = emptiness(value);
  if (nothing) return [h("span", { class: "quiet" }, nothing)];
  if (typeof value === "boolean") return [value ? "Yes" : "No"];
  if (typeof value !== "object") return [...shown(withUnit(showValue(value, schema), unit))];
  return Array.isArray(value) ? value.map((item) => h("div", {}, valueNodes(item, null, schema?.items))) : [argumentTable(value, { schema })];
}
