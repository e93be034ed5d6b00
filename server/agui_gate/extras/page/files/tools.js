/** One tool call: a line with its name and live status that opens to arguments and result; its card while it waits. */

import { createCard } from "./cards.js";
import { parseJson, parseObject } from "./components/core/json.js";
import { bothArguments, changedNames, isClosed } from "./components/core/records.js";
import { reveal } from "./components/core/reveal.js";
import { unitsFor } from "./components/core/units.js";
import { humanize, inOrder, summary } from "./components/core/values.js";
import { drawArguments } from "./components/elements/text.js";
import { h, icon, same, setText, shown } from "./dom.js";
import { LABELS } from "./words.js";

const SYMBOLS = {
  waiting: "gate",
  done: "check",
  approved: "check",
  error: "warning",
  unknown: "warning",
  rejected: "cross",
  superseded: "skip",
  expired: "clock",
  stopped: "stop",
  deleted: "skip",
};

export function createTool(actions) {
  const view = makeView();
  let last = null;
  let card = null;
  let overtaken = false; // somebody else decided while the person was at it
  return {
    node: view.node,
    update(row) {
      const lost = card && !row.ask && !row.answered;
      const held = lost && card.node.contains(document.activeElement);
      if (lost && isClosed(row.record ?? undefined)) overtaken ||= card.isAtWork();
      card = syncCard(view, card, row, actions);
      if (held) view.summary.focus(); // what is typed on must not become a message
      const { ask, draft, earlier, ...rest } = { ...row, overtaken };
      if (same(rest, last)) return;
      last = rest;
      showLine(view, rest);
    },
  };
}

function makeView() {
  const symbol = h("span", { class: "tool-symbol" });
  const name = h("span", { class: "tool-name" });
  const preview = h("span", { class: "tool-preview" });
  const status = h("span", { class: "tool-status" });
  const body = h("div", { class: "tool-body" });
  const decision = h("agui-decision-line", { class: "tool-decision" });
  const head = h("summary", {}, symbol, name, preview, status, icon("chevron"));
  const line = h("details", { class: "tool-line" }, head, body);
  const node = h("div", { class: "row tool" }, line, decision);
  return { node, line, summary: head, symbol, name, preview, status, body, decision };
}

/** While a card can be answered it stands in for the line. */
function syncCard(view, card, { ask, draft, earlier }, actions) {
  if (!ask) {
    card?.node.remove();
    view.line.hidden = false;
    return null;
  }
  const asked = JSON.stringify({ ...ask.asked, people: null }); // Anew when more becomes known about it, such as what may be edited.
  const current = card?.asked === asked ? card : { asked, ...createCard(ask, actions) };
  const held = current !== card && (card?.node ?? view.line).contains(document.activeElement);
  if (current !== card) {
    card?.node.remove();
    view.node.append(current.node);
  }
  current.update(ask, draft, earlier);
  if (held) current.node.focus();
  view.line.hidden = true;
  return current;
}

function showLine(view, row) {
  const [label, symbol] = [LABELS[row.status], SYMBOLS[row.status]];
  const called = parseObject(row.arguments);
  const both = called && bothArguments(row.record, called);
  view.node.dataset.status = row.status;
  view.symbol.replaceChildren(symbol ? icon(symbol) : h("span", { class: "spinner" }));
  setText(view.name, reveal(humanize(row.name)));
  view.name.title = reveal(row.name);
  setText(view.preview, both ? reveal(summary(ordered(row, both, called), unitsOf(row, both))) : "");
  setText(view.status, both && changedNames(both).length > 0 ? `${label}, edited` : label);
  view.body.replaceChildren(...bodyParts(row, called, both));
  showDecision(view.decision, row, called);
}

/** What ran, in the order of the tool's schema or else of the call. */
const ordered = ({ schema }, { ran }, called) => inOrder(ran, schema ?? { properties: called });

const unitsOf = ({ schema, record }, { issued }) => unitsFor(issued, { schema, message: record?.message });

/** The ledger's word on a decision, and where an answer from here changed nothing, that too. */
function showDecision(node, { record, late, overtaken, schema }, called) {
  node.hidden = !record || !(record.decision || late || overtaken);
  if (!node.hidden) Object.assign(node, { record, arguments: called, schema, late, unsent: overtaken });
}

function bodyParts(row, called, both) {
  if (!both) return [h("h3", {}, "Arguments"), h("pre", { tabindex: "0" }, shown(row.arguments || "…")), ...resultParts(row)];
  const changed = new Map(changedNames(both).map((name) => [name, both.issued[name]]));
  const title = changed.size > 0 ? "Arguments, as changed by the person who approved" : "Arguments";
  const table = drawArguments(h("div"), ordered(row, both, called), { unit: unitsOf(row, both), changed, schema: row.schema });
  return [h("h3", {}, title), table, ...resultParts(row)];
}

function resultParts({ result }) {
  if (result === null) return [];
  return [h("h3", {}, "Result"), h("pre", { tabindex: "0", dir: "auto" }, shown(pretty(result) || "(empty)"))];
}

/** Laid out, where that loses no digit. */
function pretty(text) {
  try {
    const value = JSON.parse(text);
    return JSON.stringify(parseJson(text)) === JSON.stringify(value) ? JSON.stringify(value, null, 2) : text;
  } catch {
    return text;
  }
}
