/** Where the person types: Enter sends, Shift+Enter is a new line, Escape stops a run. */

import { icon } from "./dom.js";

const MAX_HEIGHT = 220; // px; then it scrolls

/** On a touch screen a field with the focus opens the keyboard over what is there to read. */
const isTouched = () => matchMedia("(pointer: coarse)").matches;

/** `rest` has the focus where the field shall not. */
export function createComposer({ form, input, button, rest }, actions) {
  let running = false;
  let ready = false; // false while a chat is being loaded
  let early = false; // sent before that: goes out once it is loaded
  const fit = () => {
    input.style.height = "auto";
    input.style.height = `${Math.min(input.scrollHeight, MAX_HEIGHT)}px`;
  };
  const refresh = () => {
    button.disabled = !running && input.value.trim() === "";
    fit();
  };
  const submit = () => {
    const text = input.value.trim();
    early = !ready;
    if (running || !ready || text === "") return;
    input.value = "";
    refresh();
    actions.send(text);
  };
  input.addEventListener("input", refresh);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && running) actions.stop();
    // isComposing: Enter that ends an input method's composition is not a send.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (running) actions.stop();
    else submit();
  });
  const show = () => {
    button.replaceChildren(icon(running ? "stop" : "send"));
    button.setAttribute("aria-label", running ? "Stop" : "Send");
    button.title = running ? "Stop (Esc)" : "Send (Enter)";
    button.classList.toggle("stop", running);
    refresh();
  };
  show();
  return {
    focus() {
      if (!isTouched()) input.focus();
    },
    /** Take over the focus from what goes. */
    takeFocus() {
      if (isTouched()) rest.focus({ preventScroll: true });
      else input.focus();
    },
    getText: () => input.value,
    /** Put `text` there, to be changed and sent. */
    setText(text) {
      input.value = text;
      refresh();
      input.focus();
    },
    setRunning(next) {
      if (next === running) return;
      running = next;
      show();
    },
    setReady(next) {
      ready = next;
      if (ready && early) submit();
    },
    setHint(text) {
      if (input.placeholder !== text) input.placeholder = text;
    },
  };
}
