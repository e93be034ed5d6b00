/** A team at work, drawn: who speaks, who hands over to whom, and what a sub-agent does with its task. */

import { changesOf, decisionLine } from "./components/core/records.js";
import { reveal } from "./components/core/reveal.js";
import { humanize, shorten } from "./components/core/values.js";
import { createList, h, icon, same, setText, shown } from "./dom.js";

const nameOf = (agent) => reveal(humanize(agent));

/** Stands before what another agent says and calls. */
export function createSpeaker() {
  const node = h("p", { class: "row speaker", dir: "auto" });
  return { node, update: (row) => setText(node, nameOf(row.name)) };
}

const HANDED = { running: "handing over", done: "", error: "did not happen", stopped: "stopped" };

/** The conversation goes from one agent to another. */
export function createHandoff() {
  const from = h("span", { dir: "auto" });
  const to = h("strong", { dir: "auto" });
  const note = h("span", { class: "handoff-note", dir: "auto" });
  const arrow = [icon("arrow"), h("span", { class: "visually-hidden" }, " hands over to ")];
  const node = h("p", { class: "row handoff" }, from, arrow, to, note);
  return {
    node,
    update(row) {
      node.dataset.status = row.status;
      setText(from, nameOf(row.from));
      setText(to, nameOf(row.to));
      setText(note, reveal([HANDED[row.status], row.note].filter(Boolean).join(": ")));
    },
  };
}

const LABELS = {
  running: "Working",
  waiting: "Waiting for you",
  paused: "Not finished",
  done: "Done",
  error: "Failed",
  unknown: "Outcome unknown",
  rejected: "Rejected",
  superseded: "Superseded",
  expired: "Expired",
  stopped: "Stopped",
};
const SYMBOLS = { running: null, waiting: "gate", paused: "clock", done: "check", error: "warning", unknown: "warning", stopped: "stop" };

/**
 * The task of a sub-agent, and what is said in it. It folds once it is done. What a person opens or shuts stays so until
 * it is at something else: a question in it is never folded away. Nothing folds while the focus is in it. `create(row)`
 * makes what is in it.
 */
export function createTask(create) {
  const view = makeView();
  const drawRows = createList(view.rows, create);
  let last = null;
  let chosen = null; // by the person
  view.head.addEventListener("click", () => (chosen = !view.details.open));
  return {
    node: view.node,
    update({ rows, ...row }) {
      drawRows(rows);
      const flat = { ...row, decided: JSON.stringify(row.decided), count: rows.length };
      if (same(flat, last)) return;
      if (row.status !== last?.status) chosen = null;
      last = flat;
      const isBusy = row.status === "done" && view.body.contains(document.activeElement);
      if (!isBusy) view.details.open = chosen ?? row.status !== "done";
      showHead(view, row);
      showBody(view, row);
    },
  };
}

function makeView() {
  const symbol = h("span", { class: "tool-symbol" });
  const name = h("strong", { class: "task-name", dir: "auto" });
  const preview = h("span", { class: "tool-preview", dir: "auto" });
  const status = h("span", { class: "tool-status" });
  const head = h("summary", {}, symbol, name, preview, status, icon("chevron"));
  const brief = h("p", { class: "task-brief", dir: "auto" });
  const decision = h("p", { class: "tool-decision" });
  const rows = h("div", { class: "task-rows" });
  const note = h("p", { class: "task-note", dir: "auto" });
  const body = h("div", { class: "task-body" }, brief, decision, rows, note);
  const details = h("details", { class: "task-line" }, head, body);
  const node = h("section", { class: "row task" }, details);
  return { node, details, head, symbol, name, preview, status, body, brief, decision, rows, note };
}

function showHead(view, { status, name, task, decided }) {
  const said = nameOf(name);
  view.node.dataset.status = status;
  view.node.setAttribute("aria-label", `${said}, a sub-agent`);
  const symbol = status in SYMBOLS ? SYMBOLS[status] : "cross";
  view.symbol.replaceChildren(symbol ? icon(symbol) : h("span", { class: "spinner" }));
  setText(view.name, said);
  setText(view.preview, reveal(shorten(task.replace(/\s+/g, " "), 120)));
  const parts = [...new Set(decided)].map((word) => `${decided.filter((one) => one === word).length} ${word}`);
  setText(view.status, [LABELS[status], ...parts].join(" · "));
}

/** What it was asked, who allowed that where somebody had to, and what came of it where its own words don't say that. */
function showBody(view, { status, task, note, record }) {
  view.brief.replaceChildren(...shown(task));
  view.brief.hidden = !task;
  const line = record ? decisionLine(record) : null;
  view.decision.hidden = !line;
  const parts = line ? [line, ...changesOf(record, { task }, () => null)] : [];
  if (line) view.decision.replaceChildren(icon(record.decision?.approved ? "check" : "cross"), h("span", { dir: "auto" }, shown(parts.join(" · "))));
  view.note.hidden = !note;
  view.note.dataset.status = status;
  view.note.replaceChildren(...(note ? [h("strong", {}, status === "done" ? "Result: " : `${LABELS[status] ?? "Ended"}: `), ...shown(note)] : []));
}
