/** What ran in answers that were replaced: a line at the top of the conversation that stays in sight, and opens. */

import { h, icon, same, setText } from "./dom.js";
import { humanize, summary } from "./fields.js";
import { bothArguments } from "./records.js";
import { reveal, shown } from "./reveal.js";
import { unitsFor } from "./units.js";
import { changesOf, decisionLine, outcome } from "./words.js";

export function createReplaced() {
  const label = h("span", {});
  const list = h("ul", {});
  const node = h("details", { class: "row replaced" }, h("summary", {}, icon("check"), label, icon("chevron")), list);
  let last = null;
  return {
    node,
    update(row) {
      const drawn = { runs: JSON.stringify(row.runs) };
      if (same(drawn, last)) return;
      last = drawn;
      setText(label, title(row.runs, row.schemas));
      list.replaceChildren(...row.runs.map(({ record }) => item(record, row.schemas)));
    },
  };
}

/** One of them is named in the line itself. */
function title(runs, schemas) {
  if (runs.length > 1) return `${runs.length} actions ran, in answers that were replaced`;
  return `${whatRan(runs[0].record, schemas)}: ran, in an answer that was replaced`;
}

const unitsOf = (record, schemas) => unitsFor(record.arguments ?? {}, { schema: schemas[record.tool], message: record.message });

function whatRan(record, schemas) {
  const { ran } = bothArguments(record);
  return reveal([humanize(record.tool ?? "a call"), summary(ran, unitsOf(record, schemas))].filter(Boolean).join(" · "));
}

function item(record, schemas) {
  const lines = [decisionLine(record), ...changesOf(record, {}, unitsOf(record, schemas))].filter(Boolean).join(" · ");
  return h("li", {}, h("strong", {}, whatRan(record, schemas)), ` ${outcome(record)}`, lines ? h("p", { dir: "auto" }, shown(lines)) : null);
}
