/** What the same tool already did in a chat, so that nobody approves the same thing twice without knowing. Pure. */

import { bothArguments, hasRun, outcome } from "./records.js";
import { ENGLISH, fill } from "./strings.js";
import { unitsFor } from "./units.js";
import { inOrder, summary } from "./values.js";

/** @import { Ask, CallRecord, Earlier, Json, Strings } from "./types.js" */

const MOST = 3;

/**
 * A record as what ran before; `args` are those of the call in the conversation.
 * @param {CallRecord} record
 * @param {Json | null} [args]
 * @returns {Earlier}
 */
export function toEarlier(record, args) {
  const { issued, ran } = bothArguments(record, args);
  return { arguments: ran, issued, at: record.decision?.at ?? null, state: record.state, replaced: Boolean(record.replaced), message: record.message };
}

/**
 * Those of `calls` that are about the same thing as `ask`: all text that a person can't change here is the same.
 * @template {{arguments: Json}} Call
 * @param {Pick<Ask, "arguments" | "fields">} ask
 * @param {Call[]} calls
 * @returns {Call[]}
 */
export function aboutSame({ arguments: args, fields }, calls) {
  const names = Object.keys(args).filter((name) => typeof args[name] === "string" && !fields.some(({ path }) => path[0] === name));
  return calls.filter((call) => names.every((name) => args[name] === call.arguments[name]));
}

/**
 * What the records say ran before `ask`, and was about the same.
 * @param {Ask} ask
 * @param {CallRecord[]} records
 * @returns {Earlier[]}
 */
export function earlierIn(ask, records) {
  const others = records.filter((record) => record.call_id !== ask.callId && record.id !== ask.id && record.tool === ask.tool);
  return aboutSame(ask, others.filter((record) => hasRun(record) || record.state === "claimed").map((record) => toEarlier(record)));
}

/** @param {Json} values */
const canonical = (values) => JSON.stringify(Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1)));

/**
 * What a card says of it; null: nothing ran. If the very same ran, only that is told, and the others are counted.
 * @param {Ask} ask
 * @param {Strings} [strings]
 * @returns {{isSame: boolean, title: string, lines: string[]} | null}
 */
export function earlierText({ arguments: args, schema, earlier = [] }, strings = ENGLISH) {
  if (earlier.length === 0) return null;
  const same = earlier.filter((call) => canonical(call.arguments) === canonical(args));
  const isSame = same.length > 0;
  const told = isSame ? same : earlier;
  const ran = told.some(({ state }) => state !== "failed");
  const lines = told.slice(-MOST).map((call) => {
    const what = summary(inOrder(call.arguments, schema), unitsFor(call.issued ?? call.arguments, { schema, message: call.message }));
    return `${what}${what ? " · " : ""}${outcome(call, undefined, strings)}${call.replaced ? fill(strings, "wasReplaced") : ""}`;
  });
  const more = earlier.length - lines.length;
  if (more > 0) lines.push(fill(strings, "moreOfIt", { count: more }));
  return { isSame, title: fill(strings, isSame ? (ran ? "sameRan" : "sameTried") : ran ? "alreadyRan" : "alreadyTried"), lines };
}
