/**
 * The card for one gated call: what would run, with which arguments, and the decision. Questions use the same card
 * with a form of their own. The card only reports decisions (`actions.decide(ask, decision | null)`); nothing is sent here.
 */

import { changes } from "./asks.js";
import { createCountdown } from "./countdown.js";
import { h, icon } from "./dom.js";
import { humanize, isObject, shorten, showValue, summary } from "./fields.js";
import { createInput, readAll, readEdits } from "./form.js";

/** A card for `ask`, in mode `view`, `edit` or `reject`; `update(draft)` shows what was decided so far. */
export function createCard(ask, actions) {
  const node = h("section", { class: "card", tabindex: "-1", "aria-label": `Approval needed: ${title(ask)}` });
  const show = (mode) => {
    const part = MODES[mode](ask, actions, show);
    const had = node.contains(document.activeElement);
    node.dataset.mode = mode;
    const [head, ...rest] = part.content;
    node.replaceChildren(head, ...(ask.refused ? [h("p", { class: "card-refused", role: "alert" }, icon("warning"), ask.refused)] : []), ...rest);
    if (!had && !part.focus) return;
    (part.focus ?? node).focus(); // the button that had the focus is gone
    if (node.offsetHeight < innerHeight * 0.7) node.scrollIntoView({ block: "nearest" }); // down to its buttons
  };
  show(ask.kind === "question" ? "question" : "view");
  let current = null;
  return {
    node,
    update(draft) {
      if (draft === current) return;
      current = draft;
      if (draft) {
        node.dataset.mode = "decided";
        node.replaceChildren(draftLine(ask, draft, actions));
      } else show(ask.kind === "question" ? "question" : "view");
    },
  };
}

const MODES = { view: viewMode, edit: editMode, reject: rejectMode, question: questionMode };

const title = (ask) => (ask.tool ? humanize(ask.tool) : "Question");

function header(ask, text) {
  const said = h("p", {}, text);
  const expiry = ask.expiresAt ? createCountdown(ask.expiresAt, () => expire(said)) : null;
  const heading = h("h2", { class: "card-title" }, title(ask));
  const name = ask.tool ? h("code", { class: "card-tool" }, ask.tool) : null;
  const badge = h("span", { class: "card-badge" }, icon("gate"));
  return h("header", { class: "card-header" }, badge, h("div", { class: "card-heading" }, heading, said), expiry ?? name);
}

/** An expired card can't be answered any more; what was asked stays readable. */
function expire(said) {
  said.textContent = "Nobody answered in time, so it didn't run. Say something to go on.";
  for (const control of said.closest(".card").querySelectorAll("button, input, select, textarea")) control.disabled = true;
}

const purpose = (ask) => ask.message || "The assistant wants to do this. Nothing happens until you decide.";

function viewMode(ask, actions, show) {
  const approve = button("Approve", "primary", "check", () => actions.decide(ask, { approved: true }));
  const edit = ask.fields.length > 0 ? button("Edit", "plain", "edit", () => show("edit")) : null;
  const reject = button("Reject", "plain danger", "cross", () => show("reject"));
  return { content: [header(ask, purpose(ask)), argumentTable(ask.arguments), h("div", { class: "card-actions" }, approve, edit, reject)] };
}

function editMode(ask, actions, show) {
  const inputs = ask.fields.map(createInput);
  const submit = () => {
    const edits = readEdits(inputs, ask.arguments);
    if (edits) actions.decide(ask, { approved: true, edits: changes(ask, edits) });
  };
  const table = argumentTable(ask.arguments, inputs);
  const buttons = h(
    "div",
    { class: "card-actions" },
    h("button", { class: "button primary", type: "submit" }, icon("check"), "Approve with changes"),
    button("Back", "plain", null, () => show("view")),
  );
  const form = asForm(submit, table, buttons);
  return { content: [header(ask, "Change what you want to change, then approve."), form], focus: inputs[0]?.input };
}

function rejectMode(ask, actions, show) {
  const id = `reason-${ask.id}`;
  const reason = h("input", { type: "text", id, autocomplete: "off", maxlength: "500" });
  const label = h("label", { for: id }, "Why not? The assistant reads this. (optional)");
  const submit = () => actions.decide(ask, { approved: false, reason: reason.value.trim() || undefined });
  const buttons = h(
    "div",
    { class: "card-actions" },
    h("button", { class: "button reject", type: "submit" }, icon("cross"), "Reject"),
    button("Back", "plain", null, () => show("view")),
  );
  const text = "It won't run, and the assistant goes on without it.";
  const form = asForm(submit, h("div", { class: "field reason" }, label, reason), buttons);
  return { content: [header(ask, text), argumentTable(ask.arguments), form], focus: reason };
}

function questionMode(ask, actions) {
  const inputs = ask.fields.map(createInput);
  const submit = () => {
    const answer = readAll(inputs);
    if (answer) actions.decide(ask, { approved: true, answer });
  };
  const buttons = h(
    "div",
    { class: "card-actions" },
    h("button", { class: "button primary", type: "submit" }, icon("check"), "Send"),
    button("Decline", "plain danger", "cross", () => actions.decide(ask, { approved: false })),
  );
  const rows = inputs.flatMap(inputRow);
  return { content: [header(ask, ask.message || "The assistant asks you something."), asForm(submit, h("dl", { class: "arguments" }, rows), buttons)] };
}

function asForm(submit, ...children) {
  const onsubmit = (event) => {
    event.preventDefault();
    submit();
  };
  return h("form", { onsubmit, novalidate: true }, children);
}

function button(text, look, symbol, onclick) {
  return h("button", { class: `button ${look}`, type: "button", onclick }, symbol ? icon(symbol) : null, text);
}

/** Label and value; what one of the `inputs` is about is shown as that input instead. */
export function argumentTable(args, inputs = []) {
  const names = [...new Set([...Object.keys(args), ...inputs.map(({ field }) => field.path[0])])];
  if (names.length === 0) return h("p", { class: "quiet" }, "No arguments.");
  const rows = names.flatMap((name) => {
    const own = inputs.filter(({ field }) => field.path[0] === name);
    return own.length > 0 ? own.flatMap(inputRow) : valueRow(name, args[name]);
  });
  return h("dl", { class: "arguments" }, rows);
}

const inputRow = ({ id, field, node }) => [h("dt", {}, h("label", { for: id }, field.label)), h("dd", {}, node)];

function valueRow(name, value) {
  const nested = isNested(value) ? "nested" : null;
  return [h("dt", { class: nested }, humanize(name)), h("dd", { class: nested }, valueNodes(value))];
}

const isNested = (value) => isObject(value) || (Array.isArray(value) && value.some(isNested));

/** Nothing is set apart from text that says so. */
function valueNodes(value) {
  if (value === null || value === undefined || value === "") return h("span", { class: "quiet" }, value === "" ? "Empty" : "None");
  if (typeof value === "boolean") return value ? "Yes" : "No";
  if (typeof value !== "object") return showValue(value);
  if (Object.keys(value).length === 0) return h("span", { class: "quiet" }, "None");
  return Array.isArray(value) ? value.map((item) => h("div", {}, valueNodes(item))) : argumentTable(value);
}

/** Decided but not sent: several cards go out together. */
function draftLine(ask, draft, actions) {
  const change = h("button", { class: "ghost small", type: "button", onclick: () => actions.decide(ask, null) }, "Change");
  const verb = ask.kind === "question" ? (draft.approved ? "Will answer" : "Will decline") : draft.approved ? "Will approve" : "Will reject";
  const text = h("span", {}, h("strong", {}, verb), ` ${title(ask).toLowerCase()} · ${summary({ ...ask.arguments, ...draft.edits })}`);
  return h("div", { class: "card-line", "data-approved": String(draft.approved) }, icon(draft.approved ? "check" : "cross"), text, change);
}

/** What was decided, in one line: `You approved · Amount 20 → 15`. */
export function decisionText(decision, args) {
  if (decision.answer) return "You answered";
  if (!decision.approved) return decision.reason ? `You rejected · “${decision.reason}”` : "You rejected";
  const edits = Object.entries(decision.edits ?? {}).map(([name, value]) => edit(name, args[name], value));
  return ["You approved", ...edits].join(" · ");
}

function edit(name, ...values) {
  if (values.some((value) => typeof value === "object" && value !== null)) return `${humanize(name)} changed`;
  return `${humanize(name)} ${values.map((value) => shorten(showValue(value ?? "–"), 60)).join(" → ")}`;
}
