/**
 * Questions of the page itself. A modal `<dialog>`: the browser keeps the focus inside, Escape answers no, and the focus
 * goes back to where it was.
 */

import { focused, h } from "./dom.js";

/** Ask; resolves to whether the person said yes. `details` are lines or nodes between the text and the buttons. */
export function confirm({ title, text, details = [], yes, no = "Cancel", danger = false }) {
  const buttons = [button(yes, danger ? "reject" : "primary", "yes"), button(no, "plain", "no", { autofocus: true, formnovalidate: true })];
  return open({ title, text, body: details, buttons }).then((answer) => answer === "yes");
}

/** Say something that was expected to go otherwise. */
export async function inform({ title, text }) {
  await open({ title, text, body: [], buttons: [button("Close", "plain", "no", { autofocus: true })] });
}

/** Show something to be read. */
export const show = ({ title, body, close }) => open({ title, body, buttons: [button(close, "primary", "no", { autofocus: true })] });

/** Ask for a line of text; resolves to it, or to null. */
export async function prompt({ title, label, value, yes, maxLength }) {
  const input = h("input", { type: "text", id: "dialog-input", value, required: true, maxlength: String(maxLength), autocomplete: "off", autofocus: true });
  const buttons = [button(yes, "primary", "yes", { type: "submit" }), button("Cancel", "plain", "no", { formnovalidate: true })];
  const opened = open({ title, body: [h("label", { for: "dialog-input" }, label), input], buttons });
  input.select();
  return (await opened) === "yes" ? input.value.trim() : null;
}

const button = (text, look, value, more = {}) => h("button", { class: `button ${look}`, value, ...more }, text);

function open({ title, text, body, buttons }) {
  const heading = h("h2", { id: "dialog-title" }, title);
  const words = text ? h("p", { id: "dialog-text" }, text) : null;
  const form = h("form", { method: "dialog" }, heading, words, body, h("div", { class: "dialog-actions" }, buttons));
  const dialog = h("dialog", { class: "dialog", "aria-labelledby": "dialog-title", "aria-describedby": text ? "dialog-text" : null }, form);
  const before = focused();
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (before?.isConnected) before.focus();
      resolve(dialog.returnValue);
    });
  });
}
