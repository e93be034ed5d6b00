import assert from "node:assert/strict";
import { test } from "node:test";
import { ARGS, call, finished, interrupt, interrupted, page, result, text } from "./support.mjs";

const { toRows } = await page("rows.js");
const { createSession } = await page("session.js");

/** A server (its `calls`, `thread` and `tail` may be set) that answers each run with the next of `scripts`: an error to throw, or events, with an error where they break off or "hang" (until aborted). */
function scripted(...scripts) {
  const inputs = [];
  async function* run(agent, input, signal, began) {
    inputs.push(structuredClone(input));
    const script = scripts.shift() ?? [];
    if (script instanceof Error) throw script;
    began(`run-${inputs.length}`);
    for (const event of script) {
      if (event instanceof Error) throw event;
      if (event === "until stopped") {
        await new Promise((stopped) => (server.cancel = async () => stopped()));
        yield { type: "RUN_ERROR", code: "abort", message: "Stopped." };
      } else if (event !== "hang") yield event;
      else await new Promise((_, reject) => signal.addEventListener("abort", () => reject(new DOMException("stop", "AbortError"))));
    }
  }
  const server = { thread: { messages: [], approvals: [] }, calls: { updated_at: "now", run: null, calls: [] }, tail: [], reads: 0, connects: 0, cancels: 0, cancel: async () => {} };
  const answer = (told) => (told instanceof Error ? Promise.reject(told) : Promise.resolve(structuredClone(told)));
  const getThread = () => answer(((server.reads += 1), server.thread));
  const getCalls = () => answer(server.calls);
  let over;
  server.followed = new Promise((resolve) => (over = resolve));
  async function* connect() {
    server.connects += 1;
    yield* server.tail;
    over();
  }
  let serial = 0;
  const cancelRun = () => (server.cancels += 1, server.cancel());
  const session = createSession({ api: { run, connect, getThread, getCalls, cancelRun }, onChange() {}, now: () => 0, newId: () => `id-${(serial += 1)}` });
  session.startNew("support", "t1");
  return { session, inputs, server };
}

const failure = (code) => Object.assign(new Error(code), { code });
const gated = (...ids) => [...ids.flatMap((id) => call(id, "refund", ARGS)), interrupted(...ids.map((id) => interrupt(id)))];

test("every run sends the whole history under the thread's id and a fresh run id", async () => {
  const { session, inputs } = scripted([...text("a1", "Hi"), finished()], [...text("a2", "Yes"), finished()]);
  await session.send("one");
  await session.send("two");
  assert.deepEqual(inputs.map((input) => input.messages.length), [1, 3]);
  assert.deepEqual(inputs.map((input) => input.threadId), ["t1", "t1"]);
  assert.notEqual(inputs[0].runId, inputs[1].runId);
  assert.equal("resume" in inputs[1], false);
});

test("what was too large is taken back, and is not sent along again", async () => {
  const { session, inputs } = scripted([...text("a1", "Hi"), finished()], failure("too_large"), [...text("a2", "Yes"), finished()]);
  await session.send("one");
  await session.send("far too much");
  assert.equal(session.takeBack(), "far too much");
  assert.equal(session.state.notice, null);
  assert.equal(session.takeBack(), "", "what was answered stays");
  await session.send("less");
  assert.deepEqual(inputs[2].messages.map(({ content }) => content), ["one", "Hi", "less"]);
});

test("several asks are approved with one click, in one run", async () => {
  const { session, inputs } = scripted(gated("c1", "c2"), []);
  await session.send("go");
  await session.decide([{ key: "c1" }, { key: "c2" }], { approved: true });
  assert.deepEqual(inputs[1].resume.map(({ interruptId, payload }) => [interruptId, payload]), [["apr-c1", { approved: true }], ["apr-c2", { approved: true }]]);
  assert.equal(inputs.length, 2);
});

test("several asks are decided apart and sent together", async () => {
  const { session, inputs } = scripted(gated("c1", "c2"), [result("c1", "ok"), result("c2", "no"), finished()]);
  await session.send("refund both");
  await session.decide({ key: "c1" }, { approved: true });
  assert.equal(inputs.length, 1);
  await session.decide({ key: "c2" }, { approved: false });
  assert.deepEqual(inputs[1].resume.map(({ payload }) => payload), [{ approved: true }, { approved: false }]);
});

test("some can be sent before the rest", async () => {
  const { session, inputs } = scripted(gated("c1", "c2"), [result("c1", "ok"), interrupted(interrupt("c2"))], [finished()]);
  await session.send("refund both");
  await session.decide({ key: "c1" }, { approved: true });
  await session.sendDecisions({ partial: true });
  assert.deepEqual(inputs[1].resume.map(({ interruptId }) => interruptId), ["apr-c1"]);
  await session.decide({ key: "c2" }, { approved: true });
  assert.deepEqual(inputs[2].resume.map(({ interruptId }) => interruptId), ["apr-c2"]);
});

test("new text while something waits leaves it undecided, and says so", async () => {
  const { session, inputs } = scripted(gated("c1"), [result("c1", '{"status":"cancelled","message":"…"}'), finished()]);
  await session.send("refund");
  await session.send("never mind");
  assert.deepEqual(inputs[1].resume, [{ interruptId: "apr-c1", status: "cancelled" }]);
  assert.deepEqual(session.state.interrupts, []);
});

test("what is decided goes out with new text as it is decided", async () => {
  const { session, inputs } = scripted(gated("c1", "c2"), [result("c1", "ok"), result("c2", '{"status":"cancelled","message":"…"}'), finished()]);
  await session.send("refund both");
  await session.decide({ key: "c1" }, { approved: true });
  await session.send("and hurry");
  assert.deepEqual(inputs[1].resume.map(({ interruptId, status }) => [interruptId, status]), [["apr-c1", "resolved"], ["apr-c2", "cancelled"]]);
});

test("retrying an answer repeats exactly that answer", async () => {
  const { session, inputs } = scripted(gated("c1"), failure("network"), [result("c1", "ok"), finished()]);
  await session.send("refund");
  await session.decide({ key: "c1" }, { approved: true });
  assert.equal(session.state.notice.code, "network");
  await session.retry();
  assert.deepEqual(inputs[2].resume, inputs[1].resume);
  assert.equal(session.state.notice, null);
});

test("retrying a broken answer drops the half that came", async () => {
  const broken = [...text("a1", "Let me"), { type: "RUN_ERROR", code: "provider_unavailable", message: "m" }];
  const { session, inputs } = scripted(broken, [...text("a2", "Done"), finished()]);
  await session.send("hello");
  await session.retry();
  assert.deepEqual(inputs[1].messages.map(({ role }) => role), ["user"]);
});

test("trying again resends the history up to the last question", async () => {
  const { session, inputs } = scripted([...text("a1", "A"), finished()], [...text("a2", "B"), finished()]);
  await session.send("hello");
  await session.regenerate();
  assert.deepEqual(inputs[1].messages, inputs[0].messages);
  assert.deepEqual(session.state.messages.map(({ id }) => id), [inputs[0].messages[0].id, "a2"]);
});

test("stopping ends the run as stopped", async () => {
  const { session, server } = scripted([...call("c1", "search", ARGS), "until stopped"]);
  const sent = session.send("slow");
  await new Promise(setImmediate);
  session.stop();
  await sent;
  assert.deepEqual([session.state.run, session.state.notice.code, server.cancels], [null, "abort", 1]);
});

test("a run that the server can't be asked to stop goes on, and that is said", async () => {
  const { session, server } = scripted([...text("a1", "Hal"), "until stopped"]);
  const sent = session.send("slow");
  await new Promise(setImmediate);
  const reach = server.cancel;
  server.cancel = () => Promise.reject(failure("network"));
  await session.stop();
  assert.notEqual(session.state.run, null, "leaving would not stop it");
  assert.deepEqual(session.state.notice, { code: "network", message: "The answer could not be stopped. network" });
  server.cancel = reach;
  await session.retry();
  await sent;
  assert.deepEqual([session.state.run, session.state.notice.code, server.cancels], [null, "abort", 2], "Retry asks once more");
});

test("an answer that was stopped says so, also when the next one is there, and after a reload", async () => {
  const { session, server } = scripted([...text("a1", "go and **look up the"), "until stopped"], [...text("a2", "Yes."), finished()]);
  const sent = session.send("slow");
  await new Promise(setImmediate);
  assert.equal(toRows(session.state).find(({ kind }) => kind === "text").half, true, "what is half is closed while it comes");
  await session.stop();
  await sent;
  assert.deepEqual(toRows(session.state).map(({ kind }) => kind), ["user", "text", "notice"]);
  await session.send("go on");
  const kinds = ["user", "text", "cut", "user", "text", "footer"];
  assert.deepEqual(toRows(session.state).map(({ kind }) => kind), kinds);
  assert.deepEqual(toRows(session.state).filter(({ kind }) => kind === "text").map(({ half }) => half), [true, false]);
  const { messages } = structuredClone(session.state);
  const cut = { ...messages[1], metadata: { "agui-gate": { cut: true } } };
  server.thread = { messages: messages.with(1, cut), approvals: [], run: { key: "run-2", status: "finished" } };
  await session.open("t1", "support");
  assert.deepEqual(toRows(session.state).map(({ kind }) => kind), kinds);
});

test("an answer that was stopped while it was thought about says so, also after a reload", async () => {
  const thought = [{ type: "REASONING_MESSAGE_START", messageId: "r1", role: "reasoning" }, { type: "REASONING_MESSAGE_CONTENT", messageId: "r1", delta: "I look up" }];
  const { session, server } = scripted([...thought, "until stopped"], [...text("a2", "Yes."), finished()]);
  const sent = session.send("slow");
  await new Promise(setImmediate);
  await session.stop();
  await sent;
  assert.deepEqual(toRows(session.state).map(({ kind }) => kind), ["user", "reasoning", "notice"]);
  await session.send("go on");
  const kinds = ["user", "reasoning", "cut", "user", "text", "footer"];
  assert.deepEqual(toRows(session.state).map(({ kind }) => kind), kinds);
  for (const content of ["I look up", ""]) {
    const cut = { id: "r1", role: "reasoning", content, metadata: { "agui-gate": { cut: true } } };
    server.thread = { messages: session.state.messages.with(1, cut), approvals: [], run: { key: "run-2", status: "finished" } };
    await session.open("t1", "support");
    assert.deepEqual(toRows(session.state).map(({ kind }) => kind), kinds.filter((kind) => content || kind !== "reasoning"));
  }
});

for (const [status, code] of [["cancelled", "abort"], ["failed", "incomplete"]])
  test(`a message whose run was ${status} before there was a word says so after a reload, and can be tried again`, async () => {
    const { session, server, inputs } = scripted([...text("a1", "Yes."), finished()]);
    server.thread = { messages: [{ id: "u1", role: "user", content: "slow" }], approvals: [], run: { key: "run-0", status } };
    await session.open("t1", "support");
    assert.equal(session.state.notice.code, code);
    await session.retry();
    assert.deepEqual([session.state.notice, inputs[0].messages.length], [null, 1]);
  });

test("a stream that ends without a terminal event is an error", async () => {
  const { session } = scripted([...text("a1", "Hal")]);
  await session.send("hello");
  assert.deepEqual([session.state.run, session.state.notice.code], [null, "incomplete"]);
});

test("moving on to another thread leaves the old run's events behind", async () => {
  const { session } = scripted([...text("a1", "old"), "hang"]);
  const sent = session.send("hello");
  await new Promise(setImmediate);
  session.startNew("support", "t2");
  await sent;
  assert.deepEqual([session.state.threadId, session.state.messages, session.state.notice], ["t2", [], null]);
});

// --- decided elsewhere (T4, T6) ---

const done = (callId, more = {}) => ({ id: `apr-${callId}`, call_id: callId, tool: "refund", state: "done", decision: { approved: true, by: "alice", at: "2026-11-22T12:03:00Z", way: "http" }, result: "ok", ...more });
const seen = (updated_at, calls, run = null) => ({ updated_at, run, calls });

test("an answer is not sent when somebody else has decided meanwhile; the page says so", async () => {
  const { session, inputs, server } = scripted(gated("c1"));
  await session.send("refund");
  const { messages } = session.state;
  server.calls = seen("later", [done("c1")]);
  server.thread = { id: "t1", agent: "support", messages, approvals: [], ...server.calls };
  await session.decide({ key: "c1" }, { approved: false });
  assert.equal(inputs.length, 1, "no run");
  assert.deepEqual([session.state.late, session.state.records.c1.decision.by], [{ c1: true }, "alice"]);
});

test("an answer goes out where nobody can be asked first", async () => {
  const { session, inputs, server } = scripted(gated("c1"), [result("c1", "ok"), finished()]);
  await session.send("refund");
  server.calls = failure("unavailable");
  await session.decide({ key: "c1" }, { approved: true });
  assert.equal(inputs.length, 2);
});

test("a look shows what was decided elsewhere, and reads the thread only when something changed", async () => {
  const { session, server } = scripted(gated("c1"));
  await session.send("refund");
  assert.equal(session.waits(), true);
  assert.deepEqual([await session.learnDecisions(), server.reads], [false, 0]);
  server.calls = seen("later", [done("c1")]);
  server.thread = { id: "t1", agent: "support", messages: session.state.messages, approvals: [], ...server.calls };
  assert.deepEqual([await session.learnDecisions(), server.reads, session.waits()], [true, 1, false]);
  assert.deepEqual([await session.learnDecisions(), server.reads], [false, 1]);
});

test("a conversation that goes on elsewhere is shown as it streams", async () => {
  const { session, server } = scripted(gated("c1"));
  await session.send("refund");
  const { messages } = session.state;
  server.calls = seen("later", [done("c1")], { key: "r9", status: "running" });
  server.tail = [{ type: "MESSAGES_SNAPSHOT", messages }, { ...result("c1", "ok") }, ...text("a2", "It goes on."), finished()];
  await session.learnDecisions();
  server.calls = seen("last", [done("c1")], { key: "r9", status: "finished" });
  await server.followed;
  await new Promise(setImmediate);
  assert.deepEqual([session.state.messages.at(-1).content, session.state.run], ["It goes on.", null]);
});

test("what is at work and streams nothing here is connected to once, and looked at until it is over", async () => {
  const { session, server } = scripted(gated("c1"));
  await session.send("refund");
  const claimed = { ...done("c1"), state: "claimed", result: null };
  server.calls = seen("later", [claimed], { key: "decide_1", status: "running" });
  server.tail = [{ type: "MESSAGES_SNAPSHOT", messages: session.state.messages }, finished()];
  await session.learnDecisions();
  await server.followed;
  for (let looks = 0; looks < 5; looks += 1) {
    await new Promise(setImmediate);
    await session.learnDecisions();
  }
  assert.deepEqual([server.connects, session.waits(), session.state.run], [1, true, null]);
  server.calls = seen("last", [done("c1")], { key: "decide_1", status: "waiting" });
  server.thread = { id: "t1", agent: "support", messages: session.state.messages, approvals: [], ...server.calls };
  assert.deepEqual([await session.learnDecisions(), session.waits()], [true, false]);
});

test("retrying after a call ran goes on behind it", async () => {
  const broken = [{ ...result("c1", "ok") }, ...text("a2", "I ref"), { type: "RUN_ERROR", code: "provider_unavailable", message: "m" }];
  const { session, inputs } = scripted([...call("c1", "refund", ARGS), ...broken], [...text("a3", "Refunded."), finished()]);
  await session.send("refund");
  await session.retry();
  assert.deepEqual(inputs[1].messages.map(({ role }) => role), ["user", "assistant", "tool"]);
});

test("a chat that was deleted elsewhere asks nothing any more", async () => {
  const { session, server } = scripted(gated("c1"));
  await session.send("refund");
  server.calls = failure("not_found");
  assert.deepEqual([await session.learnDecisions(), session.waits(), session.state.notice.code], [true, false, "not_found"]);
});

test("a run elsewhere that began after ours and is over by the time the page asks is shown too", async () => {
  const { session, server } = scripted([...text("a1", "Hi"), finished()]);
  const thread = { id: "t1", agent: "support", messages: [{ id: "u9", role: "user", content: "hello" }, { id: "a9", role: "assistant", content: "Meanwhile." }], approvals: [] };
  server.calls = seen("later", [], { key: "another", status: "finished" });
  server.thread = { ...thread, ...server.calls };
  await session.send("hello");
  assert.deepEqual([session.state.messages.at(-1).content, server.reads], ["Meanwhile.", 1]);
});

test("what is decided here goes out when the last other card was decided elsewhere", async () => {
  const { session, inputs, server } = scripted(gated("c1", "c2"), [result("c1", "no"), finished()]);
  await session.send("refund both");
  await session.decide({ key: "c1" }, { approved: false });
  server.calls = seen("later", [done("c2")]);
  server.thread = { id: "t1", agent: "support", messages: session.state.messages, approvals: [{ id: "apr-c1", call_id: "c1", tool: "refund", arguments: {} }], ...server.calls };
  await session.learnDecisions();
  await new Promise(setImmediate);
  assert.deepEqual(inputs[1].resume.map(({ interruptId, payload }) => [interruptId, payload.approved]), [["apr-c1", false]]);
});

test("what is decided here doesn't go out while the other one's tool is at work", async () => {
  const { session, inputs, server } = scripted(gated("c1", "c2"), [result("c1", "no"), finished()]);
  await session.send("refund both");
  await session.decide({ key: "c1" }, { approved: false });
  const open = { id: "t1", agent: "support", messages: session.state.messages, approvals: [{ id: "apr-c1", call_id: "c1", tool: "refund", arguments: {} }] };
  for (const [at, state, expected] of [["later", "claimed", 1], ["last", "done", 2]]) {
    server.calls = seen(at, [{ ...done("c2"), state }]);
    server.thread = { ...open, ...server.calls };
    assert.equal(await session.learnDecisions(), true);
    await new Promise(setImmediate);
    assert.equal(inputs.length, expected, state);
  }
});

test("how a run ended stays to be read, and to be tried again, when more is known of its chat", async () => {
  const { session, inputs, server } = scripted([...text("a1", "Let me"), { type: "RUN_ERROR", code: "unavailable", message: "m" }], failure("network"));
  server.calls = failure("network");
  await session.send("hello");
  const told = (at, key, messages = session.state.messages) => {
    server.calls = seen(at, [], { key, status: "failed" });
    server.thread = { id: "t1", agent: "support", messages, approvals: [], ...server.calls };
  };
  told("later", "run-1");
  assert.deepEqual([await session.learnDecisions(), session.state.notice?.code], [true, "unavailable"]);
  await session.retry();
  assert.deepEqual([inputs.length, session.state.notice.code], [2, "network"]);
  told("last", "another");
  assert.deepEqual([await session.learnDecisions(), session.state.notice.code], [true, "incomplete"], "another one has another end");
});

test("where somebody else's answer was first, and the thread busy with it, what came of that is shown", async () => {
  const { session, server } = scripted(...Array.from({ length: 4 }, () => failure("thread_busy")));
  const waiting = [{ id: "u1", role: "user", content: "refund" }, { id: "a1", role: "assistant", content: "", toolCalls: [{ id: "c1", type: "function", function: { name: "refund", arguments: ARGS } }] }];
  server.calls = seen("now", [], { key: "r1", status: "waiting" });
  server.thread = { id: "t1", agent: "support", messages: waiting, approvals: [{ id: "apr-c1", call_id: "c1", tool: "refund", arguments: {} }], ...server.calls };
  await session.open("t1", "support");
  const decided = session.decide({ key: "c1" }, { approved: true });
  await new Promise(setImmediate);
  server.calls = seen("later", [done("c1")], { key: "r2", status: "finished" });
  server.thread = { ...server.thread, messages: [...waiting, { id: "c1-result", role: "tool", toolCallId: "c1", content: "ok" }, { id: "a2", role: "assistant", content: "It was first." }], approvals: [], ...server.calls };
  await decided;
  assert.deepEqual([session.state.messages.at(-1).content, session.state.notice], ["It was first.", null]);
});

test("a message doesn't begin another chat under the id of one that was deleted", async () => {
  const { session, inputs, server } = scripted([...text("a1", "Hi"), finished()]);
  assert.equal(await session.send("one"), true);
  server.calls = failure("not_found");
  assert.equal(await session.send("two"), false);
  assert.deepEqual([inputs.length, session.state.notice.code, session.state.messages], [1, "not_found", []]);
});

test("a chat that was deleted before its first answer could be looked at is known to be gone", async () => {
  const { session, inputs, server } = scripted([...text("a1", "Hi"), finished()]);
  server.calls = failure("not_found");
  await session.send("one");
  assert.deepEqual([await session.learnDecisions(), session.state.notice?.code], [true, "not_found"]);
  await session.open("t2", "support");
  assert.equal(await session.learnDecisions(), false, "of another chat nothing is known");
  assert.equal(inputs.length, 1);
});

test("a server that can't say whether the chat is there is sent the message all the same", async () => {
  const { session, inputs, server } = scripted([...text("a1", "Hi"), finished()], [...text("a2", "Yes"), finished()]);
  await session.send("one");
  server.calls = failure("unavailable");
  assert.equal(await session.send("two"), true);
  assert.equal(inputs.length, 2);
});

test("an answer that never left stays decided, and goes out with the next try", async () => {
  const { session, inputs } = scripted(gated("c1"), failure("network"), failure("network"), [result("c1", "ok"), finished()]);
  await session.send("refund");
  await session.decide({ key: "c1" }, { approved: true, edits: { amount: 5 } });
  assert.deepEqual([session.state.notice.code, session.state.drafts.c1.edits], ["network", { amount: 5 }]);
  await session.retry();
  assert.equal(session.state.drafts.c1.approved, true);
  await session.retry();
  assert.deepEqual([inputs[3].resume, session.state.drafts, session.state.notice], [inputs[1].resume, {}, null]);
});

test("a card whose answer never left is open, and decided", async () => {
  const card = call("card", "confirm_changes", JSON.stringify({ function_name: "refund", function_call_id: "c1", function_arguments: {}, steps: [] }));
  const { session, inputs } = scripted([...call("c1", "refund", ARGS), ...card, finished()], failure("network"), [result("c1", "ok"), finished()]);
  await session.send("refund");
  const { length } = session.state.messages;
  await session.decide({ key: "c1" }, { approved: false, reason: "no" });
  assert.deepEqual([session.state.messages.length, session.state.drafts.c1.reason], [length, "no"]);
  await session.retry();
  assert.equal(inputs[2].messages.filter(({ toolCallId }) => toolCallId === "card").length, 1);
});

test("a message that never left with an answer is sent once, with that answer", async () => {
  const { session, inputs } = scripted(gated("c1", "c2"), failure("network"), [result("c1", "ok"), ...text("a2", "Yes"), finished()]);
  await session.send("refund");
  await session.decide({ key: "c1" }, { approved: true });
  await session.send("and now?");
  assert.equal(session.state.drafts.c1.approved, true);
  await session.retry();
  assert.deepEqual([inputs[2].resume, inputs[2].messages], [inputs[1].resume, inputs[1].messages]);
  assert.deepEqual(inputs[2].resume.map(({ status }) => status), ["resolved", "cancelled"]);
});

test("an answer that seemed lost and had arrived did not come too late", async () => {
  const { session, server } = scripted(gated("c1"), failure("network"));
  await session.send("refund");
  const record = (approved) => ({ id: "apr-c1", call_id: "c1", tool: "refund", state: approved ? "done" : "rejected", decision: { approved } });
  server.calls = failure("network");
  await session.decide({ key: "c1" }, { approved: true });
  server.calls = { updated_at: "later", run: null, calls: [record(true)] };
  await session.learnDecisions();
  assert.deepEqual([session.state.drafts, session.state.late], [{}, {}]);
});

const BROKEN = new TypeError("network error");

test("a message that a killed server didn't keep stays, and goes out with the next try", async () => {
  const { session, inputs, server } = scripted([...text("a1", "Half"), BROKEN], [...text("a2", "Whole"), finished()]);
  server.calls = failure("network");
  await session.send("a long question");
  server.calls = seen("later", [], { key: "run-1", status: "interrupted" });
  server.thread = { id: "t1", agent: "support", messages: [], approvals: [], ...server.calls };
  assert.deepEqual([await session.learnDecisions(), session.state.notice.code], [true, "incomplete"]);
  assert.deepEqual(session.state.messages, inputs[0].messages);
  server.calls = seen("end", [], { key: "run-2", status: "finished" });
  await session.retry();
  assert.deepEqual([inputs[1].messages, session.state.notice], [inputs[0].messages, null]);
});

test("a message that a busy chat didn't take stays behind what is said there, to be sent again", async () => {
  const { session, inputs, server } = scripted([...text("a1", "Hi"), finished()], failure("network"), [...text("a3", "Here"), finished()]);
  await session.send("one");
  await session.send("two");
  const others = [...session.state.messages.slice(0, 2), { id: "u2", role: "user", content: "elsewhere" }, { id: "a2", role: "assistant", content: "There." }];
  server.tail = [{ type: "MESSAGES_SNAPSHOT", messages: others }, finished()];
  server.calls = seen("later", [], { key: "r2", status: "running" });
  await session.learnDecisions();
  await server.followed;
  server.calls = seen("last", [], { key: "r2", status: "finished" });
  server.thread = { id: "t1", agent: "support", messages: others, approvals: [], ...server.calls };
  await session.learnDecisions();
  assert.deepEqual(session.state.messages.map(({ content }) => content), ["one", "Hi", "elsewhere", "There.", "two"]);
  assert.equal(session.state.notice.code, "network");
  server.calls = seen("end", [], { key: "run-3", status: "finished" });
  await session.retry();
  assert.equal(inputs[2].messages.filter(({ content }) => content === "two").length, 1);
  assert.equal(session.state.messages.at(-1).content, "Here");
});

test("what was answered when a run broke off is not asked anew", async () => {
  const { session, inputs, server } = scripted(gated("c1"), [BROKEN], [result("c1", "ok"), finished()]);
  await session.send("refund");
  server.calls = failure("network");
  await session.decide({ key: "c1" }, { approved: true });
  assert.deepEqual([session.state.notice.code, session.state.drafts.c1.approved], ["incomplete", true]);
  server.calls = seen("later", [{ ...done("c1"), state: "claimed" }], { key: "run-2", status: "interrupted" });
  server.thread = { id: "t1", agent: "support", messages: session.state.messages, approvals: [], ...server.calls };
  await session.learnDecisions();
  assert.deepEqual([session.state.drafts, session.state.late, inputs.length], [{}, {}, 2]);
  assert.equal(session.state.notice.code, "interrupted");
  server.calls = seen("end", [done("c1")], { key: "run-3", status: "finished" });
  await session.retry();
  assert.equal(session.state.notice, null);
});

/** A chat that is opened after its server was killed. */
const lost = async (more, ...streams) => {
  const found = scripted(...streams);
  const messages = [{ id: "u1", role: "user", content: "refund" }, { id: "m1", role: "assistant", content: "I'll do it.", toolCalls: [{ id: "c1", type: "function", function: { name: "refund", arguments: ARGS } }] }];
  found.server.calls = seen("later", [{ ...done("c1"), state: "claimed" }], { key: "run-0", status: "interrupted" });
  found.server.thread = { id: "t1", agent: "support", messages, approvals: [], ...found.server.calls, ...more };
  await found.session.open("t1", "support");
  return { ...found, messages };
};

test("a run that was lost with its server is told once, and goes on from all that the server has", async () => {
  const { session, inputs, server, messages } = await lost({}, [result("c1", "unknown"), finished()]);
  const rows = toRows(session.state);
  assert.deepEqual(rows.map(({ kind, status, code }) => [kind, status ?? code]), [["user", undefined], ["text", undefined], ["tool", "unknown"], ["notice", "interrupted"]]);
  server.calls = seen("end", [done("c1")], { key: "run-1", status: "finished" });
  await session.retry();
  assert.deepEqual([inputs[0].messages, session.state.notice], [messages, null]);
});

test("of a run that was lost, what waits is asked, and nothing else is said", async () => {
  const waiting = { id: "apr-c1", call_id: "c1", tool: "refund", arguments: {}, state: "pending", decision: null };
  const { session } = await lost({ approvals: [waiting], calls: [waiting] });
  assert.deepEqual([session.state.notice, toRows(session.state).at(-1).ask?.id], [null, "apr-c1"]);
});

test("an answer that a killed server didn't keep goes out again by itself", async () => {
  const card = call("card", "confirm_changes", JSON.stringify({ function_name: "refund", function_call_id: "c1", function_arguments: {}, steps: [] }));
  const { session, inputs, server } = scripted([...call("c1", "refund", ARGS), ...card, finished()], [BROKEN], [result("c1", "ok"), finished()]);
  await session.send("refund");
  const { messages } = session.state;
  server.calls = failure("network");
  await session.decide({ key: "c1" }, { approved: false, reason: "no" });
  server.calls = seen("later", [], { key: "run-2", status: "interrupted" });
  server.thread = { id: "t1", agent: "support", messages, approvals: [], ...server.calls };
  await session.learnDecisions();
  await new Promise(setImmediate);
  assert.deepEqual(inputs[2].messages.filter(({ toolCallId }) => toolCallId === "card").map(({ content }) => content), ['{"accepted":false,"reason":"no"}']);
});

test("a call that was decided when the server was killed is not taken back with the half of an answer", async () => {
  const card = call("card", "confirm_changes", JSON.stringify({ function_name: "refund", function_call_id: "c1", function_arguments: {}, steps: [] }));
  const { session, inputs, server } = scripted([...call("c1", "refund", ARGS), ...card, finished()], [BROKEN], [result("c1", "ok"), finished()]);
  await session.send("refund");
  const messages = session.state.messages.map((message) => ({ ...message, toolCalls: message.toolCalls?.filter(({ id }) => id === "c1") }));
  server.calls = failure("network");
  await session.decide({ key: "c1" }, { approved: true });
  server.calls = seen("later", [{ ...done("c1"), state: "claimed" }], { key: "run-2", status: "interrupted" });
  server.thread = { id: "t1", agent: "support", messages, approvals: [], ...server.calls };
  await session.learnDecisions();
  await session.retry();
  assert.deepEqual(inputs[2].messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id)), ["c1"]);
});

test("what a call is about is compared with what already ran: only the same thing is told", async () => {
  const { session, server } = scripted(gated("c3"));
  const call = (id, order_id, amount) => ({ id, type: "function", function: { name: "refund", arguments: JSON.stringify({ order_id, amount }) } });
  const messages = [{ id: "u1", role: "user", content: "x" }, { id: "m1", role: "assistant", toolCalls: [call("c1", "A1", 5), call("c2", "B2", 20)] }];
  const ran = (id, order_id, amount) => done(id, { arguments: { order_id, amount }, effective_arguments: { order_id, amount } });
  server.thread = { messages, approvals: [], calls: [ran("c1", "A1", 5), ran("c2", "B2", 20)], run: { key: "run-0", status: "finished" } };
  await session.open("t1", "support");
  await session.send("refund A1 again");
  const asked = toRows(session.state).find(({ callId }) => callId === "c3");
  assert.deepEqual(asked.earlier.map(({ arguments: { order_id, amount } }) => [order_id, amount]), [["A1", 5]]);
});

test("a message behind a call that waits is kept, and that is said", async () => {
  const { session } = scripted(gated("c1"), [interrupted(interrupt("c1"))]);
  await session.send("refund A1");
  assert.deepEqual(toRows(session.state).filter(({ kind }) => kind === "kept"), []);
  await session.send("and hurry");
  assert.equal(toRows(session.state).at(-1).kind, "kept");
});
