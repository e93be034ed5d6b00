// Pages without a browser, driven line by line: one command a line, {id, page, do, ...arguments}, answered with
// {id, value} or {id, error}. A page is an object of the class that is handed over, made with its first command.
//
// `forget` closes all pages, so that the next ones are as in a new process, without its start. What earlier pages still
// do is heard by nobody: their requests are broken off, and others refused; what they complain about is not told.

import { AsyncLocalStorage } from "node:async_hooks";
import { createInterface } from "node:readline";
import { format } from "node:util";

const begin = () => ({ pages: new Map(), over: new AbortController() });
let now = begin();
const sitting = new AsyncLocalStorage(); // `now` or one of before: to whose pages belongs what runs
const isOver = () => ![now, undefined].includes(sitting.getStore());

/** What was complained about on the console. */
export const complaints = [];
for (const level of ["error", "warn"]) {
  console[level] = (...parts) => isOver() || complaints.push(`${level}: ${format(...parts)}`.slice(0, 1_000));
}

const { fetch } = globalThis;
globalThis.fetch = (address, init = {}) => {
  const { over } = sitting.getStore() ?? now;
  const given = init.signal ?? address.signal;
  return fetch(address, { ...init, signal: given ? AbortSignal.any([given, over.signal]) : over.signal });
};

process.on("unhandledRejection", (error) => {
  if (!isOver()) throw error;
});

function forget() {
  now.over.abort();
  now = begin();
  complaints.length = 0;
}

/** Something to be seen on a page, and waiting for it. */
export class Sight {
  waiting = new Set();

  /** Something has changed: look again. */
  changed() {
    for (const check of [...this.waiting]) check();
  }

  /** Waits until it is so. */
  async is(so) {
    await new Promise((resolve) => {
      const check = () => so() && (this.waiting.delete(check), resolve());
      this.waiting.add(check);
      check();
    });
  }
}

/** Obeys until there are no more lines; ends the process. */
export async function obey(Page) {
  const early = [...complaints];
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, page, do: what, ...given } = JSON.parse(line);
    const mine = now;
    const answer = (reply) => mine.over.signal.aborted || process.stdout.write(`${JSON.stringify({ id, ...reply })}\n`);
    if (what === "forget") {
      answer({ value: null });
      forget();
      complaints.push(...early);
      continue;
    }
    if (!mine.pages.has(page)) mine.pages.set(page, new Page());
    sitting.run(mine, async () => mine.pages.get(page)[what](given)).then(
      (value) => answer({ value: value ?? null }),
      (error) => answer({ error: `${error.stack ?? error}`.slice(0, 2_000) }),
    );
  }
  process.exit(0);
}
