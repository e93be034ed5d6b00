/** What went wrong, in words a person can act on. CopilotKit tells it to `onError` alone; the chat shows nothing. */

export interface Problem {
  what: string;
  advice: string;
  code: string;
  /** A run was over when it happened; what there is of its answer stays half. */
  hasFailed?: boolean;
}

interface Reported {
  error: Error & { status?: number; payload?: unknown; code?: string };
  code: string;
}

/** By the server's code: what to do about it. The server's own message says what happened. */
const ADVICE: Record<string, string> = {
  unauthorized: "Enter your token to continue.",
  forbidden: "Ask the administrator of this server.",
  not_allowed: "Ask somebody who may decide it, or sign in again if the message says so.",
  frozen: "An operator has stopped approvals of this kind. Reject the call, or wait until they are possible again.",
  not_found: "It may have been deleted. Start a new chat.",
  wrong_address: "Check the address, or choose another connection.",
  thread_busy: "Another answer is still in progress in this chat. Wait a moment, then try again.",
  lease_lost: "Reload the page to see what was saved, then send your message again if it was not answered.",
  interrupted: "A call that was running may have taken effect: check before you go on.",
  too_large: "Take the message back and send a shorter one, or start a new chat.",
  approval_refused: "The decision did not fit what was asked. Decide again, or send a new message.",
  gone: "Start a new chat.",
  output_unfit: "Try again with a more precise request.",
  tool_failed: "Try again, or ask for something else.",
  approval_pending: "Decide the open approvals first.",
  rate_limited: "The model's provider is limiting requests. Try again in a moment.",
  provider_auth: "The server's API key was not accepted. Check the key and restart the server.",
  provider_rejected: "The model's provider refused the request. Start a new chat if it happens again.",
  provider_unavailable: "The model's provider can't be reached right now. Try again in a moment.",
  context_length: "This chat is too long for the model. Start a new chat.",
  limit_reached: "Ask for something smaller, or start a new chat.",
  incomplete: "Send your message again.",
  unavailable: "The server is shutting down or overloaded. Try again in a moment.",
  network: "Is the server still running? Check the connection, then try again.",
};
/** The code of a run that was lost with its server. */
export const LOST = "interrupted";

const BY_STATUS: Record<number, string> = { 401: "unauthorized", 403: "forbidden", 404: "wrong_address", 409: "thread_busy", 413: "too_large", 429: "rate_limited", 503: "unavailable" };
const DEFAULT = "Try again. If it happens again, look at the server's log.";

/** A request was refused that had been sent before the latest token was entered: that says nothing of this one. */
export class Outdated extends Error {}

/** A report of `onError` as a problem to show, or null if it is none of the person's business. */
export function toProblem({ error, code }: Reported): Problem | null {
  if (error instanceof Outdated) return null;
  const answer = serverAnswer(error);
  if (answer) return problem(answer.code, answer.message);
  if (code === "agent_run_error_event") {
    if (error.code === "INCOMPLETE_STREAM") return problem("incomplete", error.message);
    return { ...problem(error.code ?? "internal", error.message), hasFailed: true };
  }
  if (/pending interrupt/.test(error.message)) return problem("approval_pending", "An approval is still open.");
  if (isNetwork(error) || code === "runtime_info_fetch_failed") return problem("network", "The server can't be reached.");
  if (/network error|Failed to read|INCOMPLETE|terminal/i.test(error.message)) return CUT;
  return problem(error.code ?? "internal", error.message);
}

/** What a limit that stopped a run says of it, which clients of AG-UI 1.0 get in RUN_FINISHED; null for any other end. */
export function toStopped(event: object): Problem | null {
  const { outcome, metadata } = event as { outcome?: { type?: string }; metadata?: { "agui-gate"?: { code?: string; message?: string } } };
  const said = outcome?.type === "cancelled" ? metadata?.["agui-gate"] : undefined;
  return said?.message ? { ...problem(said.code ?? "limit_reached", said.message), hasFailed: true } : null;
}

/** A stream that just ended: a proxy that gave up, say, or a server that was killed. */
export const CUT: Problem = { code: "incomplete", what: "The answer broke off before it was complete.", advice: "Send your message again." };

/** Not even the beginning came: what CopilotKit's Node runtime does with a message while a run is on. */
export const SILENT: Problem = {
  code: "no_answer",
  what: "No answer came.",
  advice: "Another answer may still be in progress in this chat. Wait a moment, then try again.",
};

const problem = (code: string, what: string): Problem => ({ code, what, advice: ADVICE[code] ?? DEFAULT });

const isNetwork = (error: Error) => error.name === "TypeError" && /fetch|network|load failed/i.test(error.message);

/** The server's `{"error": {code, message}}` in an HTTP error, however the client wrapped it. */
function serverAnswer(error: Reported["error"]): { code: string; message: string } | null {
  const status = error.status ?? Number(/(?:HTTP|status)\s*:?\s*(\d{3})/i.exec(error.message)?.[1]);
  if (!status) return null;
  const body = error.payload ?? jsonIn(error.message);
  const said = (body as { error?: { code?: string; message?: string } } | null)?.error;
  const code = said?.code ?? BY_STATUS[status] ?? "internal";
  return { code, message: said?.message ?? SAID[code] ?? `The server answered ${status}.` };
}

const SAID: Record<string, string> = {
  unauthorized: "This server requires a token.",
  thread_busy: "This chat is busy.",
  too_large: "Too many requests.",
  wrong_address: "There is no agent at this address.",
};

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text.slice(text.indexOf("{")));
  } catch {
    return null;
  }
}
