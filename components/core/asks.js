/**
 * What waits for a person, in the three ways in which the server says it, as one shape; and the person's decision in the
 * shape that each of them wants. Pure.
 */

import { aboutSame } from "./earlier.js";
import { makeFields } from "./fields.js";
import { parseObject } from "./json.js";
import { peopleOf } from "./people.js";
import { inOrder, isObject } from "./values.js";

/**
 * @import { Ask, Decision, Earlier, Field, Json, Schema } from "./types.js"
 */

/**
 * @typedef {object} Metadata What an interrupt, a card and an approval say of the call.
 * @property {string} [agent]
 * @property {string} [refused]
 * @property {Earlier[]} [already_ran]
 * @property {string[]} [editable]
 * @property {string} [tool]
 * @property {Json} [arguments]
 * @property {string | null} [expires_at]
 *
 * @typedef {object} Interrupt As AG-UI has it.
 * @property {string} id
 * @property {string} [reason]
 * @property {string} [toolCallId]
 * @property {string} [message]
 * @property {string | null} [expiresAt]
 * @property {unknown} [responseSchema]
 * @property {unknown} [metadata]
 *
 * @typedef {object} CardArguments The arguments of the tool `confirm_changes`; some may be missing while they stream.
 * @property {string} [function_name]
 * @property {string} [function_call_id]
 * @property {Json} [function_arguments]
 * @property {{description: string}[]} [steps]
 * @property {string[]} [editable]
 * @property {Schema | Json} [function_parameters]
 * @property {string} [expires_at]
 * @property {string} [agent]
 * @property {string} [refused]
 * @property {unknown[]} [already_ran]
 * @property {number} [needs]
 *
 * @typedef {object} Approval A row of `GET /approvals`; with `view=card` it has what the card needs too.
 * @property {string} id
 * @property {string} call_id
 * @property {string} tool
 * @property {string | null} [agent]
 * @property {Json} arguments
 * @property {Json} [effective_arguments]
 * @property {number} [needs]
 * @property {string | null} [message]
 * @property {string | null} [expires_at]
 * @property {string[] | null} [editable]
 * @property {Schema | null} [schema]
 * @property {string | null} [refused]
 * @property {Earlier[] | null} [already_ran]
 * @property {{agent?: string | null} | null} [thread]
 */

/**
 * An ask from an interrupt. What `known` has of the call counts where the interrupt doesn't say it.
 * @param {Interrupt} interrupt
 * @param {{tool?: string, arguments?: Json | null, schema?: Schema | null}} [known]
 * @returns {Ask}
 */
export function fromInterrupt({ id, reason, toolCallId, message, expiresAt, responseSchema, metadata }, known = {}) {
  const said = /** @type {Metadata} */ (isObject(metadata) ? metadata : {});
  const response = /** @type {Schema} */ (isObject(responseSchema) ? responseSchema : {});
  const args = said.arguments ? inOrder(said.arguments, { properties: known.arguments ?? {} }) : (known.arguments ?? {});
  const tool = known.tool ?? said.tool ?? "";
  const schema = response.properties?.editedArgs ?? known.schema ?? undefined;
  const isQuestion = reason !== "tool_call" && !response.properties?.approved;
  const fields = isQuestion ? questionFields(response) : approvalFields(args, response, said, schema);
  return {
    id,
    key: toolCallId ?? id,
    kind: isQuestion ? "question" : "approval",
    callId: toolCallId ?? null,
    tool,
    agent: said.agent ?? null,
    arguments: args,
    message: isQuestion ? message : spoken(message, tool, said),
    refused: said.refused,
    expiresAt: expiresAt ?? said.expires_at,
    schema,
    fields,
    earlier: aboutSame({ arguments: args, fields }, listed(said.already_ran)),
    people: peopleOf(said),
  };
}

/**
 * An ask from the arguments of a `confirm_changes` call, whose own id is `id`; null while they are not all there.
 * @param {CardArguments | null | undefined} card
 * @param {string} id
 * @param {Schema | null} [known] the tool's schema, where the card doesn't say it
 * @returns {Ask | null}
 */
export function fromCard(card, id, known) {
  if (!card?.function_call_id || !card.function_name) return null; // cut off in mid-stream: the server never offered it
  const { function_name: tool, function_call_id: toolCallId, function_arguments: args = {}, function_parameters: schema, ...said } = card;
  const interrupt = { id, reason: "tool_call", toolCallId, message: card.steps?.[0]?.description, metadata: { ...said, editable: card.editable ?? [], arguments: args } };
  return fromInterrupt(interrupt, { tool, arguments: args, schema: /** @type {Schema | undefined} */ (schema ?? known ?? undefined) });
}

/**
 * An ask from a row of `GET /approvals`; it has the same id as the interrupt that asks for it. Who asks is said where that
 * isn't the agent of the chat.
 * @param {Approval} row
 * @param {Schema | null} [known] the tool's schema, where the row doesn't say it
 * @returns {Ask}
 */
export function fromApproval(row, known) {
  const { id, call_id, tool, agent, arguments: issued, effective_arguments: edited, message, expires_at, editable, schema, refused, already_ran, thread } = row;
  const args = edited ?? issued; // an edit of somebody else is what would run
  const metadata = { tool, agent: agent ?? undefined, arguments: args, editable: editable ?? [], refused: refused ?? undefined, already_ran: already_ran ?? [], ...peopleOf(row) };
  const interrupt = { id, reason: "tool_call", toolCallId: call_id, message: message ?? undefined, expiresAt: expires_at, metadata };
  const asker = thread && agent !== thread.agent ? agent : null;
  return { ...fromInterrupt(interrupt, { tool, schema: schema ?? known }), ...(edited && { issued }), agent: asker ?? null };
}

/**
 * Those calls that are told in a shape that can be shown.
 * @param {unknown} calls
 * @returns {Earlier[]}
 */
const listed = (calls) => (Array.isArray(calls) ? calls.filter((call) => isObject(call) && isObject(call.arguments)) : []);

const RAN = " Already ran in this thread: ";

/**
 * A message that someone wrote; what the server says when nobody did only repeats the tool's name. For clients that show
 * no more it begins with why the last answer wasn't taken, and with who asks, and ends in what ran before.
 * @param {string | undefined} message
 * @param {string} tool
 * @param {Metadata} metadata
 * @returns {string | undefined}
 */
function spoken(message, tool, { refused = "", agent, already_ran }) {
  const whole = without(`${agent} asks:`, without(refused, message));
  const asked = already_ran?.length && whole?.includes(RAN) ? whole.slice(0, whole.lastIndexOf(RAN)) : whole;
  return !asked || [`Run ${tool}?`, `Execute ${tool}`].includes(asked) ? undefined : asked;
}

/**
 * @param {string} beginning
 * @param {string | undefined} text
 */
const without = (beginning, text) => (text?.startsWith(beginning) ? text.slice(beginning.length).trim() : text);

/**
 * `editedArgs` in the schema says that edits are possible; a `const` or read-only field in it is not editable.
 * @param {Json} args
 * @param {Schema} response
 * @param {Metadata} metadata
 * @param {Schema} [known]
 * @returns {Field[]}
 */
function approvalFields(args, response, { editable }, known) {
  const schema = response.properties?.editedArgs;
  if (editable) return makeFields(editable, args, known, response.$defs ?? known?.$defs);
  if (!schema) return [];
  const properties = schema.properties ?? {};
  /** @param {string} name */
  const isFixed = (name) => {
    const own = /** @type {Schema | boolean | undefined} */ (properties[name]);
    return own === false || (typeof own === "object" && (own.readOnly || "const" in own));
  };
  const names = schema.properties ? Object.keys(properties).filter((name) => !isFixed(name)) : Object.keys(args);
  return makeFields(names, args, schema, response.$defs);
}

/**
 * @param {Schema} schema
 * @returns {Field[]}
 */
function questionFields(schema) {
  const asked = schema.properties ? schema : { properties: { answer: { type: "string" } }, required: ["answer"] };
  return makeFields(Object.keys(asked.properties ?? {}), {}, { required: [], ...asked });
}

/**
 * What is said besides yes or no. Where several people decide, a yes says to which arguments it is. An edit is of all of
 * them, as they were on the card.
 * @param {Ask} ask
 * @param {Decision} decision
 * @param {string} name of the edited arguments
 */
function besides(ask, { approved, reason, grant, edits = {}, seen }, name) {
  const effective_arguments = seen ?? ask.arguments;
  const yes = approved && { ...((seen || ask.people?.needs) && { effective_arguments }), ...(Object.keys(edits).length > 0 && { [name]: { ...effective_arguments, ...edits } }) };
  return { ...(reason && { reason }), ...(grant && { grant }), ...yes };
}

/**
 * The decision as an interrupt wants it: the `payload` of an entry in `resume`; null where it is declined.
 * @param {Ask} ask
 * @param {Decision} decision
 * @returns {Json | null}
 */
export function toPayload(ask, decision) {
  if (ask.kind === "question") return decision.answer ?? null;
  return { approved: decision.approved, ...besides(ask, decision, "editedArgs") };
}

/**
 * The decision as an entry of `resume` in the next run.
 * @param {Ask} ask
 * @param {Decision} decision
 */
export function toResume(ask, decision) {
  const payload = toPayload(ask, decision);
  return payload ? { interruptId: ask.id, status: "resolved", payload } : { interruptId: ask.id, status: "cancelled" };
}

/**
 * The decision as the result of a `confirm_changes` call.
 * @param {Ask} ask
 * @param {Decision} decision
 * @returns {Json}
 */
export function toCardAnswer(ask, decision) {
  return { accepted: decision.approved, ...besides(ask, decision, "edited_arguments") };
}

/**
 * The decision as `POST /approvals/{id}` wants it.
 * @param {Ask} ask
 * @param {Decision} decision
 * @param {{goOn?: boolean}} [options] `goOn`: the conversation goes on with it
 * @returns {Json}
 */
export function toApproval(ask, decision, { goOn = true } = {}) {
  return { approved: decision.approved, ...(goOn && { continue: true }), ...besides(ask, decision, "edited_arguments") };
}

/**
 * The decision in a card's result, for a card of an earlier visit; null if it is no answer.
 * @param {unknown} result an object, or one as JSON
 * @returns {Decision | null}
 */
export function fromCardAnswer(result) {
  const answer = typeof result === "string" ? parseObject(result) : isObject(result) ? result : null;
  const approved = answer?.accepted ?? answer?.approved;
  if (typeof approved !== "boolean") return null;
  const reason = typeof answer?.reason === "string" ? { reason: answer.reason } : {};
  return { approved, ...reason, ...(isObject(answer?.edited_arguments) && { edits: answer.edited_arguments }) };
}

/**
 * What one click may approve: all of `asks` that are not answered, if it is several. A tool whose arguments people may
 * change wants them looked at one by one, so a single such call takes the offer away from all.
 * @template {Pick<Ask, "kind" | "fields" | "expiresAt">} One
 * @param {One[]} asks
 * @param {number} now ms since epoch, by the server's clock
 * @returns {One[]}
 */
export function together(asks, now) {
  /** @param {One} ask */
  const isOver = ({ expiresAt }) => Boolean(expiresAt) && new Date(expiresAt ?? 0).getTime() <= now;
  return asks.length > 1 && asks.every((ask) => ask.kind === "approval" && ask.fields.length === 0 && !isOver(ask)) ? asks : [];
}
