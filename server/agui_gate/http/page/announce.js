/** The log itself is silent while it streams; this says what a listener needs to know. */

import { openAsks } from "./asks.js";
import { humanize } from "./fields.js";
import { reveal } from "./reveal.js";
import { plainText } from "./rows.js";
import { decisionLine } from "./words.js";

/** What to say about the change from one state to the next, or null. */
export function newsOf(old, state) {
  if (old.threadId !== state.threadId) return null;
  const late = Object.keys(state.late).find((callId) => !old.late[callId]);
  if (late) return `${decisionLine(state.records[late], { already: true })}. Your answer came too late.`;
  if (!old.run || state.run) return null;
  const asks = openAsks(state);
  if (asks.length > 0) return asks.length === 1 ? `Approval needed: ${reveal(humanize(asks[0].tool))}` : `${asks.length} approvals needed`;
  if (state.notice) return state.notice.code === "abort" ? "Stopped" : `Error: ${state.notice.message}`;
  const answer = state.messages.at(-1);
  return answer?.role === "assistant" ? plainText(answer.content) : null;
}
