/** Who says what: the messages in lanes, one for the conversation itself and one for each task of a sub-agent. Pure. */

import { parseObject } from "./components/core/json.js";

const TRANSFER = "transfer_to_";

/** The agent to whom `call` handed the conversation over, or null. */
export function heirOf(call, result) {
  const { status, agent } = parseObject(typeof result?.content === "string" ? result.content : "") ?? {};
  return status === "transferred" && call.function.name === TRANSFER + agent ? agent : null;
}

/** The agent to whom `call` of `voice` would hand it over, or null where it is a tool like any other. */
export function wouldHandTo({ heirs = {} }, voice, call) {
  const { name } = call.function;
  return (heirs[voice] ?? []).find((heir) => name === TRANSFER + heir) ?? null;
}

/**
 * The messages by their task, "" for the conversation itself. What belongs to a task whose call isn't shown anywhere
 * has its place in the conversation: `{role: "task", id}` stands there.
 */
export function lanesOf(messages) {
  const homes = new Map(messages.flatMap((message) => (message.toolCalls ?? []).map(({ id }) => [id, message.subagentRunId ?? ""])));
  const lanes = new Map([["", []]]);
  for (const message of messages) {
    const task = message.subagentRunId ?? "";
    if (!lanes.has(task)) {
      lanes.set(task, []);
      if (!isRooted(homes, task)) lanes.get("").push({ role: "task", id: task });
    }
    lanes.get(task).push(message);
  }
  return lanes;
}

/** Whether the way from a task up, from call to call, ends in the conversation. */
function isRooted(homes, task) {
  const seen = new Set();
  for (let at = task; at !== ""; at = homes.get(at)) {
    if (seen.has(at) || !homes.has(at)) return false;
    seen.add(at);
  }
  return true;
}

/** Who says each message of a lane, by the message's id; `first` begins. A message of the entry agent has no name. */
export function voicesOf(lane, first, { isTask, results }) {
  let voice = first;
  const said = new Map();
  for (const message of lane) {
    if (!["assistant", "reasoning"].includes(message.role)) continue;
    if (message.name) voice = message.name;
    else if (message.content && message.role === "assistant" && !isTask) voice = first;
    said.set(message.id, voice);
    for (const call of message.toolCalls ?? []) voice = heirOf(call, results.get(call.id)) ?? voice;
  }
  return said;
}
