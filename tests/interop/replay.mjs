// Replays recorded streams to a real AG-UI client, over real HTTP, and prints what it made of them.
//
//   node replay.mjs VERSION < CASES
//
// CASES are JSON, one a line: {name, runs: [{input, body, status?, contentType?, replace?}]}. A case with one
// run may put input, body and status beside the name. The runs of a case go through one agent object, so that
// messages, state and pending interrupts are the client's own: a run's input.messages are added where their id is
// new (`replace`: they replace the history), and resume, tools, context, forwardedProps and runId are handed to
// runAgent. Output: one JSON line for each case.

import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { format } from "node:util";

const PACKAGES = { "0.0.59": "client-0059", "1.0.0": "client-100" };
const RUN_TIMEOUT_MS = 60_000;

const print = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

const describe = (error) => (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).slice(0, 2_000);

// What the clients complain about goes to the console; each run collects its own, without the stack traces.
let warnings = [];
for (const level of ["debug", "error", "info", "log", "warn"]) {
  console[level] = (...parts) => {
    const text = format(...parts.map((part) => (part instanceof Error ? describe(part) : part)));
    warnings.push(`${level}: ${text}`.slice(0, 2_000));
  };
}

/** Answers every POST with the recorded bytes of the run under way, and remembers what the client sent. */
class Recorded {
  response = { body: "", status: 200 };
  request = undefined;

  async listen() {
    this.server = createServer(async (incoming, outgoing) => {
      const parts = [];
      for await (const part of incoming) parts.push(part);
      this.request = JSON.parse(Buffer.concat(parts).toString("utf8"));
      const { body, status = 200, contentType } = this.response;
      const fallback = status === 200 ? "text/event-stream" : "application/json";
      outgoing.writeHead(status, { "Content-Type": contentType ?? fallback });
      outgoing.end(body);
    });
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${this.server.address().port}/`;
  }

  close() {
    this.server.close();
    this.server.closeAllConnections();
  }
}

/** Bounds a run; a stream that leaves the client waiting is a failure, not a hang. */
const bounded = (promise, agent) => {
  let timer;
  const expired = new Promise((_, reject) => {
    timer = setTimeout(() => {
      agent.abortRun();
      reject(new Error(`no end after ${RUN_TIMEOUT_MS} ms`));
    }, RUN_TIMEOUT_MS);
  });
  return Promise.race([promise, expired]).finally(() => clearTimeout(timer));
};

/** How the run ended, as the client tells its subscribers, and all of its events. */
const observer = (ended, events) => ({
  onEvent: ({ event }) => {
    events.push(event);
  },
  onRunFinishedEvent: ({ outcome }) => {
    ended.outcome = outcome;
  },
  onRunErrorEvent: ({ event }) => {
    Object.assign(ended, { outcome: "error", runError: { code: event.code, message: event.message } });
  },
});

// Pages put the answer of a card or a tool of theirs where results stand: after the message that made the call.
const placed = (messages, message) => {
  const made = (other) => other.toolCalls?.some((call) => call.id === message.toolCallId);
  const owner = message.role === "tool" ? messages.findIndex(made) : -1;
  if (owner === -1) return [...messages, message];
  let place = owner + 1;
  while (messages[place]?.role === "tool") place += 1;
  return messages.toSpliced(place, 0, message);
};

const takeOver = (agent, { input = {}, replace = false }) => {
  const known = new Set(agent.messages.map((message) => message.id));
  const messages = input.messages ?? [];
  const unknown = messages.filter((message) => !known.has(message.id));
  agent.setMessages(replace ? messages : unknown.reduce(placed, agent.messages));
  if (input.state !== undefined && input.state !== null) agent.setState(input.state);
};

async function replayRun(agent, recorded, run) {
  warnings = [];
  recorded.response = run;
  recorded.request = undefined;
  takeOver(agent, run);
  const ended = { outcome: null, runError: null };
  const events = [];
  let error = null;
  const { runId, tools, context, forwardedProps, resume } = run.input ?? {};
  try {
    await bounded(agent.runAgent({ runId, tools, context, forwardedProps, resume }, observer(ended, events)), agent);
    compactEvents(structuredClone(events)); // CopilotKit's Node runtime folds each run, and dies of what can't be
  } catch (thrown) {
    error = describe(thrown);
  }
  const { messages, state, pendingInterrupts } = agent;
  const left = structuredClone({ messages, state, pendingInterrupts });
  return { accepted: error === null, error, warnings, ...ended, ...left, request: recorded.request ?? null };
}

async function replayCase(recorded, HttpAgent, { name, runs, ...single }) {
  const steps = runs ?? [single];
  const threadId = steps[0]?.input?.threadId;
  const agent = new HttpAgent({ url: recorded.url, threadId });
  const results = [];
  for (const run of steps) results.push(await replayRun(agent, recorded, run));
  const failed = results.find((result) => !result.accepted);
  return { case: name, version, accepted: !failed, error: failed?.error ?? null, runs: results };
}

const version = process.argv[2];
const { compactEvents, HttpAgent } = await import(PACKAGES[version]);
const recorded = new Recorded();
await recorded.listen();
try {
  for await (const line of createInterface({ input: process.stdin })) {
    print(await replayCase(recorded, HttpAgent, JSON.parse(line)));
  }
} finally {
  recorded.close();
}
