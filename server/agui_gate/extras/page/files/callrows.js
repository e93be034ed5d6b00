/** Rows for calls: tools, hand-offs, and the tasks of sub-agents with all that is said in them. Pure. */

import { aboutSame, toEarlier } from "./components/core/earlier.js";
import { parseObject } from "./components/core/json.js";
import { bothArguments, hasRun, isBegun, isClosed } from "./components/core/records.js";
import { heirOf, wouldHandTo } from "./lanes.js";
import { CARD_TOOL } from "./records.js";
import { isLost } from "./state.js";

/**
 * The rows of the calls in a message. `view` is the conversation (`rows.js`), `voice` the agent that calls; `rowsOf(task,
 * agent)` are the rows of what is said in a task.
 */
export function callRows(view, message, voice, rowsOf) {
  const calls = (message.toolCalls ?? []).filter((call) => call.function.name !== CARD_TOOL);
  return calls.map((call) => handoffRow(view, call, voice) ?? taskRow(view, call, voice, rowsOf) ?? toolRow(view, call, voice));
}

function handoffRow({ state, results }, call, voice) {
  const result = results.get(call.id);
  const to = heirOf(call, result) ?? wouldHandTo(state.team, voice, call);
  if (to === null) return null;
  const handed = heirOf(call, result) !== null;
  const status = result ? (handed ? "done" : "error") : state.run ? "running" : "stopped";
  return { key: call.id, kind: "handoff", from: voice, to, status, note: result && !handed ? (parseObject(plainText(result.content))?.message ?? wordsOf(result)) : "" };
}

/** Null for a call that delegates nothing. One that waits for a yes itself, or was closed without, is drawn as a tool. */
function taskRow(view, call, voice, rowsOf) {
  const { state, lanes } = view;
  const behind = state.team.delegates?.[voice]?.[call.function.name];
  if (!behind && !lanes.has(call.id) && !state.subagents[call.id]) return null;
  const record = state.records[call.id] ?? null;
  const ask = view.asks.find((candidate) => candidate.callId === call.id);
  if (!lanes.has(call.id) && (ask || (isClosed(record ?? undefined) && !hasRun(record) && record.state !== "claimed"))) return null;
  const agent = behind ?? nameOf(view, call.id) ?? call.function.name;
  const task = bothArguments(record, parseObject(call.function.arguments)).ran.task; // as a person changed it
  const said = typeof task === "string" ? task : state.openCalls.includes(call.id) ? "" : call.function.arguments;
  return { ...taskParts(view, call.id, rowsOf(call.id, agent)), name: agent, task: said, record };
}

/** What is said in a task whose call isn't shown. */
export const strayTaskRow = (view, id, rowsOf) => {
  const name = nameOf(view, id) ?? "sub-agent";
  return { ...taskParts(view, id, rowsOf(id, name)), name, task: "", record: null };
};

const nameOf = ({ state, lanes }, id) => state.subagents[id]?.name ?? lanes.get(id)?.find((message) => message.name)?.name;

function taskParts(view, id, rows) {
  const result = view.results.get(id);
  const status = result ? resultStatus(result) : taskStatus(view.state, rows);
  const words = result ? wordsOf(result) : "";
  const isKnown = status === "done" && isSaid(words, rows);
  return { key: id, kind: "task", callId: id, status, result: words, note: isKnown ? "" : words, decided: decisionsIn(rows), rows };
}

function taskStatus({ run }, rows) {
  if (rows.some(({ kind, status }) => ["tool", "task"].includes(kind) && status === "waiting")) return "waiting";
  return run ? "running" : "paused";
}

/** Whether the rows of a task show its result already: as its last words, or as what its own sub-agents said. */
function isSaid(words, rows) {
  const said = rows.filter((row) => ["text", "form"].includes(row.kind)).map((row) => row.text);
  const inner = rows.filter((row) => row.kind === "task").map((row) => row.result);
  return [said.at(-1), said.join("\n\n"), inner.filter(Boolean).join("\n\n")].some((text) => isSame(text, words));
}

function isSame(text, words) {
  if (!text) return false;
  const [a, b] = [parseObject(text), parseObject(words)];
  return text.trim() === words.trim() || (a !== null && JSON.stringify(a) === JSON.stringify(b));
}

/** How what somebody decided in these rows came out, however deep: the words for each, `["approved", "failed"]`. */
function decisionsIn(rows) {
  return rows.flatMap((row) => {
    const own = row.record?.decision ? [wordFor(row.record)] : [];
    return row.kind === "task" ? [...own, ...row.decided] : own;
  });
}

function wordFor({ decision, state }) {
  if (!decision.approved) return "rejected";
  return { failed: "failed", unknown: "not known" }[state] ?? "approved";
}

function toolRow(view, call, voice) {
  const { state } = view;
  const result = view.results.get(call.id);
  const ask = view.asks.find((candidate) => candidate.callId === call.id) ?? null;
  const record = state.records[call.id] ?? null;
  return {
    key: call.id,
    kind: "tool",
    callId: call.id,
    name: call.function.name,
    arguments: call.function.arguments,
    result: result ? plainText(result.content) : (record?.result ?? null),
    status: isLeft(state, record) ? "unknown" : (isBegun(record) && (result || state.run) ? null : recordStatus(record)) ?? callStatus(state, result, ask, record),
    record,
    late: state.late[call.id] ?? false,
    answered: state.sent[call.id] ?? false,
    schema: state.schemas[call.function.name] ?? null,
    ...askParts(state, ask, record?.agent ?? voice),
  };
}

/** A card that can be answered now, and what was decided on it so far. Who asks is said where it isn't the chat's agent. */
function askParts(state, ask, asker) {
  if (state.run || !ask) return { ask: null, draft: null, earlier: null };
  const agent = asker === state.agent ? null : (asker ?? null);
  return { ask: { ...ask, agent }, draft: state.drafts[ask.key] ?? null, earlier: earlierRuns(state, ask) };
}

/** What the same tool already did in this thread to the same thing. */
function earlierRuns(state, ask) {
  const { tool, callId } = ask;
  const shown = state.messages.flatMap((message) => message.toolCalls ?? []);
  const name = (id) => shown.find((call) => call.id === id)?.function;
  const ran = Object.entries(state.records)
    .filter(([id, record]) => id !== callId && hasRun(record) && (record.tool ?? name(id)?.name) === tool)
    .map(([id, record]) => toEarlier(record, parseObject(name(id)?.arguments)));
  return aboutSame(ask, ran);
}

/** An ask whose call is not in the history (a question, or a thread that was cut short). */
export function askRow(state, ask) {
  const args = JSON.stringify(ask.arguments);
  const base = { key: ask.callId ?? ask.id, callId: ask.callId, name: ask.tool, arguments: args };
  const record = state.records[ask.callId] ?? null;
  return { ...base, kind: "tool", result: null, status: "waiting", record, late: false, answered: false, schema: ask.schema ?? null, ...askParts(state, ask, record?.agent ?? ask.agent) };
}

/** It was running when its server was lost. */
const isLeft = (state, record) => record?.state === "claimed" && isLost(state);

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
export const recordStatus = (record) => (isBegun(record) ? "approved" : isClosed(record ?? undefined) ? STATES[record.state] : undefined);

/** `running`, `waiting`, `done`, `error`, `unknown`, `rejected`, `superseded`, `expired` or `stopped`: a call always ends. */
function callStatus(state, result, ask, record) {
  if (result) return resultStatus(result);
  if (ask) return "waiting";
  if (state.run) return "running";
  return record?.state === "pending" ? "waiting" : "stopped";
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

/** A result in words: where the server says why something was not done, that sentence alone. */
function wordsOf(result) {
  const text = plainText(result.content);
  const { error, message } = resultStatus(result) === "done" ? {} : (parseObject(text) ?? {});
  const said = error ?? message;
  return typeof said === "string" ? said : text;
}

/** A message's text; parts that aren't text are named. */
export function plainText(content) {
  if (!Array.isArray(content)) return content ?? "";
  return content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
}
