/** What it means for cards that open one after the other that several may be approved at once. */

import type { Ask } from "./elements";

/** The cards that wait behind the open one, by call id, and those among them that were approved together with it. */
export class Queue {
  #waiting: ReadonlyMap<string, Ask> = new Map();
  #approved: ReadonlySet<string> = new Set();
  readonly #listeners = new Set<() => void>();
  /** CopilotKit waits for the open card's answer, which it sends then; else the card sends it itself. */
  isAwaited = false;

  readonly decided: () => void;

  /** `decided` hears of every decision. */
  constructor(decided: () => void = () => {}) {
    this.decided = decided;
  }

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Stable until it changes. */
  waiting = () => this.#waiting;

  approved = () => this.#approved;

  /** A card shows up behind the open one. Returns what takes it out again. */
  enter(ask: Ask, id: string): () => void {
    this.#change(new Map(this.#waiting).set(id, ask));
    return () => this.#change(new Map([...this.#waiting].filter(([other]) => other !== id)));
  }

  approveAll(): void {
    this.#approved = new Set([...this.#approved, ...this.#waiting.keys()]);
    this.#notify();
  }

  #change(waiting: ReadonlyMap<string, Ask>): void {
    this.#waiting = waiting;
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
