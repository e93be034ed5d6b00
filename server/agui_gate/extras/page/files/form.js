/** Inputs for fields, each with its label, help and error. */

import { h } from "./dom.js";
import { fromText, put, toText } from "./fields.js";
import { hides, reveal, shown } from "./reveal.js";

let serial = 0;

/** One field's input: `{field, node, input, id, text()}`, and `fail(sentence | null)`, which says what is wrong. */
export function createInput(field) {
  serial += 1;
  const id = `field-${serial}`;
  const input = makeControl(field, id);
  const error = h("p", { class: "field-error", id: `${id}-error`, role: "alert" });
  const words = [field.help, field.kind === "lines" && "One per line."].filter(Boolean).join(" ");
  const help = words ? h("p", { class: "field-help", id: `${id}-help` }, shown(words)) : null;
  input.setAttribute("aria-describedby", [help && `${id}-help`, `${id}-error`].filter(Boolean).join(" "));
  const node = h("div", { class: "field" }, input, revealed(input), help, error);
  const text = () => (input.type === "checkbox" ? String(input.checked) : input.value);
  const fail = (sentence) => {
    error.textContent = sentence ?? "";
    if (sentence) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  };
  const put = (said) => {
    if (input.type === "checkbox") input.checked = said === "true";
    else input.value = said;
    input.dispatchEvent(new Event("input")); // what stands below follows
  };
  return { field, node, input, id, text, put, fail, before: text() };
}

/** A field shows its text as a browser draws it; where that hides something, what is really in it stands below. */
function revealed(input) {
  const line = h("p", { class: "field-hidden" });
  const refresh = () => {
    line.hidden = !hides(input.value);
    line.replaceChildren(...(line.hidden ? [] : ["Really: ", ...shown(input.value)]));
  };
  input.addEventListener("input", refresh);
  refresh();
  return line;
}

function makeControl(field, id) {
  const value = toText(field);
  const common = { id, name: field.name, autocomplete: "off" };
  if (field.kind === "choice") return h("select", common, makeOptions(field, value));
  if (field.kind === "boolean") return h("input", { ...common, type: "checkbox", checked: value === "true" });
  if (["long", "lines", "json"].includes(field.kind)) {
    const area = h("textarea", { ...common, rows: "3", "data-kind": field.kind, spellcheck: field.kind === "json" ? "false" : null });
    area.value = value;
    return area;
  }
  const numeric = field.kind === "number" || field.kind === "integer";
  // Text with a numeric keyboard: number inputs swallow what they can't parse and change on a stray scroll.
  return h("input", { ...common, type: "text", inputmode: numeric ? "decimal" : null, value });
}

function makeOptions({ options, nullable, value }, chosen) {
  const open = nullable || value === undefined ? [h("option", { value: "" }, "None")] : []; // may be left without a choice
  return [...open, ...options.map((option) => h("option", { value: String(option), selected: String(option) === chosen }, reveal(String(option))))];
}

/** All values by name, or null when one of them is not valid (it then says why and has the focus). */
export function readAll(inputs) {
  return read(inputs, {});
}

/** The arguments in which something was changed, whole; what nobody touched stays as it is. Null as above. */
export function readEdits(inputs, values) {
  return read(inputs.filter((input) => input.text() !== input.before), values, inputs);
}

function read(inputs, values, shown = inputs) {
  const changed = {};
  const failed = [];
  for (const input of shown) input.fail(null);
  for (const input of inputs) {
    try {
      const value = fromText(input.field, input.text());
      if (value !== undefined) put(changed, values, input.field.path, value);
    } catch (error) {
      input.fail(error.message);
      failed.push(input);
    }
  }
  failed[0]?.input.focus();
  return failed.length > 0 ? null : changed;
}
