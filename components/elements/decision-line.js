/** `<agui-decision-line>`: what the server's ledger says became of a call, in one line. */

import { nothing } from "lit/html.js";
import { reveal } from "../core/reveal.js";
import { bothArguments, callText, isLate, recordText } from "../core/records.js";
import { fill } from "../core/strings.js";
import { unitsFor } from "../core/units.js";
import { humanize } from "../core/values.js";
import { GateElement } from "./base.js";
import { html } from "./html.js";
import { ICONS } from "./icons.js";
import { shown } from "./text.js";

/**
 * @import { CallRecord, Decision, Json, Schema, Strings } from "../core/types.js"
 */

/**
 * The line as a template. Null where there is nothing to say.
 * @param {CallRecord} record
 * @param {{strings: Strings, args?: Json | null, schema?: Schema | null, withCall?: boolean, agent?: string | null, late?: boolean, unsent?: boolean, isLeft?: boolean}} options
 */
export function recordLine(record, { strings, args, schema, withCall = false, agent, late = false, unsent = false, isLeft = false }) {
  const { issued } = bothArguments(record, args);
  const unit = unitsFor(issued, { schema, message: record.message });
  const asker = agent ? fill(strings, "askedBy", { agent: humanize(agent) }) : record.asker && record.asker !== record.decision?.by ? fill(strings, "askedBy", { agent: record.asker }) : "";
  const call = withCall ? [asker, callText(record.tool ?? "", issued, unit)].filter(Boolean).join(" · ") : asker;
  const said = recordText(record, { args, call, unit, late, unsent, isLeft, strings });
  if (!said) return null;
  const approved = record.decision?.approved ?? null;
  return html`<p class="line" part="line" data-state=${record.state} data-approved=${String(approved ?? false)} data-late=${String(late || unsent)} role=${late || unsent ? "alert" : nothing}>
    ${approved === null ? ICONS.clock : approved ? ICONS.check : ICONS.cross}<span dir="auto">${shown(said.text)}${said.note ? html`. <strong>${said.note}</strong>` : nothing}</span>
  </p>`;
}

export class DecisionLine extends GateElement {
  static properties = {
...GateElement.properties,
    record: {},
    arguments: {},
    schema: {},
    mine: {},
    late: { type: Boolean },
    unsent: { type: Boolean },
    left: { type: Boolean },
    agent: { type: String },
    call: { type: Boolean },
  };

  constructor() {
    super();
    /** @type {CallRecord | null} */
    this.record = null;
    /** @type {Json | null} The call's arguments, where the record doesn't say them. */
    this.arguments = null;
    /** @type {Schema | null} */
    this.schema = null;
    /** @type {Decision | null} What was answered here: if the record says otherwise, it came too late. */
    this.mine = null;
    /** It is known that an answer from here came too late. */
    this.late = false;
    /** Somebody was about to answer here when it was closed. */
    this.unsent = false;
    /** It was approved, and nothing is at work on it. */
    this.left = false;
    /** @type {string | null} Who asked, where that isn't plain. */
    this.agent = null;
    /** Say which call it is. */
    this.call = false;
  }

  render() {
    const { record, agent, schema } = this;
    if (!record) return nothing;
    const options = { strings: this.words, args: this.arguments, schema, withCall: this.call, agent, late: this.late || isLate(record, this.mine), unsent: this.unsent, isLeft: this.left };
    return recordLine(record, options) ?? nothing;
  }

  /** The line as text, in which nothing is hidden. */
  get text() {
    return reveal(this.renderRoot?.textContent?.trim() ?? "");
  }
}
