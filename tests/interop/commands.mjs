// Pages without a browser, driven line by line: one command a line, {id, page, do, ...arguments}, answered with
// {id, value} or {id, error}. A page is an object of the class that is handed over, made with its first command.

import { createInterface } from "node:readline";
import { format } from "node:util";

/** What was complained about on the console. */
export const complaints = [];
for (const level of ["error", "warn"]) {
  console[level] = (...parts) => complaints.push(`${level}: ${format(...parts)}`.slice(0, 1_000));
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
  const pages = new Map();
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, page, do: what, ...given } = JSON.parse(line);
    if (!pages.has(page)) pages.set(page, new Page());
    const answer = (reply) => process.stdout.write(`${JSON.stringify({ id, ...reply })}\n`);
    (async () => pages.get(page)[what](given))().then(
      (value) => answer({ value: value ?? null }),
      (error) => answer({ error: `${error.stack ?? error}`.slice(0, 2_000) }),
    );
  }
  process.exit(0);
}
