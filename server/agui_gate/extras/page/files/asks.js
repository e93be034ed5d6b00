/**
 * What waits for the person in a conversation: gated calls and questions, in the two styles the server has, as asks of the
 * card (`components/core/types.js`) with their `style`, `interrupt` or `card`, and as they were `asked`. Pure.
 */

import { fromCard, fromInterrupt, toCardAnswer, toResume, together as approvedTogether } from "./components/core/asks.js";
import { parseObject } from "./components/core/json.js";
import { withPeople } from "./components/core/people.js";
import { isClosed } from "./components/core/records.js";
import { CARD_TOOL } from "./records.js";
import { findCall, findResult } from "./state.js";

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
    .map((interrupt) => askOfInterrupt(state, interrupt));
  return [...cards, ...interrupts].filter((ask) => !state.sent[ask.key] && !isClosed(state.records[ask.callId]));
}

/** Whether what is decided can go out: all that is open, or (with `partial`) some of it. */
export function isReady(state, partial = false) {
  const asks = openAsks(state);
  const decided = asks.filter((ask) => state.drafts[ask.key]);
  return !state.run && decided.length > 0 && (partial || decided.length === asks.length);
}

/** What one click may approve: all that is not decided, if it is several. */
export const together = (state, now) => approvedTogether(openAsks(state).filter((ask) => !state.drafts[ask.key]), now);

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
    .map((call) => askOfCard(state, call))
    .filter((ask) => ask !== null && !findResult(state, ask.callId));
  return [...new Map(cards.map((ask) => [ask.callId, ask])).values()];
}

function askOfCard(state, call) {
  const card = parseObject(call.function.arguments);
  const ask = fromCard(card, call.id, state.schemas[card?.function_name]);
  return ask && { ...withPeople(ask, state.records[ask.callId]), style: "card", asked: ask };
}

function askOfInterrupt(state, interrupt) {
  const call = findCall(state, interrupt.toolCallId)?.function;
  const tool = call?.name ?? interrupt.metadata?.tool;
  const ask = fromInterrupt(interrupt, { tool, arguments: parseObject(call?.arguments), schema: state.schemas[tool] });
  return { ...withPeople(ask, state.records[ask.callId]), style: "interrupt", asked: ask };
}

/**
 * Decisions in the form their asks want, for the next run: `{resume: […], messages: […]}`.
 * A decision is `{approved, reason?, edits?}` or, for a question, `{answer}` (absent: declined).
 */
export function toAnswers(asks, decisions, newId) {
  const decided = asks.filter((ask) => decisions[ask.key]);
  const of = (style) => decided.filter((ask) => ask.style === style);
  return {
    resume: of("interrupt").map((ask) => toResume(ask, decisions[ask.key])),
    messages: of("card").map((ask) => ({ id: newId(), role: "tool", toolCallId: ask.id, content: JSON.stringify(toCardAnswer(ask, decisions[ask.key])) })),
  };
}
