/** The log itself is silent while it streams; this says what a listener needs to know. */

import { openAsks } from "./asks.js";
import { plainText } from "./callrows.js";
import { decisionLine } from "./components/core/records.js";
import { reveal } from "./components/core/reveal.js";
import { humanize } from "./components/core/values.js";

/** What to say about the change from one state to the next, or null. */
export function newsOf(old, state) {
  if (old.threadId !== state.threadId) return null;
  const late = Object.keys(state.late).find((callId) => !old.late[callId]);
  if (late) return `${decisionLine(state.records[late], { already: true })}. Your answer came too late.`;
  if (!old.run || state.run) return null;
  const asks = openAsks(state);
  if (asks.length > 0) return asks.length === 1 ? `Approval needed: ${inWords(asks[0])}` : `${asks.length} approvals needed`;
  if (state.notice) return state.notice.code === "abort" ? "Stopped" : `Error: ${state.notice.message}`;
  const answer = state.messages.findLast((message) => !message.subagentRunId);
  return answer?.role === "assistant" ? [answer.name && humanize(answer.name), plainText(answer.content)].filter(Boolean).join(": ") : null;
}

const inWords = ({ agent, tool }) => reveal([agent && `${humanize(agent)} asks`, humanize(tool)].filter(Boolean).join(": "));
