/** The server's routes for approvals, as functions. Every failure is a `ServerError` that says what kind of failure it is. */

import { parseJson } from "./json.js";
import { learnTime } from "./servertime.js";
import { isObject } from "./values.js";

/** @import { CallRecord, Json, Schema } from "./types.js" */

const SILENCE = 45_000; // ms without a sign of life, after which a connection is dead: the server sends one every 15 s

/**
 * @typedef {"away" | "unauthorized" | "foreign" | "missing" | "refused"} Failure `away`: no answer came; `foreign`: something
 * else answered; `missing`: it is not there, or not any more; `refused`: the server says why it didn't do it.
 *
 * @typedef {object} ServerOptions
 * @property {string} base Where the server is.
 * @property {() => string | null | undefined | Promise<string | null | undefined>} [getToken] Asked before each request.
 * @property {typeof fetch} [fetch]
 *
 * @typedef {CallRecord & {id: string, thread_id: string, call_id: string, tool: string, arguments: Json,
 *   editable?: string[], asked_at?: string, expires_at?: string | null, schema?: Schema | null, refused?: string | null,
 *   already_ran?: import("./types.js").Earlier[], thread?: {title: string | null, agent: string} | null}} Row
 * A record of `GET /approvals?view=card`; one of an older server has no `schema`.
 */

export class ServerError extends Error {
  /**
   * @param {Failure} kind
   * @param {string} [message] what the server says
   * @param {CallRecord | null} [record] what it tells of the call
   * @param {string} [code] of its list of errors
   */
  constructor(kind, message = "", record = null, code) {
    super(message);
    this.kind = kind;
    this.record = record;
    this.code = code;
  }
}

/** No answer came, or half of one. @returns {never} */
const isAway = () => {
  throw new ServerError("away");
};

/** @param {ServerOptions} options */
export function createServer({ base, getToken = () => null, fetch: ask = (url, init) => fetch(url, init) }) {
  const root = base.endsWith("/") ? base : `${base}/`;

  /**
   * @param {string} path
   * @param {{body?: Json, signal?: AbortSignal, accept?: string}} [options]
   */
  async function call(path, { body, signal, accept = "application/json" } = {}) {
    const token = await getToken();
    /** @type {Record<string, string>} */
    const headers = { accept, ...(token && { authorization: `Bearer ${token}` }), ...(body && { "content-type": "application/json" }) };
    const init = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers, signal };
    return ask(root + path, init).catch(isAway);
  }

  /**
   * @param {string} path
   * @param {Json} [body]
   * @returns {Promise<Json>}
   */
  async function json(path, body) {
    const response = await call(path, { body, signal: AbortSignal.timeout(SILENCE) }); // what is done may take its time
    const said = asObject(await response.text().catch(isAway));
    if (!response.ok) throw failure(response.status, said);
    if (!said) throw new ServerError("foreign");
    learnTime(response.headers.get("date"));
    return said;
  }

  return {
    /**
     * A page of what waits, the oldest first.
     * @param {string | null} cursor
     * @returns {Promise<{rows: Row[], next: string | null}>}
     */
    async list(cursor) {
      const said = await json(`approvals?view=card&limit=100${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);
      if (!Array.isArray(said.approvals)) throw new ServerError("foreign");
      return { rows: said.approvals.filter(isRow), next: typeof said.next_cursor === "string" ? said.next_cursor : null };
    },

    /**
     * What became of some, which are there or `gone`; what is in neither is for the next request. Null: the server is one
     * that doesn't know of this.
     * @param {string[]} ids
     * @returns {Promise<{rows: Row[], gone: {id: string, record: Row | null}[]} | null>}
     */
    async some(ids) {
      const said = await json(`approvals?view=card&id=${ids.map(encodeURIComponent).join("&id=")}`);
      return Array.isArray(said.gone) && Array.isArray(said.approvals) ? { rows: said.approvals.filter(isRow), gone: said.gone } : null;
    },

    /**
     * @param {string} id
     * @returns {Promise<Row>}
     */
    async read(id) {
      const said = await json(`approvals/${encodeURIComponent(id)}?view=card`);
      if (!isRow(said)) throw new ServerError("foreign");
      return said;
    },

    /**
     * Decide one. Answers with the state, and the run that the conversation goes on with.
     * @param {string} id
     * @param {Json} body
     */
    decide: (id, body) => json(`approvals/${encodeURIComponent(id)}`, body),

    /**
     * What waits, as it comes and goes: a record for each, then `{ids}` of all that waits, then whatever changes. It ends
     * where nothing comes for too long, and fails where its head doesn't.
     * @param {AbortSignal} signal
     * @returns {AsyncGenerator<Json>}
     */
    async *follow(signal) {
      const line = new AbortController();
      const end = () => line.abort();
      signal.addEventListener("abort", end);
      if (signal.aborted) end();
      let bell = setTimeout(end, SILENCE);
      try {
        const response = await call("approvals/events", { signal: line.signal, accept: "text/event-stream" });
        if (!response.ok) throw failure(response.status, asObject(await response.text().catch(() => "")));
        if (!response.body || !response.headers.get("content-type")?.startsWith("text/event-stream")) throw new ServerError("foreign");
        yield* events(response.body, () => {
          clearTimeout(bell);
          bell = setTimeout(end, SILENCE);
        });
      } finally {
        clearTimeout(bell);
        signal.removeEventListener("abort", end);
        end();
      }
    },
  };
}

/** @param {unknown} value @returns {value is Row} */
const isRow = (value) => isObject(value) && typeof value.id === "string" && typeof value.tool === "string" && typeof value.state === "string" && isObject(value.arguments);

/** @param {string} text */
function asObject(text) {
  try {
    const value = parseJson(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/**
 * @param {number} status
 * @param {Json | null} said
 */
function failure(status, said) {
  const error = /** @type {Json & {code?: string} | null} */ (isObject(said?.error) ? said.error : null);
  const message = typeof error?.message === "string" ? error.message : "";
  const record = isObject(error?.record) ? /** @type {CallRecord} */ (error.record) : null;
  if (status === 401 || (status === 403 && !error)) return new ServerError("unauthorized", message);
  if (status === 502 || status === 503 || status === 504) return new ServerError(error ? "refused" : "away", message, record, error?.code);
  if (!error) return new ServerError("foreign");
  return new ServerError(error.code === "not_found" || error.code === "gone" ? "missing" : "refused", message, record, error.code);
}

/**
 * The events of a stream, as what their data say; ends with the stream.
 * @param {ReadableStream<Uint8Array>} body
 * @param {() => void} lives called with each sign of life
 * @returns {AsyncGenerator<Json>}
 */
async function* events(body, lives) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    lives();
    const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
    if (done) return;
    const frames = (rest + decoder.decode(value, { stream: true })).replace(/\r\n/g, "\n").split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) {
      const said = asObject(frame.split("\n").flatMap((line) => (line.startsWith("data:") ? [line.slice(5)] : [])).join("\n"));
      if (said) yield said;
    }
  }
}
