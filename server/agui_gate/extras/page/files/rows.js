/** The conversation as the rows that are drawn. Pure; a row's `key` is stable for as long as what it shows exists. */

import { openAsks } from "./asks.js";
import { askRow, callRows, plainText, strayTaskRow } from "./callrows.js";
import { parseObject } from "./components/core/json.js";
import { lanesOf, voicesOf } from "./lanes.js";
import { CARD_TOOL, fromMetadata } from "./records.js";
import { isAwaited } from "./state.js";

/**
 * Rows: `user`, `speaker`, `text`, `cut`, `form`, `replaced`, `reasoning`, `activity`, `tool`, `handoff`, `task` (with `rows` of
 * its own), `footer`, `working`, `kept`, `unread`, `notice`.
 */
export function toRows(state) {
  const results = new Map(state.messages.filter(({ role }) => role === "tool").map((message) => [message.toolCallId, message]));
  const view = { state, results, asks: openAsks(state), lanes: lanesOf(state.messages), within: [] };
  const rows = laneRows(view, "", state.agent);
  const shown = new Set(callsIn(rows));
  const orphans = view.asks.filter((ask) => !shown.has(ask.callId)).map((ask) => askRow(state, ask));
  return [...rows, ...orphans, ...tail(view, rows)];
}

const callsIn = (rows) => rows.flatMap((row) => (row.kind === "task" ? callsIn(row.rows) : row.kind === "tool" ? [row.callId] : []));

/** What is said in a task ("": the conversation), where `first` speaks to begin with. Whoever else speaks is named. */
function laneRows(view, task, first) {
  const lane = view.lanes.get(task) ?? [];
  const voices = voicesOf(lane, first, { isTask: task !== "", results: view.results });
  const isAlone = task !== "" || ((view.state.team.heirs?.[first] ?? []).length === 0 && [...voices.values()].every((voice) => voice === first));
  const known = isAlone ? first : null;
  let named = known;
  return lane.flatMap((message) => {
    const voice = voices.get(message.id) ?? first;
    const rows = messageRows(view, message, voice, isAlone && voice === first ? null : voice);
    if (message.role === "user") named = known;
    if (rows.length === 0 || !voices.has(message.id) || voice === named || isReplaced(message)) return rows;
    named = voice;
    return [{ key: `${message.id}-speaker`, kind: "speaker", name: voice }, ...rows];
  });
}

function messageRows(view, message, voice, name) {
  const { state } = view;
  const rowsOf = (task, agent) => (view.within.includes(task) ? [] : laneRows({ ...view, within: [...view.within, task] }, task, agent));
  switch (message.role) {
    case "user":
      return [{ key: message.id, kind: "user", text: plainText(message.content) }];
    case "assistant":
      return [...saidRows(view, message, name), ...callRows(view, message, voice, rowsOf), ...footerRow(view, message)];
    case "reasoning":
      return reasoningRows(view, message);
    case "activity":
      return [{ key: message.id, kind: "activity", title: message.activityType, content: message.content }];
    case "task":
      return [strayTaskRow(view, message.id, rowsOf)];
    default:
      return []; // Results are shown by their call.
  }
}

const isReplaced = (message) => Boolean(fromMetadata(message)?.replaced);
const isCut = (message) => Boolean(fromMetadata(message)?.cut);

function saidRows({ state, lanes, results }, message, name) {
  const text = plainText(message.content);
  if (!text) return [];
  if (isReplaced(message)) return [{ key: message.id, kind: "replaced" }];
  const task = message.subagentRunId ?? "";
  const isLast = lanes.get(task).findLast(({ role }) => role !== "tool") === message;
  const streaming = state.run !== null && isLast && !message.toolCalls?.length && !results.has(task);
  const form = streaming || !text.startsWith("{") ? null : parseObject(text);
  if (form) return [{ key: message.id, kind: "form", text, value: form, name }];
  const said = { key: message.id, kind: "text", text, streaming, half: streaming || isCut(message), name };
  return [said, ...cutRow(state, message, isLast)];
}

/** Below what was cut off; a notice below the last message says more. */
const cutRow = ({ notice }, message, isLast) => (isCut(message) && !(notice && isLast) ? [{ key: `${message.id}-cut`, kind: "cut" }] : []);

function reasoningRows({ state, lanes }, message) {
  const { id, content } = message;
  const cut = cutRow(state, message, lanes.get(message.subagentRunId ?? "").at(-1) === message);
  if (!content) return cut; // Sealed reasoning: kept for the provider, nothing to read.
  const span = state.thinking[id];
  const active = state.run !== null && span !== undefined && span.to === undefined;
  const seconds = span?.to === undefined ? null : Math.max(1, Math.round((span.to - span.from) / 1000));
  return [{ key: id, kind: "reasoning", text: plainText(content), active, seconds }, ...cut];
}

/** Whether the chat has used more than its last run. */
const isMore = (used, run) => used !== null && used.input + used.output > (run ? run.input + run.output : 0);

/** Under every answer whose run was seen here, and under the last one in any case. */
function footerRow({ state, lanes }, message) {
  if (message.subagentRunId) return [];
  const footer = state.footers[message.id] ?? null;
  const ended = state.run === null && state.notice === null && state.interrupts.length === 0;
  const last = ended && message === lanes.get("").at(-1);
  const text = !message.toolCalls ? plainText(message.content) : "";
  if (!text || !(footer || last)) return [];
  return [{ key: `${message.id}-footer`, kind: "footer", footer, text, last, used: last && isMore(state.used, footer) ? state.used : null }];
}

function tail(view, rows) {
  const { state, asks } = view;
  const last = rows.at(-1);
  if (state.notice) return [{ key: "notice", kind: "notice", ...state.notice }];
  if (asks.length > 0 && isKept(state, asks)) return [{ key: "kept", kind: "kept" }];
  if (!state.run && asks.length === 0 && isUnread(view, rows)) return [{ key: "unread", kind: "unread" }];
  const isBusy = last && (last.streaming || last.active || (last.kind === "task" && last.status === "running"));
  return state.run && !isBusy ? [{ key: "working", kind: "working" }] : [];
}

/** Whether the person said something behind a call that still waits, and got no answer yet. */
function isKept({ messages }, asks) {
  const waiting = new Set(asks.map(({ callId }) => callId));
  const asked = messages.findLastIndex(({ toolCalls = [] }) => toolCalls.some(({ id }) => waiting.has(id)));
  const said = messages.findLastIndex(({ role }) => role === "user");
  return asked >= 0 && said > asked && !messages.slice(said).some(({ role, content }) => role === "assistant" && content);
}

/** What was decided outside the chat and the assistant doesn't know yet, or a task that somebody has to go on with. */
function isUnread({ state, lanes }, rows) {
  const { messages, records } = state;
  if (isAwaited(state)) return false;
  if (rows.some(({ kind, status }) => kind === "task" && status === "paused")) return true;
  const cards = new Set(messages.flatMap((message) => message.toolCalls ?? []).filter((call) => call.function.name === CARD_TOOL).map(({ id }) => id));
  const isCard = ({ toolCallId, toolCalls, content }) => cards.has(toolCallId) || (!content && toolCalls?.every(({ id }) => cards.has(id)));
  const last = lanes.get("").findLast((message) => !isCard(message));
  return last?.role === "tool" && !records[last.toolCallId]?.replaced;
}
