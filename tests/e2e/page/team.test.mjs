import assert from "node:assert/strict";
import { test } from "node:test";
import { ARGS, asked, call, finished, interrupt, interrupted, page, play, result, text } from "./support.mjs";

const { restore, initialState, withoutHalf } = await page("state.js");
const { toRows } = await page("rows.js");
const { newsOf } = await page("announce.js");
const { schemasOf, teamOf } = await page("team.js");

const refund = { name: "refund", parameters: { properties: { amount: { description: "In euros." } } } };
const AGENTS = [
  {
    name: "support",
    tools: [{ name: "ask_clerk", agent: "clerk", parameters: {} }, { name: "scout", agent: "scout", parameters: {} }],
    handoffs: ["billing"],
    team: [
      { name: "billing", tools: [{ name: "refund", parameters: { title: "other" } }], handoffs: ["support"] },
      { name: "clerk", tools: [refund, { name: "scout", agent: "scout", parameters: {} }] },
      { name: "scout", tools: [] },
    ],
  },
];
const team = teamOf(AGENTS, "support");
const begun = (...events) => play({ ...asked(), team }, ...events);
const inside = (task, ...events) => events.map((event) => ({ ...event, subagentRunId: task }));
const started = (id, name) => ({ type: "SUBAGENT_STARTED", subagentRunId: id, name, parentToolCallId: id });
const says = (id, name, content) => text(id, content).map((event) => (event.type === "TEXT_MESSAGE_START" ? { ...event, name } : event));
const task = (words) => JSON.stringify({ task: words });
const handed = (id, to) => [...call(id, `transfer_to_${to}`, "{}", `${id}-message`), result(id, JSON.stringify({ status: "transferred", agent: to, message: "…" }))];

/** The rows in short: kinds with what they are about, those of tasks in brackets. */
const outline = (rows) =>
  rows.map((row) => {
    if (row.kind === "task") return [`${row.name}:${row.status}`, ...outline(row.rows)];
    return { tool: `${row.name}:${row.status}`, speaker: `${row.name} says`, handoff: `${row.from} → ${row.to}:${row.status}` }[row.kind] ?? row.kind;
  });
const drawn = (state) => outline(toRows(state).filter(({ kind }) => !["working", "user", "footer"].includes(kind)));
const reloaded = (state, more = {}) => restore(initialState({ threadId: "t1", agent: "support", team }), { id: "t1", agent: "support", messages: state.messages, ...more });

test("who is who in a team, and whose tools have which schema", () => {
  assert.deepEqual(team.delegates.support, { ask_clerk: "clerk", scout: "scout" });
  assert.deepEqual(team.heirs.billing, ["support"]);
  assert.deepEqual(Object.keys(schemasOf(AGENTS, "support")).sort(), ["ask_clerk", "refund", "scout"]);
  assert.deepEqual([teamOf(AGENTS, "nobody"), schemasOf([], "support")], [{ delegates: {}, heirs: {} }, {}]);
});

test("two sub-agents that speak in turns have each their own place, one of them inside the other", () => {
  const state = begun(
    ...text("a1", "I'll ask."),
    ...call("c1", "ask_clerk", task("refund")),
    ...call("c2", "scout", task("look")),
    started("c1", "clerk"),
    ...inside("c1", ...says("m1", "clerk", "I look")),
    started("c2", "scout"),
    ...inside("c2", ...says("m2", "scout", "So do I")),
    ...inside("c1", ...call("c3", "scout", task("and you"), "m1")),
    started("c3", "scout"),
    ...inside("c3", ...says("m3", "scout", "Deep")),
    ...inside("c2", ...call("c4", "find", ARGS, "m2")),
  );
  const expected = ["support says", "text", ["clerk:running", "text", ["scout:running", "text"]], ["scout:running", "text", "find:running"]];
  assert.deepEqual(drawn(state), expected);
  const over = play(state, ...inside("c2", result("c4", "{}")), ...inside("c1", result("c3", "Deep")), result("c1", "I look"), result("c2", "seen"), ...text("a2", "So."), finished());
  const done = ["support says", "text", ["clerk:done", "text", ["scout:done", "text"]], ["scout:done", "text", "find:done"], "text"];
  assert.deepEqual(drawn(over), done);
  assert.deepEqual(drawn(reloaded(over)), done, "the same after a reload");
  const [clerk, scout] = toRows(over).filter(({ kind }) => kind === "task");
  assert.deepEqual([clerk.note, scout.note], ["", "seen"], "the result is said once");
});

test("what waits in a task waits for the person, who is told which agent asks", () => {
  const asks = { ...interrupt("c9"), subagentRunId: "c1", message: "clerk asks: Refund 20 €?", metadata: { tool: "refund", agent: "clerk", arguments: { amount: 20 } } };
  const state = begun(...call("c1", "ask_clerk", task("refund")), started("c1", "clerk"), ...inside("c1", ...call("c9", "refund", ARGS, "m1")), interrupted(asks));
  assert.deepEqual(drawn(state), ["support says", ["clerk:waiting", "refund:waiting"]]);
  const { ask } = toRows(state).at(-1).rows[0];
  assert.deepEqual([ask.agent, ask.message], ["clerk", "Refund 20 €?"]);
  assert.equal(newsOf({ ...state, run: { id: "r1" } }, state), "Approval needed: Clerk asks: Refund");
  const approval = { id: "apr-c9", call_id: "c9", tool: "refund", agent: "clerk", thread_id: "t1", message: "Refund 20 €?", arguments: { amount: 20 } };
  const again = toRows(reloaded(state, { approvals: [approval] })).at(-1).rows[0].ask;
  assert.deepEqual([again.agent, again.message], ["clerk", "Refund 20 €?"]);
});

test("a card says who asks, and its words don't say it twice", () => {
  const card = { function_name: "refund", function_call_id: "c9", function_arguments: { amount: 20 }, agent: "clerk", steps: [{ description: "clerk asks: Execute refund" }] };
  const state = begun(...call("c1", "ask_clerk", task("refund")), ...inside("c1", ...call("c9", "refund", ARGS, "m1")), ...call("k1", "confirm_changes", JSON.stringify(card), "k"), finished());
  const { ask } = toRows(state).at(-1).rows[0];
  assert.deepEqual([ask.style, ask.agent, ask.message], ["card", "clerk", undefined]);
});

test("a task that nobody goes on with is not done, and can be gone on with", () => {
  const state = begun(...call("c1", "ask_clerk", task("refund")), ...inside("c1", ...call("c9", "find", ARGS, "m1"), result("c9", "{}")), finished());
  assert.deepEqual(drawn(state), ["support says", ["clerk:paused", "find:done"], "unread"]);
  const failed = play(state, result("c1", '{"status":"error","error":"The agent clerk could not finish: no"}'));
  assert.deepEqual(drawn(failed)[1], ["clerk:error", "find:done"]);
  assert.equal(toRows(failed).find(({ kind }) => kind === "task").note, "The agent clerk could not finish: no");
});

test("what was decided inside is told on the folded task, as it came out", () => {
  const state = begun(...call("c1", "ask_clerk", task("refund")), ...inside("c1", ...call("c8", "refund", ARGS, "m1"), ...call("c9", "refund", ARGS, "m1")), result("c1", "ok"), finished());
  const yes = { approved: true, at: null, by: "local" };
  const records = { c8: { id: "x", state: "unknown", decision: yes }, c9: { id: "y", state: "done", decision: yes } };
  assert.deepEqual(toRows({ ...state, records }).find(({ kind }) => kind === "task").decided, ["not known", "approved"]);
});

test("a hand-off is a line, and who answers from then on is named", () => {
  const state = begun(...text("a1", "One moment."), ...handed("h1", "billing"), ...says("b1", "billing", "Hello."), ...call("c1", "refund", ARGS, "b1"), interrupted(interrupt("c1")));
  const expected = ["support says", "text", "support → billing:done", "billing says", "text", "refund:waiting"];
  assert.deepEqual(drawn(state), expected);
  assert.deepEqual(drawn(reloaded(state, { approvals: [{ id: "apr-c1", call_id: "c1", tool: "refund", agent: "billing", arguments: {} }] })), expected);
  assert.equal(toRows(state).at(-1).ask.agent, "billing");
  const next = play(state, result("c1", "ok"), { type: "RUN_STARTED" }, ...call("c2", "refund", ARGS, "b2"), ...handed("h2", "support"), ...text("a9", "Me again."), finished());
  assert.deepEqual(drawn(next).slice(6), ["refund:stopped", "billing → support:done", "support says", "text"]);
});

test("a transfer that was not carried out says so, and a tool that is only called like one is a tool", () => {
  const open = begun(...call("h1", "transfer_to_billing", "{}"), ...call("h2", "transfer_to_savings", '{"amount":5}'));
  assert.deepEqual(drawn(open), ["support says", "support → billing:running", "transfer_to_savings:running"]);
  const refused = play(open, result("h1", '{"status":"not_transferred","message":"The first counts."}'), result("h2", "{}"), finished());
  const row = toRows(refused).find(({ kind }) => kind === "handoff");
  assert.deepEqual([row.status, row.note], ["error", "The first counts."]);
});

test("an agent that works alone is not named, and nor is one that only delegates", () => {
  assert.deepEqual(drawn(play(asked(), ...text("a1", "Hello"), finished())), ["text"]);
  const delegating = { ...team, heirs: {} };
  assert.deepEqual(drawn(play({ ...asked(), team: delegating }, ...text("a1", "I'll ask."), ...call("c1", "scout", task("look")), result("c1", "x"), finished())), ["text", ["scout:done"], "unread"]);
});

test("what belongs to a task that nobody knows is shown, also where tasks go round in a circle", () => {
  const messages = [
    { id: "u", role: "user", content: "hi" },
    { id: "x", role: "assistant", name: "ghost", content: "Boo", subagentRunId: "gone" },
    { id: "y", role: "assistant", content: "round", subagentRunId: "c1", toolCalls: [{ id: "c1", function: { name: "scout", arguments: "{}" } }] },
  ];
  const rows = toRows(restore(initialState({ threadId: "t1" }), { id: "t1", messages }));
  assert.deepEqual(outline(rows.filter(({ kind }) => kind === "task")).map(([first]) => first), ["ghost:paused", "sub-agent:paused"]);
});

test("an answer that is JSON is a form once it is whole", () => {
  const half = begun(...text("a1", '{"verdict":').slice(0, 2));
  assert.deepEqual(drawn(half), ["support says", "text"]);
  const whole = play(half, { type: "TEXT_MESSAGE_CONTENT", messageId: "a1", delta: '"good"}' }, finished());
  assert.deepEqual(toRows(whole).find(({ kind }) => kind === "form").value, { verdict: "good" });
});

test("activities belong where they were shown, and one that replaces nothing is kept out", () => {
  const shown = (content, more) => ({ type: "ACTIVITY_SNAPSHOT", messageId: "p1", activityType: "progress", content, ...more });
  const state = begun(...call("c1", "scout", task("look")), ...inside("c1", shown({ done: 1 }), shown({ done: 9 }, { replace: false })));
  assert.deepEqual(drawn(state), ["support says", ["scout:running", "activity"]]);
  assert.deepEqual(state.messages.at(-1).content, { done: 1 });
});

test("a task that was changed before it began is shown as it began", () => {
  const state = begun(...call("c1", "ask_clerk", task("refund all")), started("c1", "clerk"), ...inside("c1", ...says("m1", "clerk", "Two then")), result("c1", "Two then"), finished());
  const record = { id: "x", state: "done", task: true, decision: { approved: true }, arguments: { task: "refund all" }, effective_arguments: { task: "refund two" } };
  assert.equal(toRows({ ...state, records: { c1: record } }).find(({ kind }) => kind === "task").task, "refund two");
});

test("Retry keeps what a task said that is done, in whichever order two of them came", () => {
  const both = begun(...call("c1", "ask_clerk", task("look")), ...call("c2", "scout", task("count")), started("c1", "clerk"), started("c2", "scout"));
  const state = play(both, ...inside("c2", ...says("s1", "scout", "I cou")), ...inside("c1", ...says("m1", "clerk", "It is delivered.")), result("c1", "It is delivered."));
  const kept = withoutHalf(state).messages.map(({ id }) => id);
  assert.deepEqual([kept.includes("m1"), kept.includes("s1")], [true, false], "a half is thrown away");
});
