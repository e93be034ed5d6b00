/** One tool call: a line with its name and live status that opens to arguments and result; its card while it waits. */

import { parseObject } from "./asks.js";
import { argumentTable, createCard, decisionText } from "./cards.js";
import { h, icon, same, setText } from "./dom.js";
import { summary } from "./fields.js";

const STATUS = {
  running: ["Running", null],
  waiting: ["Waiting for you", "gate"],
  done: ["Done", "check"],
  error: ["Failed", "warning"],
  rejected: ["Rejected", "cross"],
  superseded: ["Superseded", "skip"],
  expired: ["Expired", "clock"],
  stopped: ["Stopped", "stop"],
};

export function createTool(actions) {
  const view = makeView();
  let last = null;
  let card = null;
  return {
    node: view.node,
    update(row) {
      card = syncCard(view, card, row, actions);
      const { ask, draft, ...rest } = row;
      if (same(rest, last)) return;
      last = rest;
      showLine(view, row);
    },
  };
}

function makeView() {
  const symbol = h("span", { class: "tool-symbol" });
  const name = h("code", { class: "tool-name" });
  const preview = h("span", { class: "tool-preview" });
  const status = h("span", { class: "tool-status" });
  const body = h("div", { class: "tool-body" });
  const decision = h("p", { class: "tool-decision" });
  const line = h("details", { class: "tool-line" }, h("summary", {}, symbol, name, preview, status, icon("chevron")), body);
  const node = h("div", { class: "row tool" }, line, decision);
  return { node, line, symbol, name, preview, status, body, decision };
}

/** While a card can be answered it stands in for the line. */
function syncCard(view, card, { ask, draft }, actions) {
  if (!ask) {
    card?.node.remove();
    view.line.hidden = false;
    return null;
  }
  const asked = JSON.stringify(ask); // Anew when more becomes known about it, such as what may be edited.
  const current = card?.asked === asked ? card : { asked, ...createCard(ask, actions) };
  if (current !== card) {
    card?.node.remove();
    view.node.append(current.node);
  }
  current.update(draft);
  view.line.hidden = true;
  return current;
}

function showLine(view, row) {
  const [label, symbol] = STATUS[row.status];
  const issued = parseObject(row.arguments);
  const args = issued && row.decision?.approved ? { ...issued, ...row.decision.edits } : issued;
  view.node.dataset.status = row.status;
  view.symbol.replaceChildren(symbol ? icon(symbol) : h("span", { class: "spinner" }));
  setText(view.name, row.name);
  setText(view.preview, args ? summary(args) : "");
  setText(view.status, label);
  view.body.replaceChildren(...bodyParts(row, args));
  view.decision.hidden = !row.decision;
  if (row.decision) showDecision(view.decision, row.decision, issued ?? {});
}

function showDecision(node, decision, args) {
  node.dataset.approved = String(decision.approved);
  node.replaceChildren(icon(decision.approved ? "check" : "cross"), decisionText(decision, args));
}

function bodyParts(row, args) {
  const parts = [h("h3", {}, "Arguments"), args ? argumentTable(args) : h("pre", { tabindex: "0" }, row.arguments || "…")];
  if (row.result === null) return parts;
  return [...parts, h("h3", {}, "Result"), resultNode(row.result)];
}

function resultNode(text) {
  return h("pre", { tabindex: "0" }, pretty(text) || "(empty)");
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
