/**
 * What waits for the person: gated calls and questions, in the two styles the server has, as one shape. Pure.
 *
 * An ask is `{id, style, kind, callId, tool, arguments, message, refused, expiresAt, fields}`; `style` is `interrupt` or
 * `card`, `kind` is `approval` or `question`, `fields` are what may be changed (or, for a question, what is asked).
 */

import { makeFields } from "./fields.js";
import { CARD_TOOL, findCall, findResult } from "./store.js";

/** What is open and not decided, in the order in which the calls were made. While a run is on, none can be answered. */
export function openAsks(state) {
  const cards = state.messages
    .flatMap((message) => message.toolCalls ?? [])
    .filter((call) => call.function.name === CARD_TOOL)
    .map((call) => fromCard(state, call))
    .filter((ask) => ask !== null);
  const carded = new Set(cards.map((ask) => ask.callId));
  const interrupts = state.interrupts
    .filter(({ toolCallId }) => !carded.has(toolCallId) && !state.decisions[toolCallId])
    .map((interrupt) => fromInterrupt(state, interrupt));
  return [...cards.filter((ask) => !findResult(state, ask.id) && !findResult(state, ask.callId)), ...interrupts];
}

function fromCard(state, call) {
  const card = parseObject(call.function.arguments);
  if (!card?.function_call_id) return null; // Cut off in mid-stream: the server never offered it.
  const args = card.function_arguments ?? {};
  const [step] = card.steps ?? [];
  return {
    id: call.id,
    style: "card",
    kind: "approval",
    callId: card.function_call_id,
    tool: card.function_name,
    arguments: args,
    message: spoken(step?.description, card.function_name, card.refused),
    refused: card.refused,
    expiresAt: card.expires_at,
    fields: makeFields(card.editable ?? [], args, card.function_parameters),
  };
}

function fromInterrupt(state, interrupt) {
  const { id, toolCallId, message, expiresAt, responseSchema, metadata = {} } = interrupt;
  const call = findCall(state, toolCallId);
  const issued = parseObject(call?.function.arguments) ?? {};
  const args = metadata.arguments ? inOrderOf(issued, metadata.arguments) : issued;
  const question = interrupt.reason !== "tool_call" && !responseSchema?.properties?.approved;
  return {
    id,
    style: "interrupt",
    kind: question ? "question" : "approval",
    callId: toolCallId,
    tool: call?.function.name ?? metadata.tool ?? "",
    arguments: args,
    message: question ? message : spoken(message, call?.function.name ?? metadata.tool, metadata.refused),
    refused: metadata.refused,
    expiresAt: expiresAt ?? metadata.expires_at,
    fields: question ? questionFields(responseSchema) : approvalFields(args, responseSchema, metadata),
  };
}

/** The server keeps arguments sorted by name; people read them in the order of the tool's signature. */
function inOrderOf(issued, args) {
  const names = [...Object.keys(issued).filter((name) => Object.hasOwn(args, name)), ...Object.keys(args)];
  return Object.fromEntries(names.map((name) => [name, args[name]]));
}

/**
 * A message that someone wrote; what the server says when nobody did only repeats the tool's name. For clients that show
 * no more it begins with why the last answer wasn't taken.
 */
function spoken(message, tool, refused = "") {
  const asked = message?.startsWith(refused) ? message.slice(refused.length).trim() : message;
  return [`Run ${tool}?`, `Execute ${tool}`].includes(asked) ? undefined : asked;
}

/** `editedArgs` in the schema says that edits are possible; a `const` or read-only field in it is not editable. */
function approvalFields(args, responseSchema, metadata) {
  const schema = responseSchema?.properties?.editedArgs;
  if (metadata.editable) return makeFields(metadata.editable, args, schema, responseSchema?.$defs);
  if (!schema) return [];
  const properties = schema.properties ?? {};
  const fixed = (name) => properties[name]?.readOnly || properties[name] === false || "const" in (properties[name] ?? {});
  const names = schema.properties ? Object.keys(properties).filter((name) => !fixed(name)) : Object.keys(args);
  return makeFields(names, args, schema, responseSchema.$defs);
}

function questionFields(schema) {
  const asked = schema?.properties ? schema : { properties: { answer: { type: "string" } }, required: ["answer"] };
  return makeFields(Object.keys(asked.properties), {}, { required: [], ...asked });
}

/** The fields whose value was changed: `{name: value}`. */
export function changes(ask, values) {
  const changed = Object.entries(values).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(ask.arguments[name]),
  );
  return Object.fromEntries(changed);
}

/**
 * A decision in the form its ask wants, for the next run: `{resume: […], messages: […]}`.
 * A decision is `{approved, reason?, edits?}` or, for a question, `{answer}` (absent: declined).
 */
export function toAnswers(asks, decisions, newId) {
  const decided = asks.filter((ask) => decisions[ask.id]);
  const of = (style) => decided.filter((ask) => ask.style === style);
  return {
    resume: of("interrupt").map((ask) => toResume(ask, decisions[ask.id])),
    messages: of("card").map((ask) => toToolMessage(ask, decisions[ask.id], newId())),
  };
}

function toResume(ask, decision) {
  if (ask.kind === "question") {
    if (!decision.answer) return { interruptId: ask.id, status: "cancelled" };
    return { interruptId: ask.id, status: "resolved", payload: decision.answer };
  }
  const payload = { approved: decision.approved };
  if (decision.reason) payload.reason = decision.reason;
  if (hasEdits(decision)) payload.editedArgs = { ...ask.arguments, ...decision.edits };
  return { interruptId: ask.id, status: "resolved", payload };
}

function toToolMessage(ask, decision, id) {
  const answer = { accepted: decision.approved };
  if (decision.reason) answer.reason = decision.reason;
  if (hasEdits(decision)) answer.edited_arguments = { ...ask.arguments, ...decision.edits };
  return { id, role: "tool", toolCallId: ask.id, content: JSON.stringify(answer) };
}

const hasEdits = ({ approved, edits }) => approved && Object.keys(edits ?? {}).length > 0;

/** The object that `text` holds as JSON, or null. */
export function parseObject(text) {
  try {
    const value = JSON.parse(text || "{}");
    return value && typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
