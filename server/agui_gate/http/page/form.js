/** Inputs for fields, each with its label, help and error. */

import { h } from "./dom.js";
import { fromInput, toInput } from "./fields.js";

let serial = 0;

/** One field's input: `{node, input, read()}`; `read` returns the value or throws after showing what is wrong. */
export function createInput(field) {
  serial += 1;
  const id = `field-${serial}`;
  const input = makeControl(field, id);
  const error = h("p", { class: "field-error", id: `${id}-error`, role: "alert" });
  const help = field.help ? h("p", { class: "field-help", id: `${id}-help` }, field.help) : null;
  input.setAttribute("aria-describedby", [help && `${id}-help`, `${id}-error`].filter(Boolean).join(" "));
  const node = h("div", { class: "field" }, input, help, error);
  return { node, input, id, read: () => read(field, input, error) };
}

function makeControl(field, id) {
  const value = toInput(field);
  const common = { id, name: field.name, autocomplete: "off" };
  if (field.kind === "choice") {
    const options = field.options.map((option) => h("option", { value: option, selected: String(option) === value }, String(option)));
    return h("select", common, options);
  }
  if (field.kind === "boolean") return h("input", { ...common, type: "checkbox", checked: value });
  if (field.kind === "long" || field.kind === "json") {
    const area = h("textarea", { ...common, rows: "4", spellcheck: field.kind === "json" ? "false" : null });
    area.value = value;
    return area;
  }
  const numeric = field.kind === "number" || field.kind === "integer";
  // Text with a numeric keyboard: number inputs swallow what they can't parse and change on a stray scroll.
  return h("input", { ...common, type: "text", inputmode: numeric ? "decimal" : null, value });
}

function read(field, input, error) {
  try {
    const value = fromInput(field, input.type === "checkbox" ? input.checked : input.value);
    error.textContent = "";
    input.removeAttribute("aria-invalid");
    return value;
  } catch (problem) {
    error.textContent = problem.message;
    input.setAttribute("aria-invalid", "true");
    input.focus();
    throw problem;
  }
}

/** All values by name, or null when one of them is not valid (it then says why and has the focus). */
export function readAll(inputs) {
  try {
    const entries = inputs.map(({ name, read: readOne }) => [name, readOne()]);
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  } catch {
    return null;
  }
}
