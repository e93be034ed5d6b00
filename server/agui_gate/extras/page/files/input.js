/** What a run is asked with, how often, and what is said of one that couldn't be had. */

import { CONFIRM_CHANGES, openAsks } from "./asks.js";
import { unanswered } from "./state.js";

const BUSY_RETRIES = 3;
const BUSY_WAIT = 500; // ms, times the attempt
const AT_MOST = 1000; // ms that a message waits for the server to say that its chat is there

/** The body of a run (RunAgentInput): the whole history under the chat's id. `cards`: asks for confirm cards. */
export function runInput(state, { cards, resume = [], messages = withoutActivity(state.messages) }) {
  const body = {
    threadId: state.threadId,
    runId: state.run.id,
    state: state.shared,
    messages,
    tools: cards ? [CONFIRM_CHANGES] : [],
    context: [],
    forwardedProps: {},
  };
  return resume.length ? { ...body, resume } : body;
}

const withoutActivity = (messages) => messages.filter((message) => message.role !== "activity");

const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Whether the server says, in time, that it doesn't have what is asked for. */
export async function isMissing(ask) {
  const asked = ask().then(() => null, ({ code }) => code);
  return (await Promise.race([asked, wait(AT_MOST)])) === "not_found";
}

/** The events of what `start()` begins. Stopping a run takes the server a moment: a message sent right after it must not fail for that. */
export async function* patiently(start) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return yield* start();
    } catch (error) {
      if (error.code !== "thread_busy" || attempt > BUSY_RETRIES) throw error;
      await wait(BUSY_WAIT * attempt);
    }
  }
}

const LOST = "The server process that ran this was lost. What it had saved is kept; the rest of this answer is lost.";

/** What is said of a chat whose last `run` was lost with its server and asks nothing, or was stopped or failed before there was a word of its answer. */
export function endNotice(state, run) {
  if (run?.status === "interrupted") return openAsks(state).length > 0 ? null : { code: "interrupted", message: LOST };
  if (unanswered(state).length === 0) return null;
  return { cancelled: { code: "abort", message: "" }, failed: { code: "incomplete", message: "This has no answer." } }[run?.status] ?? null;
}

/** `[code, message]` of a run that failed with `error`; `signal` is the one that stops it. */
export function failure(error, signal) {
  if (signal.aborted) return ["abort", ""];
  if (error.code) return [error.code, error.message];
  return error instanceof SyntaxError
    ? ["internal", "The server sent something that is not an AG-UI event."]
    : ["incomplete", "The connection was lost."];
}
