/** How AG-UI events change what the page knows (state.js). Pure. */

import { applyPatch } from "./patch.js";
import { CARD_TOOL, entriesOf, fromMessages, fromMetadata } from "./records.js";
import { atRest, failRun, findCall, withCut, withRecords } from "./state.js";

export function reduce(state, event, now) {
  const handler = HANDLERS[event.type];
  return handler ? handler(state, event, now) : state; // Unknown events are news from a newer server, not errors.
}

const HANDLERS = {
  RUN_STARTED: (state) => state,
  RUN_FINISHED: finishRun,
  RUN_ERROR: (state, { code = "internal", message }) => failRun(state, code, message),
  TEXT_MESSAGE_START: (state, event) => upsert(state, event.messageId, event.role ?? "assistant", (it) => it, event),
  TEXT_MESSAGE_CONTENT: appendText,
  TEXT_MESSAGE_CHUNK: appendText,
  TOOL_CALL_START: startCall,
  TOOL_CALL_ARGS: (state, { toolCallId, delta }) => appendArguments(state, toolCallId, delta),
  TOOL_CALL_CHUNK: chunkCall,
  TOOL_CALL_END: (state, { toolCallId }) => closeCall(state, toolCallId),
  TOOL_CALL_RESULT: addResult,
  REASONING_MESSAGE_START: startThinking,
  REASONING_MESSAGE_CONTENT: appendThought,
  REASONING_MESSAGE_CHUNK: appendThought,
  REASONING_MESSAGE_END: (state, { messageId }, now) => stopThinking(state, messageId, now),
  REASONING_ENCRYPTED_VALUE: keepEncrypted,
  STATE_SNAPSHOT: (state, { snapshot }) => ({ ...state, shared: snapshot }),
  STATE_DELTA: patchShared,
  MESSAGES_SNAPSHOT: takeSnapshot,
  CUSTOM: takeCustom,
  ACTIVITY_SNAPSHOT: takeActivity,
  ACTIVITY_DELTA: (state, { messageId, patch }) =>
    update(state, messageId, (it) => ({ ...it, content: safePatch(it.content, patch) })),
  SUBAGENT_STARTED: (state, { subagentRunId, name }) => ({ ...state, subagents: { ...state.subagents, [subagentRunId]: { name } } }),
};

/** What was said of the run while it went on is over with it. `result.reason`: the provider's, where it cut the answer off. */
function finishRun(before, { outcome, result, usage, metadata }, now) {
  const messages = typeof result?.reason === "string" ? withCut(before.messages) : before.messages;
  const state = { ...before, messages, notice: null, used: addUsed(before.used, usage) };
  if (outcome?.type === "cancelled") {
    const { code = "abort", message = "" } = metadata?.["agui-gate"] ?? {}; // a limit says which
    return failRun(state, code, message);
  }
  if (outcome?.type === "interrupt") return { ...atRest(state), run: null, interrupts: outcome.interrupts };
  return { ...addFooter(atRest(state), usage, now), run: null, interrupts: [] };
}

function addFooter(state, usage, now) {
  const last = state.messages.findLast((message) => !message.subagentRunId);
  if (!state.run || last?.role !== "assistant" || !last.content) return state; // Only an answer has a last line.
  const footer = { seconds: (now - state.run.startedAt) / 1000, ...tokensOf(usage) };
  return { ...state, footers: { ...state.footers, [last.id]: footer } };
}

function tokensOf(usage) {
  const entries = [usage ?? []].flat();
  const sum = (field) => entries.reduce((total, entry) => total + (entry[field] ?? 0), 0);
  return { input: sum("inputTokens"), output: sum("outputTokens") };
}

/** What the chat has used with another run; what that cost, the server says when the chat is opened again. */
function addUsed(used, usage) {
  const { input, output } = tokensOf(usage);
  return used && (input || output) ? { input: used.input + input, output: used.output + output, cost: null } : used;
}

function update(state, id, change) {
  const at = findMessage(state, id);
  return at < 0 ? state : { ...state, messages: state.messages.with(at, change(state.messages[at])) };
}

/** `event` begins the message, and says whose it is. */
function upsert(state, id, role, change, event) {
  if (findMessage(state, id) >= 0) return update(state, id, change);
  return { ...state, messages: [...state.messages, change({ id, role, content: "", ...ownerOf(event) })] };
}

const ownerOf = ({ name, subagentRunId }) => ({ ...(name && { name }), ...(subagentRunId && { subagentRunId }) });

// From the end: what streams is nearly always last.
const findMessage = (state, id) => state.messages.findLastIndex((message) => message.id === id);

function appendText(state, event) {
  const { messageId, role, delta = "" } = event;
  const id = messageId ?? state.messages.findLast(({ subagentRunId }) => subagentRunId === event.subagentRunId)?.id; // A chunk may leave out the id of the open message.
  return upsert(state, id, role ?? "assistant", (it) => ({ ...it, content: (it.content ?? "") + delta }), event);
}

/** One that doesn't replace anything is news only where there is none. */
function takeActivity(state, event) {
  const { messageId, activityType, content, replace = true } = event;
  return upsert(state, messageId, "activity", (it) => (replace || it.activityType === undefined ? { ...it, activityType, content } : it), event);
}

function startCall(state, event) {
  const { toolCallId, toolCallName, parentMessageId } = event;
  if (findCall(state, toolCallId)) return state;
  const call = { id: toolCallId, type: "function", function: { name: toolCallName, arguments: "" } };
  const parent = parentMessageId ?? `${toolCallId}-message`;
  const next = upsert(state, parent, "assistant", (it) => ({ ...it, toolCalls: [...(it.toolCalls ?? []), call] }), event);
  return { ...next, openCalls: [...next.openCalls, toolCallId] };
}

function chunkCall(state, event) {
  const id = event.toolCallId ?? state.openCalls.at(-1);
  const started = event.toolCallName ? startCall(state, event) : state;
  return event.delta ? appendArguments(started, id, event.delta) : started;
}

function updateCall(state, id, change) {
  const parent = state.messages.findLast((message) => message.toolCalls?.some((call) => call.id === id));
  if (!parent) return state;
  const toolCalls = parent.toolCalls.map((call) => (call.id === id ? change(call) : call));
  return update(state, parent.id, (it) => ({ ...it, toolCalls }));
}

function appendArguments(state, id, delta) {
  return updateCall(state, id, (call) => ({
    ...call,
    function: { ...call.function, arguments: call.function.arguments + delta },
  }));
}

const closeCall = (state, id) => ({ ...state, openCalls: state.openCalls.filter((open) => open !== id) });

/** A result goes behind its assistant message and the results that are already there; a second one replaces the first. */
function addResult(state, event) {
  const { messageId, toolCallId, content, metadata } = event;
  const result = { id: messageId ?? `${toolCallId}-result`, role: "tool", toolCallId, content, ...ownerOf(event), ...(metadata && { metadata }) };
  const others = state.messages.filter((message) => !(message.role === "tool" && message.toolCallId === toolCallId));
  let at = others.findLastIndex((message) => message.toolCalls?.some((call) => call.id === toolCallId)) + 1;
  if (at === 0) at = others.length;
  while (others[at]?.role === "tool") at += 1;
  const interrupts = state.interrupts.filter((interrupt) => interrupt.toolCallId !== toolCallId);
  const next = { ...closeCall(state, toolCallId), messages: others.toSpliced(at, 0, result), interrupts };
  if (findCall(state, toolCallId)?.function.name === CARD_TOOL) return next; // its record is its call's
  return withRecords(next, [[toolCallId, fromMetadata(result)]]);
}

/** An answer that changed nothing, since the call had been decided before. */
function takeCustom(state, { name, value }) {
  const callId = value?.record?.call_id;
  if (name !== "agui-gate:answer_refused" || !callId) return state;
  return { ...withRecords(state, entriesOf([value.record])), late: { ...state.late, [callId]: true } };
}

function startThinking(state, event, now) {
  const { messageId } = event;
  const next = upsert(state, messageId, "reasoning", (it) => it, event);
  return { ...next, thinking: { ...next.thinking, [messageId]: { from: now } } };
}

function appendThought(state, event, now) {
  const known = state.thinking[event.messageId] ? state : startThinking(state, event, now);
  return update(known, event.messageId, (it) => ({ ...it, content: it.content + (event.delta ?? "") }));
}

function stopThinking(state, id, now) {
  const span = { from: now, ...state.thinking[id], to: now };
  return { ...state, thinking: { ...state.thinking, [id]: span } };
}

function keepEncrypted(state, { subtype, entityId, encryptedValue }) {
  const add = (it) => ({ ...it, encryptedValue });
  return subtype === "tool-call" ? updateCall(state, entityId, add) : update(state, entityId, add);
}

function patchShared(state, { delta }) {
  return { ...state, shared: safePatch(state.shared, delta) };
}

/** A patch that does not fit leaves the document as it was, as the protocol's own clients do. */
function safePatch(document, operations) {
  try {
    return applyPatch(document, operations);
  } catch {
    return document;
  }
}

/**
 * The snapshot is the list from now on. Reasoning and activity that it leaves out survive (the protocol says so), each
 * behind the message it followed.
 */
function takeSnapshot(state, { messages }) {
  const named = new Set(messages.map((message) => message.id));
  const merged = [...messages];
  let previous = null;
  for (const message of state.messages) {
    const survives = ["reasoning", "activity"].includes(message.role) && !named.has(message.id);
    if (survives) merged.splice(merged.findIndex(({ id }) => id === previous) + 1, 0, message);
    if (survives || named.has(message.id)) previous = message.id;
  }
  return withRecords({ ...state, messages: merged }, fromMessages(merged));
}
