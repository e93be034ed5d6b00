/** What is done with calls besides their cards: several at once, handing one to a colleague, and an emergency, in which one decides for all. */

import { decideCall, handTo } from "./api.js";
import { at, say, words } from "./approvalwords.js";
import { fromApproval, toApproval } from "./components/core/asks.js";
import { isWaiting } from "./components/core/ledger.js";
import { peopleOf, peopleText } from "./components/core/people.js";
import { reveal } from "./components/core/reveal.js";
import { stringsFor } from "./components/core/strings.js";
import { humanize, summary } from "./components/core/values.js";
import { html, nothing } from "./components/vendor/lit.js";
import { lang } from "./desk.js";
import { confirm } from "./dialogs.js";
import { h } from "./dom.js";
import { askAndSend, field, valueOf } from "./forms.js";

const AT_ONCE = 4; // requests

/** `Refund · Refund 20 € for order A1?`: which call it is. */
export const whatOf = ({ tool, message, ...call }) => `${humanize(tool)} · ${message || summary(call.effective_arguments ?? call.arguments)}`;

/** Whether somebody may hand it on, as far as that is known: the server asks for a principal, and those have an asker. */
const mayHandOn = ({ asker, you }) => Boolean(asker) && (!you || you.may.some((what) => what !== "break_glass"));
const mayBreakGlass = ({ you }) => Boolean(you?.may.includes("break_glass"));

/** Buttons for a call that waits; `then(what came of it)` is told once the server has done it. */
export function actionsOf(entry, then) {
  if (!entry || !isWaiting(entry)) return nothing;
  const { record } = entry;
  return [
    mayHandOn(record) ? html`<button class="button plain small" type="button" @click=${() => handOn(record, then)}>${words.handOn}</button>` : nothing,
    mayBreakGlass(record) && !record.frozen ? html`<button class="button plain small danger" type="button" @click=${() => breakGlass(record, true, then)}>${words.breakGlass}</button>` : nothing,
    mayBreakGlass(record) ? html`<button class="button plain small danger" type="button" @click=${() => breakGlass(record, false, then)}>${words.breakNo}</button>` : nothing,
  ];
}

/** Ask to whom, and hand it there. */
export async function handOn(record, then) {
  if (!mayHandOn(record)) return;
  const told = await askAndSend({
    title: words.handOnTitle, text: words.handOnText, yes: words.handOnYes, no: words.cancel,
    details: [h("p", { class: "about", dir: "auto" }, reveal(whatOf(record))), ...field("to", words.to, { required: true, autofocus: true, maxlength: "500", autocapitalize: "off", spellcheck: "false" })],
    read: () => valueOf("to"),
    send: async (to) => say("handedOn", { to: reveal((await handTo(record.id, to)).handed_to.to) }),
  });
  if (told) then(told);
}

/** Ask for a reason, and decide as it is shown, in the place of all who have to agree. */
async function breakGlass(record, approved, then) {
  const decision = (reason) => ({ ...toApproval(fromApproval(record), { approved, reason }), break_glass: true });
  const [title, yes, came] = approved ? ["breakGlassTitle", "breakGlassYes", "glassBroken"] : ["breakNoTitle", "breakNoYes", "brokenNo"];
  const told = await askAndSend({
    title: words[title], text: words.breakGlassText, yes: words[yes], no: words.cancel, danger: true,
    details: [h("p", { class: "about", dir: "auto" }, reveal(whatOf(record))), ...field("why", words.why, { required: true, autofocus: true, maxlength: "500" })],
    read: () => valueOf("why"),
    send: async (reason) => (await decideCall(record.id, decision(reason)), words[came]),
  });
  if (told) then(told);
}

/** A line of the list of calls that may be decided in an emergency. */
export const emergencyRow = (then) => (record) => html`<li>
  <strong dir="auto">${reveal(whatOf(record))}</strong>
  <p class="quiet" dir="auto">${reveal(peopleText(peopleOf(record), stringsFor(lang)))} · <time datetime=${record.asked_at}>${at(record.asked_at)}</time></p>
  <a class="button plain small" href="#${record.id}">${words.open}</a>${actionsOf({ record }, then)}
</li>`;

/** Ask whether these calls are decided so, and decide each as it was listed. Resolves to those that were not taken; null where the answer is no. */
export async function decideTogether(chosen, approved, gate) {
  const { length: count } = chosen;
  const reason = h("input", { type: "text", id: "all-reason", maxlength: "500", autocomplete: "off", autofocus: true });
  const lines = h("ul", { class: "all-lines", tabindex: "0" }, chosen.map((entry) => h("li", { dir: "auto" }, reveal(whatOf(entry.record)))));
  const details = approved ? [lines] : [lines, h("label", { for: "all-reason" }, words.reason), reason];
  const [title, yes] = approved ? ["approveTitle", "approve"] : ["rejectTitle", "reject"];
  if (!(await confirm({ title: say(title, { count }), details, yes: words[yes], no: words.cancel, danger: !approved }))) return null;
  const decision = { approved, ...(reason.value.trim() && { reason: reason.value.trim() }) };
  const left = chosen.map(({ id, ask }) => ({ id, ask })).reverse();
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let one = left.pop(); one; one = left.pop()) await gate.decide(one.id, decision, { shown: one.ask });
  }));
  return chosen.filter(({ id }) => ![null, undefined, "agreed"].includes(gate.ledger.entry(id)?.problem?.kind));
}
