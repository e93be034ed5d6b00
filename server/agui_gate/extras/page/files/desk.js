/** What the pages of people who decide and of operators share: the language, the theme, and the question for a token. */

import { loadStrings } from "./components/core/strings.js";
import { h } from "./dom.js";
import { setUpToken } from "./frame.js";
import { writeTheme } from "./storage.js";

export const lang = navigator.language.toLowerCase().startsWith("de") ? "de" : "en";
await loadStrings(lang);

/** Change between light and dark. */
export function turnTheme() {
  const { dataset } = document.documentElement;
  const isDark = (dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  dataset.theme = isDark ? "light" : "dark";
  writeTheme(dataset.theme);
}

/** Draw anew. The focus of what is gone goes to what is left beside it, or else to the tab that is shown. */
export function redraw(draw) {
  const held = document.activeElement;
  const around = held?.closest("section");
  draw();
  if (held?.isConnected) return;
  const next = around?.isConnected && around.querySelector("button, a[href]");
  (next || document.querySelector("nav [aria-current], nav a"))?.focus();
}

/** Take over the person's language, for the dialog of the token too. `onToken()` is called once one was entered. */
export function setUpDesk(words, onToken) {
  document.documentElement.lang = lang;
  setUpToken(onToken, words);
}

/** The keys of a page as what a dialog shows: `[[key, what it does], …]`. */
export const keyList = (keys) => h("dl", { class: "keys" }, keys.flatMap(([key, does]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, does)]));

/** Whether a key is the page's: never while somebody types or a dialog is open, and never one of the browser's. */
export function isOurs(event) {
  const from = event.composedPath()[0];
  const isTaken = event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing;
  return !isTaken && !document.querySelector("dialog[open]") && !from.matches?.("select, textarea, input:not([type=checkbox]), [contenteditable]");
}

/** Seconds in words: their largest unit. */
export function ageIn(seconds) {
  const [count, unit] = [[86_400, "day"], [3_600, "hour"], [60, "minute"], [1, "second"]].map(([size, unit]) => [Math.floor(seconds / size), unit]).find(([count]) => count > 0);
  return new Intl.NumberFormat(lang, { style: "unit", unit, unitDisplay: "short" }).format(count);
}
