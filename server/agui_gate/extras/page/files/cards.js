/**
 * The card for one gated call: what would run, with which arguments, and the decision. Questions use the same card
 * with a form of their own. The card only reports decisions (`actions.decide(ask, decision | null)`); nothing is sent here.
 */

import { argumentTable, inputRow } from "./arguments.js";
import { changes } from "./asks.js";
import { createCountdown } from "./countdown.js";
import { h, icon } from "./dom.js";
import { humanize, inOrder, summary } from "./fields.js";
import { createInput, readAll, readEdits } from "./form.js";
import { keyed, withKeys } from "./keys.js";
import { bothArguments } from "./records.js";
import { reveal, shown } from "./reveal.js";
import { readEdit, writeEdit } from "./storage.js";
import { unitsFor } from "./units.js";
import { outcome } from "./words.js";

/**
 * A card for `ask`, in mode `view`, `edit` or `reject`; `update(draft, earlier)` shows what was decided so far, and what
 * the same tool already did in this chat: `[{record, arguments}]`.
 */
export function createCard(ask, given) {
  let answered = false; // even if this card is never drawn as decided: a run may be over between two frames
  const actions = {
    ...given,
    decide(about, decision) {
      answered = decision !== null;
      writeEdit(about.key, null);
      given.decide(about, decision);
    },
  };
  const slot = h("div", {});
  let told = "";
  const node = h("section", { class: "card", tabindex: "-1", "aria-label": `Approval needed: ${reveal(whole(ask))}` });
  const show = (mode) => {
    if (mode === "view") writeEdit(ask.key, null); // it was left
    const part = MODES[mode](ask, actions, show);
    const had = node.contains(document.activeElement);
    answered = false;
    node.dataset.mode = mode;
    const [head, ...rest] = part.content;
    node.replaceChildren(head, ...refusal(ask), slot, ...rest);
    if (!had && !part.focus) return;
    (part.focus ?? node).focus(); // the button that had the focus is gone
    if (mode === "edit") part.focus?.select?.();
    if (node.offsetHeight < innerHeight * 0.7) node.scrollIntoView({ block: "nearest" }); // down to its buttons
  };
  const isEdited = ask.kind === "approval" && ask.fields.length > 0 && readEdit(ask.key) !== null; // before a reload
  show(ask.kind === "question" ? "question" : isEdited ? "edit" : "view");
  withKeys(node, () => ["edit", "reject"].includes(node.dataset.mode) && (show("view"), true));
  let current = null;
  return {
    node,
    /** Whether the person is in the middle of an answer. */
    isAtWork: () => !answered && ["edit", "reject"].includes(node.dataset.mode),
    update(draft, earlier) {
      if (JSON.stringify(earlier) !== told) slot.replaceChildren(...earlierLines(ask, earlier));
      told = JSON.stringify(earlier);
      if (draft === current) return;
      current = draft;
      if (draft) {
        node.dataset.mode = "decided";
        node.replaceChildren(draftLine(ask, draft, actions));
      } else show(ask.kind === "question" ? "question" : "view");
    },
  };
}

const MOST_EARLIER = 3;
let serial = 0; // a call may have a card in its chat and one in the inbox

const MODES = { view: viewMode, edit: editMode, reject: rejectMode, question: questionMode };

const title = (ask) => (ask.tool ? humanize(ask.tool) : "Question");

const whole = (ask) => (ask.agent ? `${humanize(ask.agent)} asks: ${title(ask)}` : title(ask));

const refusal = ({ refused }) => (refused ? [h("p", { class: "card-refused", role: "alert" }, icon("warning"), h("span", {}, shown(refused)))] : []);

/** So that nobody approves the same thing twice without knowing. */
function earlierLines({ schema, arguments: args }, earlier) {
  if (earlier.length === 0) return [];
  const canonical = (values) => JSON.stringify(Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1)));
  const same = earlier.filter(({ record, arguments: given }) => canonical(bothArguments(record, given).ran) === canonical(args));
  const [isSame, told] = same.length > 0 ? [true, same] : [false, earlier];
  const lines = told.slice(-MOST_EARLIER).map(({ record, arguments: args }) => {
    const { issued, ran } = bothArguments(record, args);
    const what = summary(inOrder(ran, schema), unitsFor(issued, { schema, message: record.message }));
    return h("li", {}, [...shown(what), what ? " · " : "", outcome(record), record.replaced ? ", in an answer that was replaced" : ""]);
  });
  const more = earlier.length - lines.length;
  const ran = told.some(({ record }) => record.state !== "failed");
  const title = `${isSame ? "The very same already" : "Already"} ${ran ? "ran" : "tried"} in this chat:`;
  const list = h("ul", {}, lines, more > 0 ? h("li", {}, `and ${more} more about the same`) : null);
  return [h("div", { class: "card-earlier", "data-same": String(isSame) }, icon(isSame ? "warning" : "clock"), h("div", {}, h("strong", {}, title), list))];
}

function header(ask, text) {
  const said = h("p", { dir: "auto" }, shown(text));
  const expiry = ask.expiresAt ? createCountdown(ask.expiresAt, () => expire(said)) : null;
  const heading = h("h2", { class: "card-title", title: ask.tool ? reveal(ask.tool) : null }, shown(title(ask)));
  const asker = ask.agent ? h("p", { class: "card-agent", dir: "auto" }, shown(`${humanize(ask.agent)} asks`)) : null;
  const badge = h("span", { class: "card-badge" }, icon("gate"));
  return h("header", { class: "card-header" }, badge, h("div", { class: "card-heading" }, asker, heading, said), expiry);
}

/** An expired card can't be answered any more; what was asked stays readable. */
function expire(said) {
  said.textContent = "Nobody decided in time, so it did not run. Send a message to continue.";
  for (const control of said.closest(".card").querySelectorAll("button, input, select, textarea")) control.disabled = true;
}

const purpose = (ask) => ask.message || `${ask.agent ? humanize(ask.agent) : "The assistant"} wants to do this. Nothing happens until you decide.`;

const tableOf = (ask, inputs = []) => argumentTable(ask.arguments, { inputs, unit: unitsFor(ask.arguments, ask), schema: ask.schema });

function viewMode(ask, actions, show) {
  const approve = keyed("A", button("Approve", "primary", "check", () => actions.decide(ask, { approved: true })));
  const edit = ask.fields.length > 0 ? keyed("E", button("Edit", "plain", "edit", () => show("edit"))) : null;
  const reject = keyed("R", button("Reject", "plain danger", "cross", () => show("reject")));
  return { content: [header(ask, purpose(ask)), tableOf(ask), h("div", { class: "card-actions" }, approve, edit, reject)] };
}

function editMode(ask, actions, show) {
  const kept = readEdit(ask.key) ?? {};
  const inputs = inputsOf(ask);
  for (const input of inputs) {
    if (kept[input.field.name] !== undefined) input.put(kept[input.field.name]);
    input.input.addEventListener("input", () => writeEdit(ask.key, Object.fromEntries(inputs.map((one) => [one.field.name, one.text()]))));
  }
  const submit = () => {
    const edits = readEdits(inputs, ask.arguments);
    if (edits) actions.decide(ask, { approved: true, edits: changes(ask, edits) });
  };
  const table = tableOf(ask, inputs);
  const buttons = h(
    "div",
    { class: "card-actions" },
    submitButton("Approve with changes", "primary", "check"),
    button("Back", "plain", null, () => show("view")),
  );
  const form = asForm(submit, table, buttons);
  return { content: [header(ask, "Change the arguments, then approve."), form], focus: inputs[0]?.input };
}

/** Where a number has a unit, its label says so. */
function inputsOf(ask) {
  const unit = unitsFor(ask.arguments, ask);
  return ask.fields.map((field) => {
    const said = field.path.length === 1 ? unit(field.path[0], field.value) : null;
    return createInput(said ? { ...field, label: `${field.label} (${said})` } : field);
  });
}

function rejectMode(ask, actions, show) {
  serial += 1;
  const id = `reason-${serial}`;
  const reason = h("input", { type: "text", id, autocomplete: "off", maxlength: "500", value: ask.said || null });
  const label = h("label", { for: id }, "Reason (optional)");
  const submit = () => actions.decide(ask, { approved: false, reason: reason.value.trim() || undefined });
  const buttons = h(
    "div",
    { class: "card-actions" },
    submitButton("Reject", "reject", "cross"),
    button("Back", "plain", null, () => show("view")),
  );
  const text = "It won't run. The assistant reads your reason and continues without it.";
  const form = asForm(submit, h("div", { class: "field reason" }, label, reason), buttons);
  return { content: [header(ask, text), tableOf(ask), form], focus: reason };
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
    submitButton("Send", "primary", "check"),
    button("Decline", "plain danger", "cross", () => actions.decide(ask, { approved: false })),
  );
  const rows = inputs.flatMap(inputRow);
  return { content: [header(ask, ask.message || `${ask.agent ? humanize(ask.agent) : "The assistant"} asks you something.`), asForm(submit, h("dl", { class: "arguments" }, rows), buttons)] };
}

function asForm(submit, ...children) {
  const onsubmit = (event) => {
    event.preventDefault();
    submit();
  };
  return h("form", { onsubmit, novalidate: true }, children);
}

/** The second click of a double click may meet another card, which moved there: it decides nothing. */
const once = (act) => (event) => (event.detail > 1 ? event.preventDefault() : act());

function button(text, look, symbol, act) {
  return h("button", { class: `button ${look}`, type: "button", onclick: once(act) }, symbol ? icon(symbol) : null, text);
}

const submitButton = (text, look, symbol) => h("button", { class: `button ${look}`, type: "submit", onclick: once(() => {}) }, icon(symbol), text);

/** Decided but not sent: several cards go out together. */
function draftLine(ask, draft, actions) {
  const change = h("button", { class: "ghost small", type: "button", onclick: () => actions.decide(ask, null) }, "Change");
  const verb = ask.kind === "question" ? (draft.approved ? "Will answer" : "Will decline") : draft.approved ? "Will approve" : "Will reject";
  const text = h("span", {}, h("strong", {}, verb), " ", shown(`${title(ask).toLowerCase()} · ${summary({ ...ask.arguments, ...draft.edits }, unitsFor(ask.arguments, ask))}`));
  return h("div", { class: "card-line", "data-approved": String(draft.approved) }, icon(draft.approved ? "check" : "cross"), text, change);
}
