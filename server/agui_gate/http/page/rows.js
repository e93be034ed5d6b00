/** The conversation as the rows that are drawn. Pure; a row's `key` is stable for as long as what it shows exists. */

import { openAsks } from "./asks.js";
import { parseObject } from "./json.js";
import { CARD_TOOL, fromMetadata, hasRun, isClosed } from "./records.js";
import { findResult } from "./state.js";

/** Rows: `user`, `text`, `replaced`, `reasoning`, `activity`, `tool`, `footer`, `working`, `unread`, `notice`. */
export function toRows(state) {
  const asks = openAsks(state);
  const rows = state.messages.flatMap((message) => [...messageRows(state, message, asks), ...footerRow(state, message)]);
  const shown = new Set(rows.filter((row) => row.kind === "tool").map((row) => row.callId));
  const orphans = asks.filter((ask) => !shown.has(ask.callId)).map((ask) => askRow(state, ask));
  return [...rows, ...orphans, ...tail(state, rows, asks)];
}

function messageRows(state, message, asks) {
  switch (message.role) {
    case "user":
      return [{ key: message.id, kind: "user", text: plainText(message.content) }];
    case "assistant":
      return assistantRows(state, message, asks);
    case "reasoning":
      return reasoningRows(state, message);
    case "activity":
      return [{ key: message.id, kind: "activity", title: message.activityType, content: message.content }];
    default:
      return []; // Results are shown by their call.
  }
}

function assistantRows(state, message, asks) {
  const text = plainText(message.content);
  const streaming = state.run !== null && state.messages.at(-1) === message;
  const said = fromMetadata(message)?.replaced ? { kind: "replaced" } : { kind: "text", text, streaming };
  const rows = text ? [{ key: message.id, ...said }] : [];
  const calls = (message.toolCalls ?? []).filter((call) => call.function.name !== CARD_TOOL);
  return [...rows, ...calls.map((call) => toolRow(state, call, asks))];
}

function reasoningRows(state, { id, content }) {
  if (!content) return []; // Sealed reasoning: kept for the provider, nothing to read.
  const span = state.thinking[id];
  const active = state.run !== null && span !== undefined && span.to === undefined;
  const seconds = span?.to === undefined ? null : Math.max(1, Math.round((span.to - span.from) / 1000));
  return [{ key: id, kind: "reasoning", text: plainText(content), active, seconds }];
}

function toolRow(state, call, asks) {
  const result = findResult(state, call.id);
  const ask = asks.find((candidate) => candidate.callId === call.id) ?? null;
  const record = state.records[call.id] ?? null;
  return {
    key: call.id,
    kind: "tool",
    callId: call.id,
    name: call.function.name,
    arguments: call.function.arguments,
    result: result ? plainText(result.content) : (record?.result ?? null),
    status: recordStatus(record) ?? callStatus(state, result, ask),
    record,
    late: state.late[call.id] ?? false,
    answered: state.sent[call.id] ?? false,
    schema: state.schemas[call.function.name] ?? null,
    ...askParts(state, ask),
  };
}

/** A card that can be answered now, and what was decided on it so far. */
function askParts(state, ask) {
  if (state.run || !ask) return { ask: null, draft: null, earlier: null };
  return { ask, draft: state.drafts[ask.key] ?? null, earlier: earlierRuns(state, ask) };
}

/** What the same tool already did in this thread. */
function earlierRuns(state, { tool, callId }) {
  const shown = state.messages.flatMap((message) => message.toolCalls ?? []);
  const name = (id) => shown.find((call) => call.id === id)?.function;
  return Object.entries(state.records)
    .filter(([id, record]) => id !== callId && hasRun(record) && (record.tool ?? name(id)?.name) === tool)
    .map(([id, record]) => ({ record, arguments: parseObject(name(id)?.arguments) ?? {} }));
}

/** An ask whose call is not in the history (a question, or a thread that was cut short). */
function askRow(state, ask) {
  const args = JSON.stringify(ask.arguments);
  const base = { key: ask.callId ?? ask.id, callId: ask.callId, name: ask.tool, arguments: args };
  const record = state.records[ask.callId] ?? null;
  return { ...base, kind: "tool", result: null, status: "waiting", record, late: false, answered: false, schema: ask.schema ?? null, ...askParts(state, ask) };
}

const STATES = {
  claimed: "running",
  done: "done",
  failed: "error",
  unknown: "unknown",
  rejected: "rejected",
  superseded: "superseded",
  cancelled: "stopped",
  expired: "expired",
};

/** The ledger's word, where there is one and it is a last one. */
export const recordStatus = (record) => (isClosed(record ?? undefined) ? STATES[record.state] : undefined);

/** `running`, `waiting`, `done`, `error`, `unknown`, `rejected`, `superseded`, `expired` or `stopped`: a call always ends. */
function callStatus(state, result, ask) {
  if (result) return resultStatus(result);
  if (ask) return "waiting";
  return state.run ? "running" : "stopped";
}

const OUTCOMES = {
  rejected: "rejected",
  denied: "rejected",
  superseded: "superseded",
  expired: "expired",
  cancelled: "stopped",
  failed: "error",
  error: "error",
  unknown: "unknown",
};

/** The server's word about a call is `{status, message | error, reason?}`; a tool's own data may have a status too. */
export function resultStatus({ content, error }) {
  const body = parseObject(plainText(content)) ?? {};
  const { status, message, reason, error: problem, ...others } = body;
  const official = Object.keys(others).length === 0 && (message !== undefined || problem !== undefined);
  const outcome = official ? OUTCOMES[status] : undefined;
  return outcome ?? (error || problem ? "error" : "done");
}

/** Under every answer whose run was seen here, and under the last one in any case. */
function footerRow(state, message) {
  const footer = state.footers[message.id] ?? null;
  const ended = state.run === null && state.notice === null && state.interrupts.length === 0;
  const last = ended && message === state.messages.at(-1);
  const text = message.role === "assistant" && !message.toolCalls ? plainText(message.content) : "";
  if (!text || !(footer || last)) return [];
  return [{ key: `${message.id}-footer`, kind: "footer", footer, text, last }];
}

function tail(state, rows, asks) {
  const last = rows.at(-1);
  if (state.notice) return [{ key: "notice", kind: "notice", ...state.notice }];
  if (!state.run && asks.length === 0 && isUnread(state)) return [{ key: "unread", kind: "unread" }];
  const quiet = !last || !["text", "reasoning"].includes(last.kind) || !(last.streaming || last.active);
  return state.run && quiet ? [{ key: "working", kind: "working" }] : [];
}

/** What was decided outside the chat, and the assistant doesn't know it yet. */
function isUnread({ messages, records }) {
  const cards = new Set(messages.flatMap((message) => message.toolCalls ?? []).filter((call) => call.function.name === CARD_TOOL).map(({ id }) => id));
  const isCard = ({ toolCallId, toolCalls, content }) => cards.has(toolCallId) || (!content && toolCalls?.every(({ id }) => cards.has(id)));
  const last = messages.findLast((message) => !isCard(message));
  const awaited = Object.values(records).some(({ state }) => state === "claimed");
  return last?.role === "tool" && !records[last.toolCallId]?.replaced && !awaited;
}

/** A message's text; parts that aren't text are named. */
export function plainText(content) {
  if (!Array.isArray(content)) return content ?? "";
  return content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
}
