/** Who says what in a conversation with more than one agent: what the messages tell. Pure. */

import type { Message } from "@ag-ui/client";
import { isObject } from "agui-gate-components/core/values.js";
import { parseObject } from "agui-gate-components/core/json.js";

/** What SUBAGENT_STARTED says of a task; its id is that of the call that delegated it. */
export interface Told {
  agent: string;
  /** The task inside which it was delegated; "": none. */
  parent: string;
}

/** What one agent handed to another one, to be worked on with tools of its own. */
export interface Task extends Told {
  id: string;
  /** Its messages, and the first ones of tasks inside it whose calls aren't shown; in order. */
  messages: readonly string[];
}

export interface Team {
  /** Who is to be named above a message, by its id: the first of those that the same agent says. */
  speakers: ReadonlyMap<string, string>;
  tasks: ReadonlyMap<string, Task>;
  /** Tasks whose delegating calls aren't shown, by the first message that belongs to each; the inmost first. */
  anchors: ReadonlyMap<string, readonly string[]>;
  /** In which task a call was made, by its id; "": in none. */
  lanes: ReadonlyMap<string, string>;
}

export const NOBODY: Team = { speakers: new Map(), tasks: new Map(), anchors: new Map(), lanes: new Map() };

const CARD = "confirm_changes";

/** The task that a message belongs to; "": none. */
export const laneOf = (message: Message): string => message.subagentRunId ?? "";

/**
 * Reads `messages`. `told`: tasks that were announced. `entry`: whom the client posts to, who has no name in messages.
 * `delegates`: agents by the tools that delegate to them, where that is known.
 */
export function readTeam(messages: readonly Message[], told: ReadonlyMap<string, Told>, entry: string, delegates: Readonly<Record<string, string>>): Team {
  const calls = callsIn(messages);
  if (!messages.some(isOthers) && !calls.some((call) => heirOf(call) || told.has(call.id))) return NOBODY;
  const lanes = new Map(calls.map(({ id, lane }) => [id, lane]));
  const names = new Map(calls.map(({ id, name }) => [id, name]));
  const tasks = new Map<string, Task & { messages: string[] }>();
  const anchors = new Map<string, string[]>();
  const task = (id: string) => {
    const known = tasks.get(id) ?? { id, agent: told.get(id)?.agent ?? delegates[names.get(id) ?? ""] ?? "", parent: lanes.get(id) ?? told.get(id)?.parent ?? "", messages: [] };
    return tasks.set(id, known).get(id)!;
  };
  /** What nothing was seen of before begins with this message. */
  const put = (id: string, message: string) => {
    const own = task(id);
    if (own.messages.length === 0 && !lanes.has(id)) {
      anchors.set(message, [...(anchors.get(message) ?? []), id]);
      if (own.parent) put(own.parent, message);
    }
    if (own.messages.at(-1) !== message) own.messages.push(message);
  };
  told.forEach((_, id) => lanes.has(id) && task(id));
  for (const message of messages) {
    const lane = laneOf(message);
    if (lane === "" || message.role === "tool") continue;
    put(lane, message.id);
    task(lane).agent ||= ("name" in message && message.name) || "";
  }
  tasks.forEach((each) => (each.agent ||= names.get(each.id) ?? ""));
  return { speakers: speakersIn(messages, calls, tasks, entry), tasks, anchors, lanes };
}

/** The tasks around a call, the inmost first. */
export function around(team: Team, callId: string): string[] {
  const found: string[] = [];
  for (let lane = team.lanes.get(callId) ?? ""; lane !== "" && !found.includes(lane); lane = team.tasks.get(lane)?.parent ?? "") found.push(lane);
  return found;
}

/** A transfer of the conversation to another agent. */
export interface HandOff {
  to: string;
  how: "asked" | "done" | "refused";
  /** Why it was refused. */
  why: string;
}

/** What a call transfers to whom, by its result; null if it is no hand-off. */
export function handOff(name: string, parameters: unknown, result: string | undefined): HandOff | null {
  const to = /^transfer_to_(.+)$/.exec(name)?.[1];
  if (to === undefined) return null;
  if (result === undefined) return isObject(parameters) && Object.keys(parameters).length > 0 ? null : { to, how: "asked", why: "" };
  const { status, agent, message } = parseObject(result) ?? {};
  if (status === "transferred" && typeof agent === "string") return { to: agent, how: "done", why: "" };
  return status === "not_transferred" ? { to, how: "refused", why: String(message ?? "") } : null;
}

const isOthers = (message: Message): boolean => laneOf(message) !== "" || (message.role === "assistant" && Boolean(message.name));

/** Who answers after a call; "": nobody else. */
function heirOf({ name, result }: Call): string {
  const found = result === undefined ? null : handOff(name, {}, result);
  return found?.how === "done" ? found.to : "";
}

interface Call {
  id: string;
  name: string;
  lane: string;
  result: string | undefined;
}

function callsIn(messages: readonly Message[]): Call[] {
  const results = new Map(messages.flatMap((message) => (message.role === "tool" && typeof message.content === "string" ? [[message.toolCallId, message.content] as const] : [])));
  return messages.flatMap((message) => {
    if (message.role !== "assistant") return [];
    return (message.toolCalls ?? []).map(({ id, function: { name } }) => ({ id, name, lane: laneOf(message), result: results.get(id) }));
  });
}

/** Whoever speaks is named where somebody else spoke before; inside a task, where it isn't the agent that it was handed to. */
function speakersIn(messages: readonly Message[], calls: readonly Call[], tasks: ReadonlyMap<string, Task>, entry: string): Map<string, string> {
  const heirs = new Map(calls.map((call) => [call.id, heirOf(call)]));
  const speakers = new Map<string, string>();
  const active = new Map<string, string>();
  const named = new Map<string, string>();
  for (const message of messages) {
    const lane = laneOf(message);
    const own = tasks.get(lane)?.agent ?? entry;
    if (message.role === "user") named.delete(lane);
    if (message.role !== "assistant" && message.role !== "reasoning") continue;
    const made = message.role === "assistant" ? (message.toolCalls ?? []) : [];
    if (message.role === "assistant" && message.content) active.set(lane, message.name || own);
    const speaker = active.get(lane) ?? own;
    const isShown = Boolean(message.content) || made.some(({ function: { name } }) => name !== CARD);
    if (isShown && speaker !== (named.get(lane) ?? (lane && own))) {
      speakers.set(message.id, speaker);
      named.set(lane, speaker);
    }
    for (const { id } of made) if (heirs.get(id)) active.set(lane, heirs.get(id)!);
  }
  return speakers;
}
