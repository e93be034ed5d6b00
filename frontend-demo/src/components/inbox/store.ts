/** The calls that wait for the person in any chat, and what came of answering them here. */

import type { CallRecord, Decision } from "../confirm-card";
import { ask } from "../confirm-card/ask";
import { parseJson } from "agui-gate-components/core/json.js";

/** A record as `GET /approvals` lists it. */
export interface Waiting extends CallRecord {
  thread_id: string;
  asked_at: string;
  expires_at: string | null;
  /** Arguments that may be changed. */
  editable: string[];
}

export interface Entry {
  record: Waiting;
  /** What was answered here. As long as the record waits, the answer is on its way. */
  mine?: Decision;
  /** The answer came when something was decided already. */
  isLate?: boolean;
  /** Why the answer wasn't taken. It can be given again. */
  problem?: string;
  /** Why the conversation doesn't go on, though it was decided. */
  note?: string;
  /** Its chat was deleted. */
  isGone?: boolean;
}

const MOST = 100; // what the server lists at once
const AWAY = "The server can't be reached. Try again in a moment.";

interface Said {
  not_continued?: string;
  error?: { message?: string; record?: Waiting };
}

/** Still to be answered. */
export const waits = ({ record, mine, isGone }: Entry): boolean => record.state === "pending" && !mine && !isGone;

export class InboxStore {
  server = "";
  headers?: Record<string, string>;
  /** While it is shown, what is decided stays in sight. */
  isShown = false;
  #entries: readonly Entry[] = [];
  #hasMore = false;
  #looking: Promise<boolean> = Promise.resolve(true);
  #next: Promise<boolean> | null = null;
  readonly #listeners = new Set<() => void>();

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Oldest first; stable until something changes. */
  entries = (): readonly Entry[] => this.#entries;

  /** There is more than the server lists at once. */
  hasMore = (): boolean => this.#hasMore;

  /**
   * Reads what waits, and what became of that which doesn't any more; false if the server doesn't say. One look at a
   * time, else an older one could have the last word: who asks during one gets the next, which is one for all who ask.
   */
  look(): Promise<boolean> {
    this.#next ??= this.#looking.then(() => {
      this.#next = null;
      return (this.#looking = this.#look());
    });
    return this.#next;
  }

  async #look(): Promise<boolean> {
    const listed = await this.#call<{ approvals: Waiting[]; next_cursor: string | null }>(`approvals?limit=${MOST}`);
    if (!listed?.ok || !listed.said.approvals) return false; // a proxy's page, say
    this.#hasMore = listed.said.next_cursor !== null;
    const listedNow = new Map(listed.said.approvals.map((record) => [record.id, record]));
    const stays = (entry: Entry) => this.isShown || isOnItsWay(entry);
    const left = this.#entries.filter((entry) => !listedNow.has(entry.record.id) && isOpen(entry.record) && !entry.isGone && stays(entry));
    const read = new Map(await Promise.all(left.map(async ({ record: { id } }) => [id, await this.#read(id)] as const)));
    const known = this.#entries.map((entry) => ({ ...entry, ...read.get(entry.record.id) }));
    const ids = new Set(known.map(({ record }) => record.id));
    const fresh = [...listedNow.values()].filter(({ id }) => !ids.has(id)).map((record) => ({ record }));
    this.#set([...known, ...fresh].filter((entry) => listedNow.has(entry.record.id) || stays(entry)));
    return true;
  }

  /** Sends the answer; the conversation goes on in the background. What came of it is the server's word. */
  async decide(id: string, mine: Decision): Promise<void> {
    const entry = this.#entries.find(({ record }) => record.id === id);
    if (!entry || !waits(entry)) return; // a second click
    this.#change(id, { mine, problem: undefined });
    const { approved, reason } = mine;
    const answer = await this.#call<Said>(path(id), { approved, ...(reason && { reason }), continue: true });
    if (!answer?.ok) return this.#change(id, refused(answer, mine));
    const { thread_id } = entry.record;
    this.#set(this.#entries.map((other) => (other.record.thread_id === thread_id ? { ...other, note: undefined } : other)));
    this.#change(id, { note: answer.said.not_continued });
    await this.look();
  }

  /** The person has seen what became of the others. */
  forgetClosed(): void {
    this.#set(this.#entries.filter((entry) => waits(entry) || isOnItsWay(entry)));
  }

  /** The calls of a chat, for what ran there before; null if the server doesn't say. */
  async calls(threadId: string): Promise<CallRecord[] | null> {
    const answer = await this.#call<{ calls: CallRecord[] }>(`threads/${encodeURIComponent(threadId)}?view=calls`);
    return answer?.ok ? answer.said.calls : null;
  }

  async #read(id: string): Promise<Partial<Entry>> {
    const answer = await this.#call<Waiting>(path(id));
    if (answer?.ok && answer.said.id) return { record: answer.said }; // a proxy may say anything
    return isGoneBy(answer?.status) ? { isGone: true } : {};
  }

  /** null: no answer came. */
  async #call<T>(path: string, body?: unknown): Promise<{ ok: boolean; status: number; said: T } | null> {
    const headers = body === undefined ? this.headers : { ...this.headers, "content-type": "application/json" };
    const init = body === undefined ? { headers } : { headers, method: "POST", body: JSON.stringify(body) };
    try {
      const response = await (body === undefined ? ask : fetch)(new URL(path, this.server), init); // a decision may take its time
      return { ok: response.ok, status: response.status, said: asJson(await response.text()) as T };
    } catch {
      return null;
    }
  }

  #change(id: string, changes: Partial<Entry>): void {
    this.#set(this.#entries.map((entry) => (entry.record.id === id ? { ...entry, ...changes } : entry)));
  }

  #set(entries: readonly Entry[]): void {
    if (JSON.stringify(entries) === JSON.stringify(this.#entries)) return;
    this.#entries = entries;
    for (const listener of this.#listeners) listener();
  }
}

const path = (id: string): string => `approvals/${encodeURIComponent(id)}`;

/** It waits, or is being carried out: what became of it is still to come. */
const isOpen = ({ state }: CallRecord): boolean => state === "pending" || state === "claimed";

const isOnItsWay = ({ record, mine, isGone }: Entry): boolean => record.state === "pending" && mine !== undefined && !isGone;

const isGoneBy = (status: number | undefined): boolean => status === 404 || status === 410;

/** What it means that the server didn't take an answer: decided before, deleted, or something that can be tried again. */
function refused(answer: { status: number; said: Said } | null, mine: Decision): Partial<Entry> {
  if (answer === null) return { mine: undefined, problem: AWAY };
  const { record, message } = answer.said.error ?? {};
  if (record?.state) return { record, mine, isLate: true };
  if (isGoneBy(answer.status)) return { mine: undefined, isGone: true };
  const advice = answer.status === 409 ? " Wait a moment, then try again." : "";
  return { mine: undefined, problem: message ? `${message}${advice}` : `The server answered ${answer.status}. Try again in a moment.` };
}

function asJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return {};
  }
}
