/** The server's HTTP routes, as functions. Every failure is an `ApiError` with a code from the server's list. */

import { learnTime } from "./components/core/servertime.js";
import { readEvents } from "./sse.js";
import { readToken } from "./storage.js";

export class ApiError extends Error {
  /** `code` is one of the server's codes, or `network` when no answer came at all; `record` is what it tells of a call. */
  constructor(code, message, status = 0, record = null) {
    super(message);
    this.code = code;
    this.status = status;
    this.record = record;
  }
}

// Relative to the page, so that the server may be mounted under a prefix.
const route = (path) => new URL(path, document.baseURI).href;

function headers(extra = {}) {
  const token = readToken();
  return token ? { ...extra, Authorization: `Bearer ${token}` } : extra;
}

const SILENCE = 45_000; // ms without the beginning of an answer, after which there comes none: its connection is dead

/** What `early.js` asked for already, once. */
function takeEarly(path) {
  const taken = globalThis.aguiGateEarly?.get(path);
  globalThis.aguiGateEarly?.delete(path);
  return taken;
}

async function call(path, options = {}) {
  const isRead = !options.method && !options.signal; // what is done may take its time; and who can end it has a rule of their own
  const early = isRead ? takeEarly(path) : undefined;
  const silence = early?.controller ?? new AbortController();
  const bell = isRead ? setTimeout(() => silence.abort(), SILENCE) : null;
  let response;
  try {
    response = await (early?.answer ?? fetch(route(path), { signal: silence.signal, ...options, headers: headers(options.headers) }));
  } catch (error) {
    if (error.name === "AbortError" && !isRead) throw error;
    throw new ApiError("network", "The server did not answer.");
  } finally {
    clearTimeout(bell);
  }
  learnTime(response.headers.get("date"));
  if (!response.ok) throw await asError(response);
  return response;
}

async function asError(response) {
  const body = await response.json().catch(() => null);
  const { code = "internal", message = `The server answered ${response.status}.`, record = null } = body?.error ?? {};
  return new ApiError(code, message, response.status, record);
}

/** What is being served: `[{name, description, tools?, examples?}]`. */
export async function listAgents() {
  const body = await (await call("agents")).json();
  return body.agents ?? [];
}

let early = null; // a thread that is on its way before anything wants it

/** Ask for a thread at once, if there is one; the next `getThread` of it takes that answer. */
export function askEarly(threadId) {
  if (!threadId) return;
  early = { threadId, thread: readThread(threadId) };
  early.thread.catch(() => {}); // told to whoever wants it
}

/** A thread as the server keeps it: messages, state, open approvals. */
export function getThread(threadId) {
  const { thread } = early?.threadId === threadId ? early : { thread: readThread(threadId) };
  early = null;
  return thread;
}

const readThread = async (threadId) => (await call(`threads/${encodeURIComponent(threadId)}`)).json();

/** The same without what was said: what its run and its gated calls are at. Cheap, to be asked again and again. */
export async function getCalls(threadId) {
  return (await call(`threads/${encodeURIComponent(threadId)}?view=calls`)).json();
}

/** The person's threads, the latest first, a page at a time: `{threads, next_cursor}`. */
export async function listThreads(cursor = null) {
  return (await call(`threads?limit=50${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`)).json();
}

export async function renameThread(threadId, title) {
  await call(`threads/${encodeURIComponent(threadId)}`, withBody("PATCH", { title }));
}

/** Delete a thread on the server, with all that was said in it. */
export async function deleteThread(threadId) {
  await call(`threads/${encodeURIComponent(threadId)}`, { method: "DELETE" });
}

/** Stop the thread's run. Its stream ends by itself, with a result for every open call. */
export async function cancelRun(threadId) {
  await call(`threads/${encodeURIComponent(threadId)}/cancel`, { method: "POST" });
}

/** What was decided, the latest first, a page at a time: `{rows, next}`. */
export async function decidedPage(cursor = null) {
  const { approvals = [], next_cursor: next = null } = await (await call(`approvals?state=decided&view=card&limit=50${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`)).json();
  return { rows: approvals, next };
}

/** Who uses the page, which routes are open to them, and whose deputies they are. */
export const whoAmI = async () => (await call("me")).json();

/** What a person did, from the audit trail, the latest first: `{entries, next_cursor}`. */
export const doneBy = async (person, cursor = null) => (await call(`audit?format=json&limit=50&person=${encodeURIComponent(person)}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`)).json();

/** The standing grants that this person may see. */
export async function grantsPage() {
  const { grants = [] } = await (await call("grants")).json();
  return { rows: grants, next: null };
}

export async function revokeGrant(id) {
  await call(`grants/${encodeURIComponent(id)}`, { method: "DELETE" });
}

/** Calls that this person may decide in an emergency alone; none where they have no such right. */
export async function emergenciesPage(cursor = null) {
  const { approvals = [], next_cursor: next = null } = await (await call(`approvals?break_glass=true&view=card&limit=50${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`)).json();
  return { rows: approvals.filter(({ you }) => you?.may.includes("break_glass")), next };
}

/** Decide a call, as `POST /approvals/{id}` wants it. */
export const decideCall = async (id, body) => (await call(`approvals/${encodeURIComponent(id)}`, withBody("POST", body))).json();

/** Name the colleague who is to decide a call. */
export const handTo = async (id, to) => (await call(`approvals/${encodeURIComponent(id)}/hand-to`, withBody("POST", { to }))).json();

/** The deputies of this person, and those that they are. */
export async function deputiesPage() {
  const { deputies = [] } = await (await call("deputies")).json();
  return { rows: deputies, next: null };
}

/** `{deputy, until, since?}`; answers with the deputy. */
export const nameDeputy = async (body) => (await call("deputies", withBody("POST", body))).json();

export async function endDeputy(id) {
  await call(`deputies/${encodeURIComponent(id)}`, { method: "DELETE" });
}

/** What operators read, below `/ops/`. */
export const readOps = async (path) => (await call(`ops/${path}`)).json();

/** What operators change, each with a reason. */
export const changeOps = async (path, body) => (await call(`ops/${path}`, withBody("POST", body))).json();

const withBody = (method, body) => ({ method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

/** Start a run; yields its AG-UI events. Aborting `signal` only disconnects: the run goes on. `began(key)` is told how the server names it. */
export function run(agent, input, signal, began) {
  return stream(`agents/${encodeURIComponent(agent)}`, input, signal, began);
}

/** What happened on a thread so far and, while a run is on, what it says from now on, as AG-UI events. */
export function connect(agent, input, signal) {
  return stream(`agents/${encodeURIComponent(agent)}/connect`, input, signal);
}

async function* stream(path, input, signal, began = () => {}) {
  const response = await call(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream", "AGUI-Gate-Leaving": "continue" },
    body: JSON.stringify(input),
    signal,
  });
  began(response.headers.get("AGUI-Run-Key"));
  yield* readEvents(response);
}
