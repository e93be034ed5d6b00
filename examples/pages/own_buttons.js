// The core of the components with markup of one's own: no custom element, no shadow DOM.
import { createCard, createLedger, isWaiting, recordText } from "http://127.0.0.1:8000/components/agui-gate.js";

const ledger = createLedger({ base: "http://127.0.0.1:8000/" });
const list = document.querySelector("#cards");
const views = new Map();

/** An element with classes, properties and children; text stays text, whatever is in it. */
function h(tag, className, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), { className, ...properties });
  node.append(...children);
  return node;
}

const BUTTON = "rounded-md px-3 py-1.5 text-sm font-medium";
const button = (text, look, act) => h("button", `${BUTTON} ${look}`, { type: "button", onclick: act }, text);

function makeView(entry) {
  const card = createCard(entry.ask, { onDecide: (decision) => ledger.decide(entry.id, decision) });
  const node = h("li", "rounded-lg border p-4 shadow-sm", { id: entry.id });
  let drawn = "";
  card.subscribe(draw);
  draw();
  return { node, card, problem: null };

  function draw() {
    const { ask, mode, record, problems, refused } = card.state;
    if (drawn === (drawn = JSON.stringify([mode, record?.state, problems, refused, mode === "view" && ask]))) return; // what is typed is there already
    const body = { view, edit: form, reject, sending: () => ["Sending …"], closed: () => [recordText(record)?.text ?? record.state] }[mode]();
    const why = refused && mode !== "closed" ? [h("p", "text-red-700", { role: "alert" }, refused)] : [];
    node.replaceChildren(h("h2", "font-medium", {}, ask.tool), ...why, ...body);
  }

  function view() {
    const { ask } = card.state;
    return [
      h("pre", "my-2 text-sm", {}, JSON.stringify(ask.arguments, null, 2)),
      button("Approve", "bg-emerald-600 text-white", () => card.approve()),
      ...(ask.fields.length > 0 ? [button("Edit", "border", () => card.edit())] : []),
      button("Reject", "border text-red-700", () => card.reject()),
    ];
  }

  function form() {
    const { ask, texts, problems } = card.state;
    const inputs = ask.fields.map(({ name, label }) => {
      const typed = ({ target }) => card.type(name, target.value);
      const input = h("input", "block rounded border px-2 py-1", { name, defaultValue: texts[name] ?? "", oninput: typed });
      return h("label", "my-2 block text-sm", {}, label, input, problems[name] ?? "");
    });
    return [...inputs, button("Approve with changes", "bg-emerald-600 text-white", () => card.submit()), button("Back", "border", () => card.back())];
  }

  function reject() {
    const typed = ({ target }) => card.typeReason(target.value);
    const input = h("input", "block rounded border px-2 py-1", { defaultValue: card.state.reason, oninput: typed });
    return [h("label", "my-2 block text-sm", {}, "Reason", input), button("Reject", "bg-red-600 text-white", () => card.submit()), button("Back", "border", () => card.back())];
  }
}

ledger.subscribe(() => {
  document.querySelector("#problem").textContent = ledger.state.problem ? "The server can't be reached." : "";
  for (const entry of ledger.entries()) {
    if (!views.has(entry.id) && isWaiting(entry)) views.set(entry.id, makeView(entry));
    const view = views.get(entry.id);
    if (!view) continue;
    view.card.setAsk(entry.ask);
    view.card.setRecord(entry.record);
    if (entry.problem && entry.problem !== view.problem) view.card.reopen(entry.problem.message || "Try again.");
    view.problem = entry.problem;
    list.append(...(view.node.isConnected ? [] : [view.node]));
  }
});
ledger.update();
