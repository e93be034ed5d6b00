"""Streams that keep the rules have no finding; one planted bug is named by the right rule, before anything else."""

import json
from typing import Any

import pytest

from agui_gate_adapters.testkit.spec import JUDGED, RULES, assert_conforms, judge
from tests.spec.streams import (
    USAGE,
    Json,
    activity,
    amended,
    asked,
    asking,
    call,
    delta,
    finished,
    held_call,
    held_result,
    result,
    snapshot,
    started,
    step,
    sub,
    text,
    thought,
    tool,
    used,
    user,
)

INTERRUPT = {"id": "i1", "reason": "tool_call", "toolCallId": "c1"}
PAINT = asked(tools=[tool("paint")])
CHUNK = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m1", "delta": "a"}
SEALED = {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "th1", "encryptedValue": "e"}
PICTURE = {"type": "image", "source": {"type": "file", "value": "f", "provider": "openai"}}

VALID: dict[str, tuple[list[Json], Json]] = {
    "text": ([started(), *text("m1", "a", "", "b", role="assistant", name="bot"), finished()], asked()),
    "all of it": (
        [
            started(timestamp=1, parentRunId="r0", input=asked()),
            *thought(),
            SEALED,
            step(),
            *text("m1", metadata={"x": None}),
            *call(parentMessageId="m1"),
            result(content=[{"type": "text", "text": "t"}, PICTURE]),
            step(kind="FINISHED"),
            activity(),
            amended(),
            {"type": "STATE_SNAPSHOT", "snapshot": None},
            {"type": "CUSTOM", "name": "x:y", "value": None},
            {"type": "RAW", "event": None, "source": "s"},
            snapshot(user(), held_call("c1", message_id="m1")),
            used(cachedInputTokens=4, cacheWriteInputTokens=6, reasoningTokens=0),
        ],
        asked(),
    ),
    "interleaved": (
        [started(), text()[0], call()[0], text()[1], *call()[1:], text()[2], result(), finished()],
        asked(),
    ),
    "opened again": ([started(), *text(), *text("m1", "more"), finished()], asked()),
    "two runs": ([started(runId="r0"), finished(runId="r0"), started(), finished(result={"a": 1})], asked()),
    "failed": ([started(), text()[0], {"type": "RUN_ERROR", "message": "no", "code": "x"}], asked()),
    "failed late": ([started(), finished(), {"type": "RUN_ERROR", "message": "no"}], asked()),
    "refused": ([{"type": "RUN_ERROR", "message": "no"}], asked()),
    "asks": ([started(), *call(), asking(INTERRUPT)], asked()),
    "asks with a frontend call": ([started(), *call(), *call("c2", "paint"), asking(INTERRUPT)], PAINT),
    "stopped": ([started(), *text(), finished(outcome={"type": "cancelled"})], asked()),
    "frontend": (
        [started(), *call(name="paint"), finished(outcome={"type": "success", "pendingToolCallIds": ["c1"]})],
        PAINT,
    ),
    "resumed": ([started(), result("c0"), *text(), finished()], asked(user(), held_call())),
    "withdrawn": (
        [started(), snapshot(user()), finished()],
        asked(user(), held_call(name="paint"), tools=[tool("paint")]),
    ),
    "answered by the page": (
        [started(), snapshot(user(), held_call(name="paint"), held_result()), *text(), finished()],
        asked(user(), held_call(name="paint"), held_result(), tools=[tool("paint")]),
    ),
    "delta of the input's state": ([started(), delta(), finished()], asked(state={"a": 1})),
    "delta of a snapshot": (
        [started(), {"type": "STATE_SNAPSHOT", "snapshot": {"a": [1]}}, delta("/a/-", "add"), finished()],
        asked(),
    ),
    "chunks": (
        [
            started(),
            {**CHUNK, "role": "assistant"},
            {"type": "TEXT_MESSAGE_CHUNK", "delta": "b"},
            {"type": "TOOL_CALL_CHUNK", "toolCallId": "c1", "toolCallName": "find", "delta": "{"},
            {"type": "TOOL_CALL_CHUNK", "delta": "}"},
            {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m2", "delta": "c"},
            {"type": "REASONING_MESSAGE_CHUNK", "messageId": "th1", "delta": "c"},
            result(),
            finished(),
        ],
        asked(),
    ),
    "chunks of subagents": (
        [
            started(),
            sub(),
            {**CHUNK, "subagentRunId": "s1"},
            {"type": "TEXT_MESSAGE_CHUNK", "delta": "untagged, of the one that is open"},
            {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m1", "delta": "by its id"},
            {**CHUNK, "messageId": "m2"},
            {"type": "TEXT_MESSAGE_CHUNK", "delta": "the agent's own"},
            {"type": "TEXT_MESSAGE_CHUNK", "delta": "c", "subagentRunId": "s1"},
            sub("FINISHED"),
            finished(),
        ],
        asked(),
    ),
    "a call opened again, for more": (
        [started(), *call("c0")[::2], result("c0"), *text(), finished()],
        asked(user(), held_call()),
    ),
    "subagents": (
        [
            started(),
            sub(),
            sub(own="s2", parentSubagentRunId="s1"),
            *text("m1", subagentRunId="s1"),
            {**text("m2")[0], "subagentRunId": "s2"},
            {**text("m2")[1], "subagentRunId": "s2"},
            text("m2")[2],
            sub("FINISHED", "s2", outcome={"type": "suspended", "interruptIds": ["i1"]}),
            sub("ERROR"),
            finished(),
        ],
        asked(),
    ),
}


@pytest.mark.parametrize("name", VALID)
def test_a_stream_that_keeps_the_rules_has_no_finding(name: str) -> None:
    events, given = VALID[name]
    assert judge(events, input=given) == []
    body = ": ping\n\n" + "".join(f"id: 1\nevent: x\ndata: {json.dumps(event)}\n\n" for event in events)
    assert judge(body, input=given) == []
    assert judge(body.encode(), input=given) == []


def run(*events: Json) -> list[Json]:
    """A run around some events."""
    return [started(), *events, finished()]


def without(event: Json, name: str) -> Json:
    return {key: value for key, value in event.items() if key != name}


def said(**more: Any) -> list[Json]:
    """A snapshot whose one message of the assistant has some members more."""
    return run(snapshot(user(), {"id": "a1", "role": "assistant", "content": "x", **more}))


PLANTED: list[tuple[str, str, list[Json], Json]] = [
    # shapes
    ("EVT-1", "an event type of one's own", run({"type": "PROGRESS"}), asked()),
    ("EVT-1", "a retired type", run({"type": "THINKING_START"}), asked()),
    ("EVT-1", "no type", run({"messageId": "m1"}), asked()),
    ("EVT-1", "an unknown member", [started(agent="x"), finished()], asked()),
    ("EVT-1", "a member of another event", run({**text()[0], "delta": "x"}, text()[2]), asked()),
    ("EVT-2", "null for what is absent", run({**text()[0], "name": None}, text()[2]), asked()),
    ("EVT-2", "a null result", [started(), finished(result=None)], asked()),
    ("EVT-2", "a null raw event", run({**text()[0], "rawEvent": None}, text()[2]), asked()),
    ("EVT-2", "null within a message", said(name=None), asked()),
    ("EVT-2", "a null outcome", [started(), finished(outcome=None)], asked()),
    ("EVT-3", "a time with a fraction", [started(timestamp=1.5), finished()], asked()),
    ("EVT-3", "a time beyond 53 bits", [started(timestamp=2**53), finished()], asked()),
    ("EVT-6", "a run of a subagent", [started(subagentRunId="s1"), finished()], asked()),
    ("EVT-6", "a snapshot of a subagent", run({**snapshot(user()), "subagentRunId": "s1"}), asked()),
    ("GEN-1", "a start without an id", run({"type": "TEXT_MESSAGE_START"}, {"type": "TEXT_MESSAGE_END"}), asked()),
    ("GEN-1", "a delta that is no text", run(text()[0], {**text()[1], "delta": 1}, text()[2]), asked()),
    ("GEN-1", "an unknown member of a message", said(model="x"), asked()),
    ("GEN-1", "an unknown role", run(snapshot(user(), {"id": "a1", "role": "narrator", "content": "x"})), asked()),
    ("GEN-1", "a call in a message without a function", said(toolCalls=[{"id": "c", "type": "function"}]), asked()),
    ("GEN-1", "a snapshot that is no list", run({"type": "MESSAGES_SNAPSHOT", "messages": {}}), asked()),
    ("META-1", "metadata that is no object", run({**text()[0], "metadata": "x"}, text()[2]), asked()),
    ("META-1", "the protocol's own key", run({**text()[0], "metadata": {"ag-ui": 1}}, text()[2]), asked()),
    ("IN-10", "an echo that is no input", [started(input={"threadId": "t1"}), finished()], asked()),
    # the run
    ("IN-1", "another thread", [started(threadId="t2"), finished()], asked()),
    ("IN-1", "another thread at the end", [started(), finished(threadId="t2")], asked()),
    ("IN-1", "two ids for a run", [started(), finished(runId="r2")], asked()),
    ("IN-1", "not the run that was asked for", [started(runId="x"), finished(runId="x")], asked()),
    ("IN-1", "a start without a run id", [without(started(), "runId"), finished()], asked()),
    ("VER-1", "no version", [without(started(), "protocolVersion"), finished()], asked()),
    ("VER-1", "a version that can't be read", [started(protocolVersion="one"), finished()], asked()),
    (
        "VER-1",
        "another version",
        [started(runId="r0"), finished(runId="r0"), started(protocolVersion="1.1"), finished()],
        asked(),
    ),
    ("LIFE-1", "nothing at all", [], asked()),
    ("LIFE-1", "text before the start", [*text(), started(), finished()], asked()),
    ("TR-1", "no end", [started(), *text()], asked()),
    ("LIFE-2", "an outcome of one's own", [started(), finished(outcome={"type": "paused"})], asked()),
    ("LIFE-2", "an open outcome", [started(), finished(outcome={"type": "cancelled", "reason": "x"})], asked()),
    ("LIFE-2", "an outcome that is a word", [started(), finished(outcome="success")], asked()),
    ("LIFE-3", "a message left open", run(*text()[:2]), asked()),
    ("LIFE-3", "a call left open", [started(), *call()[:2], result(), finished()], asked()),
    ("LIFE-3", "reasoning left open", run(*thought()[:4]), asked()),
    ("LIFE-3", "open at a stop", [started(), text()[0], finished(outcome={"type": "cancelled"})], asked()),
    ("LIFE-5", "a result of a stopped run", [started(), finished(outcome={"type": "cancelled"}, result=1)], asked()),
    ("LIFE-6", "a word after the end", [*run(), {"type": "CUSTOM", "name": "x:y", "value": 1}], asked()),
    ("LIFE-6", "two ends", [*run(), finished()], asked()),
    ("LIFE-6", "two errors", [started(), *[{"type": "RUN_ERROR", "message": "no"}] * 2], asked()),
    ("LIFE-6", "an error without a message", [started(), {"type": "RUN_ERROR", "code": "x"}], asked()),
    ("LIFE-7", "a run within a run", [started(), started(), finished()], asked()),
    ("LIFE-8", "a call that the input has", run(*call("c0"), result("c0")), asked(user(), held_call())),
    ("LIFE-8", "a result that the input has", run(result("c0")), asked(user(), held_call(), held_result())),
    ("LIFE-9", "a step twice", run(step(), step(), step(kind="FINISHED")), asked()),
    ("LIFE-9", "a step that nobody began", run(step(kind="FINISHED")), asked()),
    ("LIFE-9", "a step left open", run(step()), asked()),
    # items
    ("STR-1", "content before the start", run(text()[1]), asked()),
    ("STR-1", "an end twice", run(*text(), text()[2]), asked()),
    ("STR-1", "a start twice", run(text()[0], *text()), asked()),
    ("STR-1", "arguments after the end", run(*call(), call()[1], result()), asked()),
    ("STR-2", "a chunk without an id", run({"type": "TEXT_MESSAGE_CHUNK", "delta": "a"}), asked()),
    ("STR-2", "a call's chunk without a name", run({"type": "TOOL_CALL_CHUNK", "toolCallId": "c1"}), asked()),
    (
        "STR-2",
        "a chunk without an id after what ended its item",
        run(CHUNK, {"type": "CUSTOM", "name": "x:y", "value": 1}, {"type": "TEXT_MESSAGE_CHUNK", "delta": "b"}),
        asked(),
    ),
    ("STR-2", "both forms", run(CHUNK, text()[1]), asked()),
    ("STR-2", "a chunk that disagrees", run({**CHUNK, "role": "user"}, {**CHUNK, "role": "system"}), asked()),
    ("TEXT-1", "a tool that speaks", run(*text(role="tool")), asked()),
    ("TEXT-2", "another role", run(*text(), *text(name="x")), asked()),
    ("TEXT-2", "another tool", run(*call(), *call(name="buy"), result()), asked()),
    ("EVT-4", "a user's id for an answer", run(*text("u1")), asked()),
    ("EVT-4", "a result with the id of a message", run(*text(), *call(), result(message_id="m1")), asked()),
    ("EVT-4", "an activity with the id of a message", run(*text("v1"), activity()), asked()),
    ("REAS-1", "a thought that isn't open", run(thought()[2]), asked()),
    ("REAS-1", "a span twice", run(thought()[0], *thought()), asked()),
    ("REAS-1", "a thought without its role", run(thought()[0], without(thought()[1], "role"), *thought()[2:]), asked()),
    ("REAS-2", "a seal on another thing", run(*thought(), {**SEALED, "subtype": "activity"}), asked()),
    ("REAS-2", "a seal on nothing", run(SEALED), asked()),
    ("REAS-5", "a type without a value", said(encryptedValueType="x.y"), asked()),
    # calls
    ("TOOL-2", "a second result", run(*call(), result(), result(message_id="x2")), asked()),
    ("TOOL-2", "a result of no call", run(result("nope")), asked()),
    ("TOOL-2", "a result that is an object", run(*call(), result(content={"a": 1})), asked()),
    ("TOOL-2", "a part of no kind", run(*call(), result(content=[{"type": "reasoning", "text": "x"}])), asked()),
    ("TOOL-4", "an answer for the page", run(*call(name="paint"), result()), PAINT),
    (
        "TOOL-4",
        "an answer in a snapshot",
        run(snapshot(user(), held_call(name="paint"), held_result())),
        asked(user(), held_call(name="paint"), tools=[tool("paint")]),
    ),
    ("TOOL-5", "an interrupt for the page's tool", [started(), *call(name="paint"), asking(INTERRUPT)], PAINT),
    ("TOOL-5", "a call that nobody answers", run(*call()), asked()),
    (
        "TOOL-6",
        "another list",
        [started(), *call(name="paint"), finished(outcome={"type": "success", "pendingToolCallIds": ["c2"]})],
        PAINT,
    ),
    ("TOOL-6", "no list", run(*call(name="paint")), PAINT),
    # interrupts
    ("INT-1", "an interrupt that asks nothing", [started(), asking()], asked()),
    ("INT-1", "an interrupt without a reason", [started(), *call(), asking(without(INTERRUPT, "reason"))], asked()),
    ("INT-1", "a schema that is a text", [started(), *call(), asking({**INTERRUPT, "responseSchema": "x"})], asked()),
    ("INT-2", "one id for two", [started(), *call(), asking(INTERRUPT, INTERRUPT)], asked()),
    # state, activities
    ("IN-6", "a delta of nothing", run(delta()), asked()),
    ("STATE-1", "a delta that doesn't fit", run({"type": "STATE_SNAPSHOT", "snapshot": {}}, delta()), asked()),
    ("SNAP-2", "a patch that is an object", run({"type": "STATE_DELTA", "delta": {"a": 1}}), asked()),
    ("SNAP-2", "a path that is no pointer", run(delta("a")), asked(state={"a": 1})),
    ("SNAP-2", "a patch of another activity", run(activity(), amended("/none/-")), asked()),
    ("STATE-2", "a message left out", run(snapshot(user())), asked(user(), user("two", "u2"))),
    ("STATE-2", "a message rewritten", run(snapshot(user("ha"))), asked()),
    ("STATE-2", "a name lost", run(snapshot(user())), asked(user(name="Ann"))),
    ("EVT-4", "an id twice in a snapshot", run(snapshot(user(), user())), asked()),
    ("ACT-1", "a delta first", run(amended()), asked()),
    ("ACT-1", "content that is a list", run(activity(content=[])), asked()),
    ("ACT-1", "another type", run(activity(), amended(activityType="map")), asked()),
    # usage
    ("USE-1", "more cached than read", [started(), used(cachedInputTokens=8, cacheWriteInputTokens=3)], asked()),
    ("USE-1", "more thought than said", [started(), used(reasoningTokens=6)], asked()),
    ("USE-1", "two entries for a model", [started(), finished(usage=[USAGE, USAGE])], asked()),
    ("USE-2", "another total", [started(), used(totalTokens=999)], asked()),
    ("USE-3", "a count below zero", [started(), used(reasoningTokens=-1)], asked()),
    ("USE-3", "a count that is a text", [started(), used(model="m", inputTokens="10")], asked()),
    # subagents, passthrough
    ("SUB-1", "one id for two", run(sub(), sub("FINISHED"), sub(), sub("FINISHED")), asked()),
    ("SUB-2", "no name", run(without(sub(), "name"), sub("FINISHED")), asked()),
    ("SUB-2", "announced late", run(*text(subagentRunId="s1"), sub(), sub("FINISHED")), asked()),
    ("SUB-2", "a parent that nobody knows", run(sub(parentSubagentRunId="s0"), sub("FINISHED")), asked()),
    ("SUB-3", "left running", run(sub()), asked()),
    ("SUB-3", "an end of nothing", run(sub("FINISHED")), asked()),
    ("SUB-3", "a word after its end", run(sub(), sub("FINISHED"), *text(subagentRunId="s1")), asked()),
    (
        "SUB-4",
        "another's continuation",
        run(sub(), text()[0], {**text()[1], "subagentRunId": "s1"}, text()[2], sub("FINISHED")),
        asked(),
    ),
    (
        "SUB-4",
        "a call in another's message",
        run(sub(), *text(), *call(parentMessageId="m1", subagentRunId="s1"), result(), sub("FINISHED")),
        asked(),
    ),
    ("PASS-1", "a name without a prefix", run({"type": "CUSTOM", "name": "progress", "value": 1}), asked()),
    ("PASS-1", "no value", run({"type": "CUSTOM", "name": "x:y"}), asked()),
]


@pytest.mark.parametrize(("rule", "name", "events", "given"), PLANTED, ids=[f"{p[0]} {p[1]}" for p in PLANTED])
def test_a_planted_bug_is_named_by_its_rule(rule: str, name: str, events: list[Json], given: Json) -> None:
    found = judge(events, input=given)
    assert found, name
    assert found[0].rule == rule, "\n".join(map(str, found))


BODY = "".join(f"data: {json.dumps(event)}\n\n" for event in VALID["text"][0])
FRAMED = [
    ("SSE-2", "carriage returns", BODY.replace("\n", "\r\n")),
    ("SSE-1", "a mark of the end", BODY + "data: [DONE]\n\n"),
    ("SSE-1", "an event in two lines", BODY.replace('"threadId"', '\ndata: "threadId"')),
    ("SSE-1", "half an event", BODY[: len(BODY) // 2].rsplit("\n", 1)[0] + "data: {\n\n" + BODY),
    ("SSE-1", "a number that JSON hasn't", BODY.replace('"1.0"', "NaN")),
    ("SSE-1", "bytes that are no text", BODY.encode().replace(b"hi", b"\xff") + b"\xff"),
    ("GEN-1", "an event that is a list", "data: []\n\n" + BODY),
    ("TR-1", "cut within the last frame", BODY.removesuffix("\n")),
    ("TR-1", "cut before the last frame", BODY[: BODY.rindex("data:")]),
    ("LIFE-1", "only comments", ": ping\n\n"),
]


@pytest.mark.parametrize(("rule", "name", "body"), FRAMED, ids=[f"{p[0]} {p[1]}" for p in FRAMED])
def test_a_planted_bug_of_the_framing_is_named_by_its_rule(rule: str, name: str, body: str | bytes) -> None:
    assert rule in {found.rule for found in judge(body, input=asked())}, name


def test_there_is_a_planted_bug_for_every_rule_that_is_judged() -> None:
    assert {p[0] for p in PLANTED} | {p[0] for p in FRAMED} == JUDGED
    assert RULES.keys() >= JUDGED


def test_every_rule_quotes_the_specification_and_names_its_page() -> None:
    for i, rule in RULES.items():
        assert 5 <= len(rule.quote.split()) <= 90, i
        assert not {"](", "**", "\n"} & {rule.quote[at : at + 2] for at in range(len(rule.quote))}, f"{i} has markup"
        assert rule.quote != rule.text, i
        assert rule.url.startswith("https://github.com/ag-ui-protocol/ag-ui/blob/main/docs/spec/1.1/"), i


NOTES = ["another type", "a message rewritten", "a name lost", "a message left out", "a second result"]


@pytest.mark.parametrize("name", NOTES)
def test_what_the_specification_allows_is_a_note(name: str) -> None:
    (events, given) = next((planted[2], planted[3]) for planted in PLANTED if planted[1] == name)
    assert [one.strength for one in judge(events, input=given)] == ["note"]


def test_a_retyped_activity_keeps_its_new_type() -> None:
    events = run(activity(), amended(activityType="map"), amended(activityType="map"))
    assert [one.frame for one in judge(events, input=asked())] == [2]


def test_a_failed_test_of_a_patch_is_a_note() -> None:
    patch = {"type": "STATE_DELTA", "delta": [{"op": "test", "path": "/a", "value": 2}]}
    assert [one.strength for one in judge(run(patch), input=asked(state={"a": 1}))] == ["note"]


def test_history_that_the_input_holds_is_not_streamed_again() -> None:
    given = asked(user(), {"id": "a1", "role": "assistant", "content": "x"}, user("more", "u2"))
    earlier = [started(runId="earlier"), *text("a1"), finished(runId="earlier")]
    found = judge([*earlier, *run(*text("a2"))], input=given)
    assert [(one.rule, one.frame) for one in found] == [("LIFE-8", 1)]


def test_a_finding_says_where() -> None:
    found = judge(run(*text(), {"type": "PROGRESS"}), input=asked())
    assert [(one.rule, one.strength, one.frame, one.text) for one in found] == [
        ("EVT-1", "MUST", 4, '{"type": "PROGRESS"}')
    ]
    assert str(found[0]) == 'EVT-1 MUST: \'PROGRESS\' is not an event type (frame 4: {"type": "PROGRESS"})'


def test_a_replayed_run_keeps_its_own_id() -> None:
    events = [started(runId="earlier"), finished(runId="earlier")]
    assert judge(events, input=asked(), replays=True) == []


def test_the_helper_for_tests_fails_with_the_rule() -> None:
    assert_conforms(run(*text()), input=asked())
    with pytest.raises(AssertionError, match="TOOL-4 MUST"):
        assert_conforms(run(*call(name="paint"), result()), input=PAINT)
    assert_conforms(run(*call(name="paint"), result()), input=PAINT, departs=["TOOL-4"])


@pytest.mark.parametrize("version", [None, "0.9"])
def test_what_a_client_of_0x_needs_is_no_breach(version: str | None) -> None:
    given = without(PAINT, "protocolVersion") | ({"protocolVersion": version} if version else {})
    assert_conforms(run(*call(name="paint"), result()), input=given)
    with pytest.raises(AssertionError, match="EVT-1"):
        assert_conforms(run({"type": "PROGRESS"}), input=given)


GARBAGE: list[Any] = [None, 1, "x", [], {}, {"type": None}, {"type": []}, {"a": {}}, [[]], True]


@pytest.mark.parametrize(
    "kind", ["RUN_STARTED", "RUN_FINISHED", "MESSAGES_SNAPSHOT", "TOOL_CALL_RESULT", "STATE_DELTA"]
)
@pytest.mark.parametrize("value", GARBAGE, ids=repr)
def test_garbage_in_any_member_is_a_finding_and_no_crash(kind: str, value: Any) -> None:
    members = (
        "threadId",
        "runId",
        "outcome",
        "usage",
        "messages",
        "messageId",
        "toolCallId",
        "delta",
        "metadata",
        "input",
    )
    event = {"type": kind, **dict.fromkeys(members, value)}
    assert judge([started(), event, started()], input=dict.fromkeys(members, value))
