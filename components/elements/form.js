/** Inputs for the fields of a card, each with its label, help and error. */

import { nothing } from "lit/html.js";
import { fieldsOf, toText } from "../core/fields.js";
import { hides, reveal } from "../core/reveal.js";
import { fill } from "../core/strings.js";
import { html } from "./html.js";
import { shown } from "./text.js";

/**
 * @import { Ask, Field, Strings } from "../core/types.js"
 */

/**
 * A row for each field, by the argument that it is a part of.
 * @param {{ask: Ask, texts: Record<string, string>, problems: Record<string, string>}} state
 * @param {Pick<Shown, "strings" | "disabled" | "type">} given
 * @returns {Map<string, unknown>}
 */
export function fieldRows({ ask, texts, problems }, given) {
  /** @type {Map<string, unknown[]>} */
  const rows = new Map();
  for (const field of fieldsOf(ask)) {
    const [top = ""] = field.path;
    const row = fieldRow(field, { text: texts[field.name] ?? toText(field), problem: problems[field.name] ?? "", ...given });
    rows.set(top, [...(rows.get(top) ?? []), row]);
  }
  return rows;
}

/**
 * @typedef {object} Shown
 * @property {string} text
 * @property {string} problem
 * @property {Strings} strings
 * @property {boolean} disabled
 * @property {(name: string, text: string) => void} type
 */

/**
 * @param {Field} field
 * @param {Shown} shownAs
 */
function fieldRow(field, { text, problem, strings, disabled, type }) {
  const id = `field-${field.name}`;
  const help = [field.help, field.kind === "lines" && fill(strings, "onePerLine")].filter(Boolean).join(" ");
  const [helpId, errorId] = [`${id}-help`, `${id}-error`];
  const about = help ? `${helpId} ${errorId}` : errorId;
  return html`<dt class="of-field"><label for=${id}>${shown(field.label)}</label></dt>
    <dd class="field" part="field" data-name=${field.name}>
      ${control(field, { id, about, text, isWrong: problem !== "", disabled, strings, type })}
      ${hides(text) ? html`<p class="field-hidden">${fill(strings, "really")} ${shown(text)}</p>` : nothing}
      ${help ? html`<p class="field-help" id=${helpId}>${shown(help)}</p>` : nothing}
      <p class="field-error" part="error" id=${errorId} role="alert">${problem}</p>
    </dd>`;
}

/**
 * A text field with a numeric keyboard for numbers: number inputs swallow what they can't parse, and change on a stray
 * scroll.
 * @param {Field} field
 * @param {{id: string, about: string, text: string, isWrong: boolean, disabled: boolean, strings: Strings, type: (name: string, text: string) => void}} shownAs
 */
function control(field, { id, about, text, isWrong, disabled, strings, type }) {
  const invalid = isWrong ? "true" : nothing;
  /** @param {{target: HTMLInputElement}} event */
  const typed = ({ target }) => type(field.name, target.type === "checkbox" ? String(target.checked) : target.value);
  switch (field.kind) {
    case "choice":
      return html`<select id=${id} name=${field.name} autocomplete="off" aria-describedby=${about} aria-invalid=${invalid} ?disabled=${disabled} @input=${typed}>
        ${choicesOf(field).map((option) => html`<option value=${option} ?selected=${option === text}>${option === "" ? fill(strings, field.required && !field.nullable ? "choose" : "none") : reveal(option)}</option>`)}
      </select>`;
    case "boolean":
      return html`<input type="checkbox" id=${id} name=${field.name} aria-describedby=${about} aria-invalid=${invalid} ?disabled=${disabled} .checked=${text === "true"} @input=${typed}>`;
    case "long":
    case "lines":
    case "json":
      return html`<textarea id=${id} name=${field.name} rows="3" autocomplete="off" data-kind=${field.kind} spellcheck=${field.kind === "json" ? "false" : nothing} aria-describedby=${about} aria-invalid=${invalid} ?disabled=${disabled} .value=${text} @input=${typed}></textarea>`;
    default:
      return html`<input type="text" id=${id} name=${field.name} autocomplete="off" inputmode=${field.kind === "text" ? nothing : "decimal"} aria-describedby=${about} aria-invalid=${invalid} ?disabled=${disabled} .value=${text} @input=${typed}>`;
  }
}

/** @param {Field} field */
function choicesOf({ options = [], nullable, value }) {
  const isOpen = nullable || value === undefined; // may be left without a choice
  return [...(isOpen ? [""] : []), ...options.map(String)];
}
