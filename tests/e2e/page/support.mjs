/** What the page's tests share: the page's modules by name, and events in short. */

import { register } from "node:module";

// As a browser finds them: the components below the page's own modules.
const ROOT = new URL("../../../", import.meta.url);
const resolve = `export const resolve = (name, context, next) => next(name.startsWith("./components/") ? new URL(name, ${JSON.stringify(ROOT)}).href : name, context)`;
register(`data:text/javascript,${encodeURIComponent(resolve)}`);

export const page = (name) => import(new URL(`../../../server/agui_gate/extras/page/files/${name}`, import.meta.url));

const { initialState, startRun, addUserMessage } = await page("state.js");
const { reduce } = await page("store.js");

export const T0 = 1_000_000; // ms

/** A conversation in which the user asked for something and a run is on. */
export const asked = (text = "refund A1") =>
  startRun(addUserMessage(initialState({ threadId: "t1", agent: "support" }), "u1", text), "r1", T0);

export const play = (state, ...events) => events.reduce((current, event) => reduce(current, event, T0 + 2000), state);

export const call = (id, name, args, parent = "a1") => [
  { type: "TOOL_CALL_START", toolCallId: id, toolCallName: name, parentMessageId: parent },
  { type: "TOOL_CALL_ARGS", toolCallId: id, delta: args.slice(0, 4) },
  { type: "TOOL_CALL_ARGS", toolCallId: id, delta: args.slice(4) },
  { type: "TOOL_CALL_END", toolCallId: id },
];

export const result = (id, content) => ({ type: "TOOL_CALL_RESULT", messageId: `${id}-result`, toolCallId: id, content });

export const text = (id, content) => [
  { type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: id, delta: content },
  { type: "TEXT_MESSAGE_END", messageId: id },
];

export const finished = (fields = {}) => ({ type: "RUN_FINISHED", threadId: "t1", runId: "r1", ...fields });

export const interrupt = (callId, fields = {}) => ({
  id: `apr-${callId}`,
  reason: "tool_call",
  toolCallId: callId,
  message: "Run refund?",
  responseSchema: { type: "object", properties: { approved: { type: "boolean" } }, required: ["approved"] },
  metadata: { tool: "refund", arguments: { order_id: "A1", amount: 20 } },
  ...fields,
});

export const interrupted = (...interrupts) => finished({ outcome: { type: "interrupt", interrupts } });

export const ARGS = '{"order_id":"A1","amount":20}';
