/**
 * What waits for the person: gated calls and questions, in the two styles the server has, as one shape. Pure.
 *
 * An ask is `{id, key, style, kind, callId, tool, agent, arguments, message, refused, expiresAt, fields}`; `style` is
 * `interrupt` or `card`, `kind` is `approval` or `question`, `agent` who asks where that is said, `fields` are what may be
 * changed (or, for a question, what is asked).
 */

import { inOrder, makeFields } from "./fields.js";
import { parseObject } from "./json.js";
import { CARD_TOOL, isClosed } from "./records.js";
import { asInterrupt, findCall, findResult, initialState } from "./state.js";

/** The tool with which a client says that it shows cards. */
export const CONFIRM_CHANGES = {
  name: CARD_TOOL,
  description: "Show a confirm card for a call and wait for the person's decision.",
  parameters: {
    type: "object",
    properties: {
      function_name: { type: "string" },
      function_call_id: { type: "string" },
      function_arguments: { type: "object" },
      steps: { type: "array", items: { type: "object" } },
    },
    required: ["function_name", "function_call_id", "function_arguments"],
  },
};

/** What is open and not decided, in the order in which the calls were made. While a run is on, none can be answered. */
export function openAsks(state) {
  const cards = openCards(state);
  const carded = new Set(cards.map((ask) => ask.callId));
  const interrupts = state.interrupts
    .filter(({ toolCallId }) => !carded.has(toolCallId))
    .map((interrupt) => fromInterrupt(state, interrupt));
  return [...cards, ...interrupts].filter((ask) => !state.sent[ask.key] && !isClosed(state.records[ask.callId]));
}

/** Whether what is decided can go out: all that is open, or (with `partial`) some of it. */
export function isReady(state, partial = false) {
  const asks = openAsks(state);
  const decided = asks.filter((ask) => state.drafts[ask.key]);
  return !state.run && decided.length > 0 && (partial || decided.length === asks.length);
}

/**
 * What one click may approve: all that is not decided, if it is several. A tool whose arguments people may change wants them
 * looked at one by one, so a single such call takes the offer away from all.
 */
export function together(state, now) {
  const left = openAsks(state).filter((ask) => !state.drafts[ask.key]);
  const isPlain = ({ kind, fields, expiresAt }) => kind === "approval" && fields.length === 0 && !(expiresAt && Date.parse(expiresAt) <= now);
  return left.length > 1 && left.every(isPlain) ? left : [];
}

/** What is decided, ready to go out: messages that join the history, what resumes the run, and the calls it is about. */
export function takeDrafts(state, newId) {
  const decided = openAsks(state).filter((ask) => state.drafts[ask.key]);
  return { ...toAnswers(decided, state.drafts, newId), sent: decided.map((ask) => ask.key) };
}

/** What leaves undecided what was asked by interrupt and has no decision: silence would leave it open. As `takeDrafts`. */
export function takeLeave(state) {
  const left = openAsks(state).filter((ask) => ask.style === "interrupt" && !state.drafts[ask.key]);
  return { resume: left.map(({ id }) => ({ interruptId: id, status: "cancelled" })), sent: left.map(({ key }) => key) };
}

/** Of a call that was asked about again, the latest card. */
function openCards(state) {
  const cards = state.messages
    .flatMap((message) => message.toolCalls ?? [])
    .filter((call) => call.function.name === CARD_TOOL && !findResult(state, call.id))
    .map((call) => fromCard(state, call))
    .filter((ask) => ask !== null && !findResult(state, ask.callId));
  return [...new Map(cards.map((ask) => [ask.callId, ask])).values()];
}

function fromCard(state, call) {
  const card = parseObject(call.function.arguments);
  if (!card?.function_call_id) return null; // Cut off in mid-stream: the server never offered it.
  const args = card.function_arguments ?? {};
  const [step] = card.steps ?? [];
  return {
    id: call.id,
    key: card.function_call_id,
    style: "card",
    kind: "approval",
    callId: card.function_call_id,
    tool: card.function_name,
    agent: card.agent ?? null,
    arguments: args,
    message: spoken(step?.description, card.function_name, card),
    refused: card.refused,
    expiresAt: card.expires_at,
    schema: schemaFor(state, card.function_name, card.function_parameters),
    fields: makeFields(card.editable ?? [], args, schemaFor(state, card.function_name, card.function_parameters)),
  };
}

/** An approval as lists have it, to be answered outside its chat. `schema`: of its tool's arguments. */
export const fromApproval = (approval, schema) => fromInterrupt(initialState({ schemas: { [approval.tool]: schema } }), asInterrupt(approval));

function fromInterrupt(state, interrupt) {
  const { id, toolCallId, message, expiresAt, responseSchema, metadata = {} } = interrupt;
  const call = findCall(state, toolCallId);
  const issued = parseObject(call?.function.arguments) ?? {};
  const args = metadata.arguments ? inOrder(metadata.arguments, { properties: issued }) : issued;
  const tool = call?.function.name ?? metadata.tool ?? "";
  const schema = schemaFor(state, tool, responseSchema?.properties?.editedArgs);
  const question = interrupt.reason !== "tool_call" && !responseSchema?.properties?.approved;
  return {
    id,
    key: toolCallId ?? id,
    style: "interrupt",
    kind: question ? "question" : "approval",
    callId: toolCallId,
    tool,
    agent: metadata.agent ?? null,
    arguments: args,
    message: question ? message : spoken(message, tool, metadata),
    refused: metadata.refused,
    expiresAt: expiresAt ?? metadata.expires_at,
    schema,
    fields: question ? questionFields(responseSchema) : approvalFields(args, responseSchema, metadata, schema),
  };
}

/** The JSON Schema of a tool's arguments: what the ask says itself, else what is known of the agent's tools. */
const schemaFor = (state, tool, own) => own ?? state.schemas[tool];

const RAN = " Already ran in this thread: ";

/**
 * A message that someone wrote; what the server says when nobody did only repeats the tool's name. For clients that show
 * no more it begins with why the last answer wasn't taken, and with who asks, and ends in what ran before.
 */
function spoken(message, tool, { refused = "", agent, already_ran }) {
  const whole = without(`${agent} asks:`, without(refused, message));
  const asked = already_ran && whole?.includes(RAN) ? whole.slice(0, whole.lastIndexOf(RAN)) : whole;
  return [`Run ${tool}?`, `Execute ${tool}`].includes(asked) ? undefined : asked;
}

const without = (beginning, text) => (text?.startsWith(beginning) ? text.slice(beginning.length).trim() : text);

/** `editedArgs` in the schema says that edits are possible; a `const` or read-only field in it is not editable. */
function approvalFields(args, responseSchema, metadata, known) {
  const schema = responseSchema?.properties?.editedArgs;
  if (metadata.editable) return makeFields(metadata.editable, args, known, responseSchema?.$defs ?? known?.$defs);
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
  const decided = asks.filter((ask) => decisions[ask.key]);
  const of = (style) => decided.filter((ask) => ask.style === style);
  return {
    resume: of("interrupt").map((ask) => toResume(ask, decisions[ask.key])),
    messages: of("card").map((ask) => toToolMessage(ask, decisions[ask.key], newId())),
  };
}

function toResume(ask, decision) {
  if (ask.kind === "question") {
    if (!decision.answer) return { interruptId: ask.id, status: "cancelled" };
    return { interruptId: ask.id, status: "resolved", payload: decision.answer };
  }
  const payload = { approved: decision.approved };
  if (decision.reason) payload.reason = decision.reason;
  const edited = editedArguments(ask, decision);
  if (edited) payload.editedArgs = edited;
  return { interruptId: ask.id, status: "resolved", payload };
}

function toToolMessage(ask, decision, id) {
  const answer = { accepted: decision.approved };
  if (decision.reason) answer.reason = decision.reason;
  const edited = editedArguments(ask, decision);
  if (edited) answer.edited_arguments = edited;
  return { id, role: "tool", toolCallId: ask.id, content: JSON.stringify(answer) };
}

/** All arguments, where some of them were changed; else null. */
export const editedArguments = (ask, { approved, edits = {} }) => (approved && Object.keys(edits).length > 0 ? { ...ask.arguments, ...edits } : null);
