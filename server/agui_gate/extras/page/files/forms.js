/** Questions with fields that the server answers: what was typed stays until it has taken it, or the person says no. */

import { serverSaid, stringsFor } from "./components/core/strings.js";
import { lang } from "./desk.js";
import { confirm } from "./dialogs.js";
import { h } from "./dom.js";
import { askToken } from "./frame.js";

/** A label and its field, as `details` of a question. `more`: attributes, such as `required`. */
export const field = (id, label, more = {}, tag = "input") => [h("label", { for: id }, label), h(tag, { id, autocomplete: "off", ...(tag === "input" && { type: "text" }), ...more })];

/** What is in the field with this id, while its question is open. */
export const valueOf = (id) => document.getElementById(id)?.value.trim() ?? "";

/**
 * Ask, and send what was answered: `read()` gets it from the fields, `send(fields)` gives it to the server. Resolves to what
 * `send` resolves to; null: the person said no. Why the server did not take it is said in the question, which is asked again.
 */
export async function askAndSend({ details, read, send, ...question }) {
  const trouble = h("p", { role: "alert" });
  for (;;) {
    let fields;
    const asked = confirm({ ...question, details: [...details, trouble] });
    document.querySelector("dialog[open] :is(input, textarea)")?.focus(); // not the button that says no
    document.querySelector("dialog[open] form")?.addEventListener("submit", () => (fields = read()));
    if (!(await asked)) return null;
    try {
      return await send(fields);
    } catch (error) {
      trouble.textContent = serverSaid(error.message, error.code, stringsFor(lang));
      if (error.code === "unauthorized") {
        askToken();
        return null;
      }
    }
  }
}
