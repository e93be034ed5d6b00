/**
 * What the page knows about one conversation, and what the person and the server's records change in it. Pure: time is
 * passed in, ms since epoch. How AG-UI events change it is in store.js.
 *
 * `messages` is the wire form (what the next run sends back); everything else is kept beside it, keyed by the ids in it.
 */

import { parseObject } from "./components/core/json.js";
import { hasRun, isClosed, learn } from "./components/core/records.js";
import { entriesOf, fromMessages } from "./records.js";

export function initialState({ threadId = "", agent = "", schemas = {}, team = {} } = {}) {
  return {
    threadId,
    agent,
    schemas, // tool -> JSON Schema of its arguments
    team, // who works for the agent, see team.js
    messages: [],
    shared: {}, // AG-UI state
    interrupts: [], // open ones
    drafts: {}, // ask key -> decision not sent yet: several asks are sent together
    sent: {}, // call id -> true while an answer is on its way
    late: {}, // call id -> true where an answer from here came too late
    records: {}, // call id -> what the server's ledger says, see records.js
    openCalls: [], // call ids whose arguments are still streaming
    thinking: {}, // reasoning message id -> {from, to?}
    subagents: {}, // task (the id of the call that delegated it) -> {name}
    footers: {}, // last message id of a run -> {seconds, input, output}
    used: null, // {input, output, cost} of the whole chat, as far as it is known: tokens, and dollars or null
    run: null, // {id, startedAt} while a run is on
    notice: null, // {code, message} of the last run
  };
}

/** Whether the chat was deleted while it was open: what is said next begins another one. */
export const isGone = (state) => state.notice?.code === "not_found" && state.messages.length === 0;

/** Whether what somebody decided elsewhere is being carried out: the chat is busy with that. */
export const isAwaited = ({ records }) => Object.values(records).some((record) => record.state === "claimed");

/** A user's new message; anything said before stays. */
export function addUserMessage(state, id, text) {
  return { ...state, notice: null, messages: [...state.messages, { id, role: "user", content: text }] };
}

/** What "try again" would leave behind: the messages after the last one of the person. */
const answerAt = (state) => state.messages.findLastIndex((message) => message.role === "user") + 1;

/** What ran in the last answer and stays done when that is replaced: `[{callId, name, arguments, record}]`. */
export function ranInAnswer(state) {
  const calls = state.messages.slice(answerAt(state)).flatMap((message) => message.toolCalls ?? []);
  const ran = calls.filter(({ id }) => hasRun(state.records[id]) && !state.records[id].replaced);
  return ran.map(({ id, function: { name, arguments: args } }) => ({ callId: id, name, arguments: parseObject(args) ?? {}, record: state.records[id] }));
}

/** The history up to and including the last user message: what "try again" starts from. The server tells what ran after it. */
export function rewind(state) {
  return { ...state, notice: null, interrupts: [], messages: state.messages.slice(0, answerAt(state)) };
}

/**
 * The history without the half of an answer at its end; what was decided, what ran and what the person said stays. So does what
 * a sub-agent said that is done: tasks at work at the same time may stand in any order.
 */
export function withoutHalf(state) {
  const isDecided = ({ id }) => isClosed(state.records[id]);
  const ended = new Set(state.messages.map(({ toolCallId }) => toolCallId));
  const last = state.messages.findLastIndex(({ role, toolCalls = [] }) => ["user", "tool"].includes(role) || toolCalls.some(isDecided));
  const stays = ({ subagentRunId: task }, at) => at <= last || (task && ended.has(task));
  return { ...state, notice: null, messages: state.messages.filter(stays) };
}

/** A run begins; the answers to the calls `sent` go out with it. Their asks close when the results come. */
export function startRun(state, runId, now, sent = []) {
  const run = { id: runId, startedAt: now };
  return { ...state, notice: null, run, drafts: {}, sent: Object.fromEntries(sent.map((callId) => [callId, true])) };
}

/** Decide an ask without sending it yet; null takes the decision back. By the ask's key: its id changes when it is asked again. */
export function setDraft(state, { key }, decision) {
  const { [key]: _, ...others } = state.drafts;
  return { ...state, drafts: decision ? { ...others, [key]: decision } : others };
}

/** What the person said last, as far as there is no answer to it: messages. */
export const unanswered = ({ messages }) => messages.slice(messages.findLastIndex((message) => message.role !== "user") + 1);

/** Whether the last run was lost with its server: what was running then is not running any more. */
export const isLost = ({ notice }) => notice?.code === "interrupted";

/** Answers that never left are decided and not sent; what was `said` with them (a message, or null) has no answer yet. */
export function unsent(state, { drafts, messages }, said) {
  return { ...cutOff(state, drafts), messages: said ? [...messages, said] : messages };
}

/** The run broke off: its answers are decided, and whether they arrived is not known. */
export const cutOff = (state, drafts) => ({ ...state, drafts: Object.fromEntries(Object.entries(drafts).map(([key, draft]) => [key, { ...draft, tried: true }])) });

/** Nothing is open any more once a run is over. */
export const atRest = (state) => ({ ...state, openCalls: [], sent: {} });

/** The run is over without success: it was refused, failed, was stopped, or the stream broke off. What it was saying is cut off. */
export function failRun(state, code, message) {
  const messages = state.run && code !== "interrupted" ? withCut(state.messages) : state.messages; // of what was lost the server says it
  return { ...atRest(state), messages, run: null, notice: { code, message } };
}

/** The last message is marked as the server marks it. */
export function withCut(messages) {
  const last = messages.at(-1);
  if (!["assistant", "reasoning"].includes(last?.role) || !last.content) return messages;
  return messages.with(-1, { ...last, metadata: { ...last.metadata, "agui-gate": { ...last.metadata?.["agui-gate"], cut: true } } });
}

/** A thread as `GET /threads/{id}` returns it. What was decided here and not sent stays, where it still can be. */
export function restore(state, { id, agent, messages = [], state: shared, approvals, calls, usage, run }) {
  const same = id === undefined || id === state.threadId;
  const kept = same ? { drafts: state.drafts, late: state.late, footers: state.footers, thinking: state.thinking, subagents: state.subagents, used: state.used } : {};
  const fresh = { ...initialState({ threadId: id ?? state.threadId, agent: agent ?? state.agent, schemas: state.schemas, team: state.team }), ...kept };
  const asked = new Map(same ? state.interrupts.map((interrupt) => [interrupt.id, interrupt]) : []); // they know more
  const next = { ...fresh, messages: run?.status === "cancelled" ? withCut(messages) : messages, shared: shared ?? {}, interrupts: (approvals ?? []).map((approval) => asked.get(approval.id) ?? asInterrupt(approval)) };
  const used = usage ? usedOf(usage.total) : next.used;
  return learnCalls({ ...next, used, records: same ? state.records : {} }, calls ?? []);
}

const usedOf = ({ input_tokens: input, output_tokens: output, cost }) => ({ input, output, cost });

/** What the ledger says of the thread's gated calls (whole records). A draft for what is closed by now came too late. */
export function learnCalls(state, calls) {
  return withRecords(state, [...fromMessages(state.messages), ...entriesOf(calls)]);
}

/** The same for records of any kind, by call id. */
export function withRecords(state, entries) {
  const records = learn(state.records, entries);
  const next = { ...state, records, interrupts: state.interrupts.filter(({ toolCallId }) => !isClosed(records[toolCallId])) };
  const overtaken = Object.keys(state.drafts).filter((key) => isClosed(records[key]));
  if (overtaken.length === 0) return next;
  const drafts = Object.fromEntries(Object.entries(state.drafts).filter(([key]) => !overtaken.includes(key)));
  const lost = overtaken.filter((key) => !isArrived(state.drafts[key], records[key]));
  return { ...next, drafts, late: { ...state.late, ...Object.fromEntries(lost.map((key) => [key, true])) } };
}

/** Whether what seemed not to have left is what was decided. */
const isArrived = ({ tried, approved }, { decision }) => Boolean(tried) && decision?.approved === approved;

/** An open approval can be answered like the interrupt that asked for it: they have the same id. */
export function asInterrupt({ id, call_id, message, expires_at, tool, agent, arguments: args, editable }) {
  const metadata = { tool, agent, arguments: args, editable: editable ?? [] };
  return { id, reason: "tool_call", toolCallId: call_id, message, expiresAt: expires_at ?? undefined, metadata };
}

export function findCall(state, id) {
  for (const message of state.messages) {
    const call = message.toolCalls?.find((candidate) => candidate.id === id);
    if (call) return call;
  }
  return null;
}

export const findResult = (state, callId) =>
  state.messages.find((message) => message.role === "tool" && message.toolCallId === callId) ?? null;
