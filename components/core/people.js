/** Who asks for a call, who is waited for, and what may be granted with a yes, in words. Pure. */

import { clock } from "./records.js";
import { ENGLISH, fill, serverSaid } from "./strings.js";
import { humanize, inOrder } from "./values.js";

/**
 * @import { Ask, CallRecord, Field, Json, Offer, People, Strings } from "./types.js"
 */

const NAMES = ["asker", "approvers", "needs", "approvals", "escalated", "handed_to", "grants", "frozen", "edited_by", "you"];

/**
 * What `said` (a record, a card's arguments, an interrupt's metadata) tells of people.
 * @param {object | null | undefined} said
 * @returns {People}
 */
export const peopleOf = (said) => Object.fromEntries(Object.entries(said ?? {}).filter(([name]) => NAMES.includes(name)));

/**
 * `ask` with what the server's record says of people, which may be more: an interrupt has no grants, more may have agreed
 * since, and what somebody edited is what a yes is to.
 * @param {Ask} ask
 * @param {Partial<CallRecord> & People | null | undefined} record
 * @returns {Ask}
 */
export function withPeople(ask, record) {
  const [known, told] = [ask.people ?? {}, peopleOf(record)];
  const people = { ...told, ...known };
  if ((told.approvals?.length ?? 0) > (known.approvals?.length ?? 0)) people.approvals = told.approvals;
  if (told.handed_to) people.handed_to = told.handed_to;
  if ((told.escalated?.length ?? 0) > (known.escalated?.length ?? 0)) people.escalated = told.escalated;
  const { edited_by: editor, effective_arguments: edited, arguments: issued, message } = record ?? {};
  if (!editor || !edited) return { ...ask, people };
  /** @param {Field} field */
  const anew = (field) => ({ ...field, value: field.path.reduce((value, name) => /** @type {Json | undefined} */ (value)?.[name], /** @type {unknown} */ (edited)) });
  return { ...ask, people, arguments: inOrder(edited, { properties: ask.arguments }), issued: issued ?? ask.arguments, message: message ?? ask.message, fields: ask.fields.map(anew) };
}

/**
 * Whether this person may do that, as far as it is known before they try.
 * @param {Ask} ask
 * @param {"approve" | "edit" | "reject"} what
 */
export function may({ fields, people: { frozen, you } = {} }, what) {
  if (what === "edit" && fields.length === 0) return false;
  return (!you || you.may.includes(what)) && (what === "reject" || !(frozen || you?.agreed));
}

/**
 * Why this person can't approve; null where they can, as far as it is known.
 * @param {Ask} ask
 * @param {Strings} [strings]
 */
export function whyBarred({ people: { frozen, you } = {} }, strings = ENGLISH) {
  if (frozen) return serverSaid(frozen, "frozen", strings);
  if (you?.agreed) return fill(strings, "youAgreed");
  return you && !you.may.includes("approve") ? (you.why ? serverSaid(you.why, "not_allowed", strings) : fill(strings, "notYours")) : null;
}

/**
 * `Needs 2 persons: finance`.
 * @param {People} people
 * @param {Strings} [strings]
 */
export function waitsForText({ approvers, needs = 1, escalated = [] }, strings = ENGLISH) {
  const named = approvers ? [approvers].flat() : [fill(strings, "somebodyElse")];
  const who = [...named, ...escalated.flat()].join(", ");
  return fill(strings, needs > 1 ? "waitsForMany" : "waitsFor", { who, count: needs });
}

/**
 * Whom all of these wait for, where who reads this can approve none of them; else null.
 * @param {(People | undefined)[]} all
 * @param {Strings} [strings]
 */
export function waitsForOthers(all, strings = ENGLISH) {
  if (all.length === 0 || all.some((people) => people?.you?.may.includes("approve") !== false)) return null;
  const said = new Set(all.map((people) => waitsForText(people ?? {}, strings)));
  return said.size > 1 ? fill(strings, "waitsForOthers") : ([...said][0] ?? null);
}

/**
 * `Asked by alice · Needs 2 persons: finance · Agreed: ben`; empty where the gate asks for nobody in particular.
 * @param {People | undefined} people
 * @param {Strings} [strings]
 */
export function peopleText({ asker, edited_by, approvers, needs, approvals = [], escalated = [], handed_to, you } = {}, strings = ENGLISH) {
  const parts = [];
  if (asker) parts.push(fill(strings, "personAsks", { name: asker }));
  if (edited_by) parts.push(fill(strings, "editedBy", { name: edited_by }));
  if (needs && (approvers || needs > 1 || !you?.may.includes("approve"))) parts.push(waitsForText({ approvers, needs, escalated }, strings));
  if (approvals.length > 0) parts.push(fill(strings, "agreed", { names: approvals.map(({ by }) => by).join(", ") }));
  if (handed_to) parts.push(fill(strings, "handedTo", handed_to));
  if (you?.deputy_of) parts.push(fill(strings, "deputyFor", { name: you.deputy_of.id, until: clock(you.deputy_of.until, undefined, strings) }));
  return parts.join(" · ");
}

/**
 * What a grant lets go: `with the same order id, amount up to 50, 200 in all, for 8 h, 3 times`.
 * @param {Offer} offer
 * @param {Strings} [strings]
 */
export function grantText({ in_thread, same = [], field, up_to, total, hours, times }, strings = ENGLISH) {
  /** @type {[string, unknown, Record<string, string | number>?][]} */
  const parts = [
    ["grantThread", in_thread],
    ["grantSame", same === null, { names: fill(strings, "allArguments") }],
    ["grantSame", same?.length, { names: (same ?? []).map((name) => humanize(name).toLowerCase()).join(", ") }],
    ["grantUpTo", up_to, { name: humanize(field ?? ""), limit: up_to ?? 0 }],
    ["grantTotal", total, { limit: total ?? 0 }],
    ["grantHours", hours, { hours: (hours ?? 0) % 24 ? `${hours} h` : `${(hours ?? 0) / 24} d` }],
    ["grantTimes", times, { count: times ?? 0 }],
  ];
  return parts.filter(([, isSo]) => isSo).map(([key, , blanks]) => fill(strings, key, blanks)).join(", ");
}
