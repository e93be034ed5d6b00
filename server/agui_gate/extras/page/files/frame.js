/** The frame around the conversation: theme, choice of agent, the token dialog. */

import { humanize } from "./components/core/values.js";
import { h, icon, setText } from "./dom.js";
import { readToken, writeTheme, writeToken } from "./storage.js";

const element = (id) => document.getElementById(id);

export function setUpTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const refresh = () => {
    element("theme").replaceChildren(icon(isDark() ? "sun" : "moon"));
    element("theme").setAttribute("aria-label", isDark() ? "Use the light theme" : "Use the dark theme");
  };
  element("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    writeTheme(document.documentElement.dataset.theme);
    refresh();
  });
  dark.addEventListener("change", refresh);
  refresh();
}

/** With one agent there is nothing to choose. */
export function setUpAgents(agents, choose) {
  const choice = element("agent-choice");
  choice.hidden = agents.length < 2;
  element("agent-name").classList.toggle("visually-hidden", agents.length > 1); // it is the page's heading
  choice.replaceChildren(...agents.map(({ name }) => h("option", { value: name }, humanize(name))));
  choice.onchange = () => choose(choice.value);
}

const WORDS = {
  token: "This server requires a token",
  tokenText: "Enter the token you were given. It is kept for this tab only.",
  tokenRefused: "The token was not accepted. Enter the one you were given. It is kept for this tab only.",
  tokenLabel: "Token",
  go: "Continue",
  cancel: "Cancel",
};

let words = WORDS;

/** The dialog that asks for a token. `onToken()` is called once the person has entered one; `said` are the words of another language. */
export function setUpToken(onToken, said = WORDS) {
  words = said;
  const token = h("input", { id: "token", type: "password", autocomplete: "off", required: true });
  const buttons = [h("button", { class: "button primary", value: "save" }, words.go), h("button", { class: "button plain", value: "cancel", formnovalidate: true }, words.cancel)];
  const text = h("p", { id: "token-text" }, words.tokenText);
  const label = h("label", { class: "visually-hidden", for: "token" }, words.tokenLabel);
  const form = h("form", { method: "dialog" }, h("h2", { id: "token-title" }, words.token), text, label, token, h("div", { class: "dialog-actions" }, buttons));
  const dialog = h("dialog", { class: "dialog", id: "token-dialog", "aria-labelledby": "token-title", "aria-describedby": "token-text" }, form);
  document.body.append(dialog);
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "save") return;
    writeToken(token.value.trim());
    token.value = "";
    onToken();
  });
}

/** Ask who the person is, since the token that they have entered, if any, was not accepted; returns what is said about it. */
export const askToken = () => ask(readToken() ? words.tokenRefused : words.tokenText);

/** Ask for the token of somebody who may do more. */
export const askOtherToken = () => ask(words.tokenText);

function ask(said) {
  setText(element("token-text"), said);
  if (!element("token-dialog").open) element("token-dialog").showModal();
  return said;
}
