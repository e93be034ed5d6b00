import { createContext, useContext, useSyncExternalStore, type ReactNode } from "react";
import { isClosed } from "agui-gate-components/core/records.js";
import type { CallRecord, Decision } from "./elements";
import type { Json } from "agui-gate-components/core/types.js";

type Records = ReadonlyMap<string, CallRecord>;

/** What the page knows of the server's ledger. `useLedger` fills it. */
export class LedgerStore {
  /** By call id and by approval id. */
  #records: Records = new Map();
  readonly #listeners = new Set<() => void>();
  /** Something was decided here that goes out with a later decision. Reading the conversation again would undo it. */
  get hasUnsent(): boolean {
    return this.#hasUnsent;
  }

  set hasUnsent(hasUnsent: boolean) {
    if (hasUnsent === this.#hasUnsent) return;
    this.#hasUnsent = hasUnsent;
    this.#notify();
  }

  #hasUnsent = false;
  /** Answers to interrupts, by the interrupt's id. The client keeps them until the last one is there. */
  readonly given = new Map<string, Json>();

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Stable until it changes. */
  records = (): Records => this.#records;

  /** Something is at work in the chat, in a run or by a decision: the server takes no answers meanwhile. */
  #isBusy = false;

  isBusy = (): boolean => this.#isBusy;

  /** The records as the server has them now, oldest first; `isBusy`: something was at work then. */
  take(calls: readonly CallRecord[], isBusy: boolean): void {
    const fresh: Records = new Map(calls.flatMap((call) => [[call.call_id, call], [call.id, call]] as const));
    const isSame = JSON.stringify([...fresh.values()]) === JSON.stringify([...this.#records.values()]);
    if (isSame && isBusy === this.#isBusy) return;
    if (!isSame) this.#records = fresh;
    this.#isBusy = isBusy;
    this.#notify();
  }

  /** One record that a run told. */
  learn(record: CallRecord): void {
    const others = [...new Set(this.#records.values())].filter(({ id }) => id !== record.id);
    this.take([...others, record], this.#isBusy);
  }

  /** What was answered here, by call id, for as long as the page is open. */
  #answers: ReadonlyMap<string, Decision> = new Map();

  answers = (): ReadonlyMap<string, Decision> => this.#answers;

  /** Calls that somebody was about to answer here when they were closed, by call id. */
  #unsent: ReadonlySet<string> = new Set();

  unsent = (): ReadonlySet<string> => this.#unsent;

  /** The card of this call goes while it is being answered. If that is because it was closed, nothing can be sent any more. */
  leave(callId: string): void {
    if (!isClosed(this.#records.get(callId))) return;
    this.#unsent = new Set(this.#unsent).add(callId);
    this.#notify();
  }

  /** A run ended and still asks: what was answered about what is open wasn't taken. */
  askedAgain(): void {
    this.given.clear();
    this.#answers = new Map([...this.#answers].filter(([id]) => isClosed(this.#records.get(id))));
    this.#notify();
  }

  /** The message after which there is something that the assistant hasn't been told; "": none. */
  #unread = "";

  unread = (): string => this.#unread;

  mark(after: string): void {
    if (after === this.#unread) return;
    this.#unread = after;
    this.#notify();
  }

  /** The server has no such chat any more: nothing that is open here can be answered. */
  #isGone = false;

  isGone = (): boolean => this.#isGone;

  gone(): void {
    this.#isGone = true;
    this.#notify();
  }

  /** Something was answered here. It goes out with the last answer. */
  decided = (callId: string, decision: Decision) => {
    this.hasUnsent = true;
    this.#unsent = new Set([...this.#unsent].filter((id) => id !== callId));
    this.#answers = new Map(this.#answers).set(callId, decision);
    this.#notify();
  };

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

const Context = createContext(new LedgerStore());

/** Cards, chips and interrupts inside say what the server's ledger says. */
export function Ledger({ store, children }: { store: LedgerStore; children: ReactNode }) {
  return <Context value={store}>{children}</Context>;
}

export const useStore = () => useContext(Context);

export function useRecords(): Records {
  const store = useContext(Context);
  return useSyncExternalStore(store.subscribe, store.records);
}

/** The record of a call or of an approval; undefined while the server hasn't said. */
export const useRecord = (id: string | undefined): CallRecord | undefined => useRecords().get(id ?? "");

/** All of them once, oldest first. */
export const useAllRecords = (): CallRecord[] => [...new Set(useRecords().values())];

/** What was answered here about a call. */
export function useAnswer(callId: string | undefined): Decision | undefined {
  const store = useContext(Context);
  return useSyncExternalStore(store.subscribe, store.answers).get(callId ?? "");
}

/** Whether something was about to be answered here about a call when it was closed. */
export function useUnsent(callId: string | undefined): boolean {
  const store = useContext(Context);
  return useSyncExternalStore(store.subscribe, store.unsent).has(callId ?? "");
}

/** What was answered to an interrupt, sent, and never arrived. */
export function useLost(id: string | undefined): Json | undefined {
  const store = useContext(Context);
  return useSyncExternalStore(store.subscribe, () => (store.hasUnsent ? undefined : store.given.get(id ?? "")));
}

/** Whether the assistant has something to read after this message. */
export function useUnread(messageId: string): boolean {
  const store = useContext(Context);
  return useSyncExternalStore(store.subscribe, () => store.unread() === messageId);
}

/** Whether it has anything to read at all. */
export function useAnyUnread(): boolean {
  const store = useContext(Context);
  return useSyncExternalStore(store.subscribe, () => store.unread() !== "");
}

/** Whether it was approved and nothing is at work on it: the chat has to go on. */
export const useLeft = (record: CallRecord | undefined): boolean => useAnyUnread() && record?.state === "claimed";

/** Whether something is at work in the chat, by the server's word. */
export function useBusy(): boolean {
  const store = useContext(Context);
  return useSyncExternalStore(store.subscribe, store.isBusy);
}

/** Whether the chat was deleted. */
export function useGone(): boolean {
  const store = useContext(Context);
  return useSyncExternalStore(store.subscribe, store.isGone);
}
