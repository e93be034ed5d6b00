/** What is of the person who uses the page: what was given to them, and what they decided of others' calls. */

import { say, words, at } from "./approvalwords.js";
import { whatOf } from "./colleagues.js";
import { isWaiting } from "./components/core/ledger.js";
import { reveal } from "./components/core/reveal.js";
import { html, nothing } from "./components/vendor/lit.js";

/** Whether a route is open to them; as long as nobody knows who they are, each is. */
export const isOpen = (me, route) => !me || me.routes.includes(route);

/** Whether a colleague has handed them the call. */
export const isHandedTo = (me, { handed_to: handed }) => Boolean(me && handed && handed.to === me.principal);

/** What they were given to do: calls by colleagues, and a deputy's part. */
export function givenTo(me, entries) {
  const count = entries.filter((entry) => isWaiting(entry) && isHandedTo(me, entry.record)).length;
  const lines = [count > 0 && say("handedToYou", { count }), ...(me?.deputy_of ?? []).map(({ absent, until }) => reveal(say("youStandIn", { absent, until: at(until) })))].filter(Boolean);
  return lines.length === 0 ? nothing : html`<div class="given" role="status">${lines.map((line) => html`<p dir="auto">${line}</p>`)}</div>`;
}

const DECISIONS = ["approved", "agreed", "rejected"];

/** Of a page of the audit trail: what they decided of others' calls. */
export const decidedOf = (me, { entries, next_cursor: next }) => ({
  rows: entries.filter(({ kind, by, owner }) => DECISIONS.includes(kind) && by === me.principal && owner !== me.acts_for).map((entry) => ({ ...entry, id: `${entry.approval_id} ${entry.thread_key}.${entry.seq}` })),
  next,
});

/** A line of that list. */
export const othersRow = ({ kind, owner, asker, approval_id: id, at: when, break_glass: alarm, ...call }) => html`<li>
  <strong dir="auto">${reveal(whatOf({ ...call, arguments: call.arguments ?? {} }))}</strong>
  <p class="quiet" dir="auto">${[words[kind], alarm && words.inEmergency, say("askedBy", { asker: reveal(asker || owner) })].filter(Boolean).join(" · ")} <time datetime=${when}>${at(when)}</time></p>
  <a class="button plain small" href="audit?approval=${encodeURIComponent(id)}">${words.story}</a>
</li>`;

/** A line of what was decided of one's own calls. */
export function decidedRow(record) {
  return html`<li>
    <agui-decision-line call .record=${record} .schema=${record.schema}></agui-decision-line>
    <p class="quiet" dir="auto">${[record.thread?.title, record.message].filter(Boolean).map(reveal).join(" · ")} <time datetime=${record.asked_at}>${at(record.asked_at)}</time></p>
  </li>`;
}
