/** What was said, drawn: user bubbles, assistant text, folded reasoning, activity, the line under an answer. */

import { reveal } from "./components/core/reveal.js";
import { humanize, isObject } from "./components/core/values.js";
import { h, icon, same, setText } from "./dom.js";
import { createRenderer } from "./markdown.js";
import { createValue } from "./values.js";

/** A component skips updates that change nothing. */
function component(node, apply) {
  let last = null;
  return {
    node,
    update(row) {
      if (same(row, last)) return;
      last = row;
      apply(row);
    },
  };
}

export function createUser() {
  const bubble = h("div", { class: "bubble" });
  const node = h("article", { class: "row user", "aria-label": "You" }, bubble);
  return component(node, (row) => setText(bubble, row.text));
}

export function createText() {
  const node = h("article", { class: "row prose", "aria-label": "Assistant", dir: "auto" });
  const render = createRenderer();
  return component(node, (row) => {
    node.setAttribute("aria-label", voiceOf(row));
    node.classList.toggle("streaming", row.streaming);
    fill(node, render(row.text, row.half));
  });
}

const voiceOf = ({ name }) => (name ? reveal(humanize(name)) : "Assistant");

/** An answer that is JSON, for whoever reads it. */
export function createForm() {
  const value = createValue();
  const node = h("article", { class: "row form" }, value.node);
  return component(node, (row) => {
    node.setAttribute("aria-label", voiceOf(row));
    value.update(row.value);
  });
}

/** Block by block, so that streaming touches only the end and a selection further up survives. */
function fill(node, blocks) {
  blocks.forEach((html, index) => {
    const known = node.children[index];
    if (known?.source === html) return;
    const block = document.createElement("template");
    block.innerHTML = html; // Safe: markdown.js escapes everything before it adds its own tags.
    const next = block.content.firstElementChild;
    next.source = html;
    if (known) known.replaceWith(next);
    else node.append(next);
  });
  while (node.children.length > blocks.length) node.lastElementChild.remove();
}

export function createReasoning() {
  const label = h("span", {});
  const body = h("div", { class: "thought prose", dir: "auto" });
  const render = createRenderer();
  const node = h("details", { class: "row reasoning" }, h("summary", {}, icon("chevron"), label), body);
  return component(node, (row) => {
    node.classList.toggle("active", row.active);
    setText(label, row.active ? "Thinking…" : row.seconds ? `Thought for ${row.seconds} s` : "Thoughts");
    fill(body, render(row.text, row.active));
  });
}

/** What a tool shows while it runs: a bar where there are `done` and `total`; whatever else there is, as a list. */
export function createActivity() {
  const name = h("span", {});
  const count = h("span", { class: "activity-count" });
  const bar = h("progress", {});
  const others = createValue();
  const kind = h("span", { class: "activity-kind", dir: "auto" });
  const node = h("section", { class: "row activity" }, h("p", {}, name, kind, count), bar, others.node);
  return component(node, (row) => {
    const { title, done, total, ...more } = isObject(row.content) ? row.content : { content: row.content };
    const counted = Number.isFinite(done) && Number.isFinite(total) && total > 0;
    const uncounted = Object.entries({ done, total }).filter(([, value]) => !counted && value !== undefined);
    const rest = { ...(["string", "undefined"].includes(typeof title) ? {} : { title }), ...Object.fromEntries(uncounted), ...more };
    const type = kindOf(String(row.title ?? "activity"));
    setText(name, typeof title === "string" ? reveal(title) : type);
    setText(kind, typeof title === "string" ? type : "");
    setText(count, counted ? `${done} of ${total}` : "");
    node.setAttribute("aria-label", name.textContent);
    bar.setAttribute("aria-label", name.textContent);
    bar.hidden = !counted;
    if (counted) Object.assign(bar, { max: total, value: done });
    others.node.hidden = Object.keys(rest).length === 0;
    if (!others.node.hidden) others.update(rest);
  });
}

/** Somebody else's name for it is left as it is. */
const kindOf = (name) => reveal(/^[\w-]+$/.test(name) ? humanize(name) : name);

export function createWorking() {
  const dots = h("span", { class: "dots", "aria-hidden": "true" }, h("i"), h("i"), h("i"));
  const node = h("div", { class: "row working" }, dots, h("span", { class: "quiet" }, "Working"));
  return component(node, () => {});
}

/** Stands before calls that ran in an answer which is gone. */
export function createReplaced() {
  const node = h("p", { class: "row replaced" }, icon("check"), "Ran in an answer that was replaced. What it did stays done.");
  return component(node, () => {});
}

/** Stands under an answer that was stopped or broke off. */
export function createCut() {
  const node = h("p", { class: "row cut" }, icon("stop"), "This answer was cut off before it was complete.");
  return component(node, () => {});
}

/** Stands under a message that was sent while a call waits, and that nobody took back for it. */
export function createKept() {
  const node = h("p", { class: "row cut", role: "status" }, icon("clock"), "Your message is kept. It is answered after your decision above.");
  return component(node, () => {});
}

/** The answer that is still to come: nobody asked for it since the last result. */
export function createUnread(actions) {
  const go = h("button", { class: "button plain small", type: "button", onclick: actions.goOn }, "Go on");
  const node = h("div", { class: "row unread" }, h("span", { class: "quiet" }, "The assistant has not read this yet."), go);
  return component(node, () => {});
}

/** Copy, try again, and what the run took. */
export function createFooter(actions) {
  const meta = h("span", { class: "meta" });
  const copy = h("button", { class: "ghost small", type: "button" }, icon("copy"), "Copy");
  const again = h("button", { class: "ghost small", type: "button", onclick: actions.regenerate }, icon("retry"), "Try again");
  const node = h("div", { class: "row footer" }, copy, again, meta);
  let text = "";
  copy.addEventListener("click", async () => {
    await actions.copy(text);
    copy.lastChild.textContent = "Copied";
    setTimeout(() => (copy.lastChild.textContent = "Copy"), 1500);
  });
  return component(node, (row) => {
    text = row.text;
    again.hidden = !row.last;
    setText(meta, [row.footer ? footerText(row.footer) : "", row.used ? chatText(row.used) : ""].filter(Boolean).join(" · "));
  });
}

function footerText({ seconds, input, output }) {
  const parts = [`${seconds < 10 ? Math.max(0.1, seconds).toFixed(1) : Math.round(seconds)} s`];
  if (input || output) parts.push(`${input.toLocaleString("en")} tokens in`, `${output.toLocaleString("en")} out`);
  return parts.join(" · ");
}

function chatText({ input, output, cost }) {
  const money = cost ? `, about $${cost < 0.01 ? cost.toPrecision(2) : cost.toFixed(2)}` : "";
  return `this chat: ${(input + output).toLocaleString("en")} tokens${money}`;
}
