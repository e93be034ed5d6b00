/** Before an answer is replaced: what ran in it stays done, so somebody who asks for another one is told. */

import { bothArguments, outcome } from "./components/core/records.js";
import { unitsFor } from "./components/core/units.js";
import { humanize, inOrder, summary } from "./components/core/values.js";
import { confirm } from "./dialogs.js";
import { h, shown } from "./dom.js";
import { ranInAnswer } from "./state.js";

/** Resolves to whether the last answer may be replaced: where nothing ran in it, without asking. */
export async function mayReplace(state) {
  const ran = ranInAnswer(state);
  if (ran.length === 0) return true;
  return confirm({
    title: "Try again?",
    text: "The answer is regenerated. Calls that ran stay done, and the assistant may ask for them again:",
    details: [h("ul", { class: "dialog-list" }, ran.map((call) => line(call, state.schemas[call.name])))],
    yes: "Try again",
    no: "Keep this answer",
  });
}

function line({ record, name, arguments: args }, schema) {
  const both = bothArguments(record, args);
  const what = summary(inOrder(both.ran, schema), unitsFor(both.issued, { schema, message: record.message }));
  return h("li", {}, h("strong", {}, shown(humanize(name))), shown(` · ${what} · `), outcome(record));
}
