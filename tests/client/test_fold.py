"""Our client makes of a stream what `@ag-ui/client` 1.0.0 makes of it."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from agui_gate.client import ClientError, Fold, Malformed, TooMuch
from tests.client.folding import as_folded_by_1_0, folded
from tests.interop.replay import Case, Run, replay
from tests.interop.streams import FINISHED, INTERRUPTED, RESULT, STARTED, Event, call, sse, text
from tests.requirements import shows
from tests.support.chance import some

pytestmark = shows("B14")

USER: Event = {"id": "u-1", "role": "user", "content": "hi"}
INPUT: Event = {"threadId": "t-1", "runId": "r-1", "messages": [USER], "state": {"n": [1, 2], "o": {"a": None}}}
CALL: Event = {"id": "c-9", "type": "function", "function": {"name": "x", "arguments": "{}"}}
ACTIVITY: Event = {
    "type": "ACTIVITY_SNAPSHOT",
    "messageId": "a-1",
    "activityType": "plan",
    "content": {"steps": [{"done": False}]},
}
THOUGHT: list[Event] = [
    {"type": "REASONING_START", "messageId": "r"},
    {"type": "REASONING_MESSAGE_START", "messageId": "r", "role": "reasoning"},
    {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r", "delta": "hm"},
    {"type": "REASONING_MESSAGE_END", "messageId": "r"},
    {"type": "REASONING_END", "messageId": "r"},
    {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "r", "encryptedValue": "sealed"},
]
SUBAGENT: list[Event] = [
    {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "helper"},
    *({**event, "subagentRunId": "s"} for event in [*text("from below", "m-s"), *THOUGHT[1:4]]),
    {"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "outcome": {"type": "success"}},
]


def delta(*operations: Event) -> Event:
    return {"type": "STATE_DELTA", "delta": list(operations)}


def patch(*operations: Event) -> Event:
    return {"type": "ACTIVITY_DELTA", "messageId": "a-1", "activityType": "plan", "patch": list(operations)}


def snapshot(*messages: Event, **more: Any) -> Event:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages), **more}


def chunk(kind: str, **members: Any) -> Event:
    return {"type": f"{kind}_CHUNK", **members}


STREAMS: dict[str, list[Event]] = {
    "text": text("Hello. ü€😀"),
    "reasoning": [*THOUGHT, *text("so")],
    "text on a call's message": [
        {"type": "TOOL_CALL_START", "toolCallId": "c-1", "toolCallName": "x", "parentMessageId": "m-1"},
        {"type": "TOOL_CALL_END", "toolCallId": "c-1"},
        *text("and words"),
    ],
    "two calls, results apart": [
        *call(),
        {"type": "TOOL_CALL_START", "toolCallId": "c-2", "toolCallName": "x", "parentMessageId": "c-1"},
        {"type": "TOOL_CALL_END", "toolCallId": "c-2"},
        *text("meanwhile"),
        RESULT,
        RESULT | {"toolCallId": "c-2", "messageId": "m-2", "metadata": {"k": 1}},
        RESULT | {"toolCallId": "nobody's", "messageId": "m-3"},
    ],
    "a call begun again": [*call(), {**call()[0], "toolCallName": "renamed"}, *call()[1:]],
    "a parent that is no assistant's": [{**call()[0], "parentMessageId": "u-1"}, *call()[1:]],
    "metadata": [
        {**text("x")[0], "metadata": {"a": 1, "b": {"c": 1}}},
        {**text("x")[1], "metadata": {"b": 2, "n": None}},
        {**text("x")[2], "metadata": {"d": 3}},
        {**call()[0], "metadata": {"a": 1}},
        {**call()[1], "metadata": {"b": 1}},
        {**call()[2], "metadata": {"a": 2}},
    ],
    "state": [
        {"type": "STATE_SNAPSHOT", "snapshot": {"list": [1], "o": {}}},
        delta({"op": "add", "path": "/list/-", "value": 2}, {"op": "add", "path": "/o/x", "value": {"y": None}}),
        delta({"op": "replace", "path": "/list/0", "value": "zero"}, {"op": "move", "from": "/o/x", "path": "/x"}),
        delta({"op": "test", "path": "/x", "value": {"y": None}}, {"op": "copy", "from": "/x", "path": "/o/copy"}),
        delta({"op": "remove", "path": "/nowhere"}, {"op": "add", "path": "/z", "value": 1}),
    ],
    "state against the input's": [delta({"op": "remove", "path": "/n/0"}), delta({"op": "remove", "path": "/n/7"})],
    "state that is nothing": [{"type": "STATE_SNAPSHOT", "snapshot": None}],
    "the whole state replaced": [delta({"op": "replace", "path": "", "value": [1]})],
    "activities": [ACTIVITY, patch({"op": "replace", "path": "/steps/0/done", "value": True}), patch()],
    "activities that can't change": [
        ACTIVITY,
        patch({"op": "remove", "path": "/nothing"}) | {"metadata": {"m": 1}},
        ACTIVITY | {"replace": False, "content": {"other": 1}},
        ACTIVITY | {"activityType": "newer", "content": {"new": 1}, "subagentRunId": "s"},
        *text("no text goes in here", "a-1"),
        patch() | {"messageId": "missing"},
        patch() | {"messageId": "u-1"},
    ],
    "an activity in a message's place": [ACTIVITY | {"messageId": "u-1"}],
    "a snapshot": [
        *text("Hello."),
        *THOUGHT,
        ACTIVITY,
        snapshot({"id": "m-1", "role": "assistant", "content": "Hello!"}, {"id": "new", "role": "user", "content": ""}),
    ],
    "a snapshot with reasoning and activities": [
        *THOUGHT,
        ACTIVITY,
        snapshot(
            USER,
            {"id": "r2", "role": "reasoning", "content": "better"},
            {"id": "a-2", "role": "activity", "activityType": "plan", "content": {}},
        ),
    ],
    "a snapshot that owns some activities": [
        ACTIVITY,
        ACTIVITY | {"messageId": "a-2", "activityType": "other"},
        snapshot(USER, metadata={"@ag-ui/client": {"authoritativeActivityTypes": ["plan"]}}),
    ],
    "a snapshot that owns all activities": [
        ACTIVITY,
        snapshot(USER, metadata={"@ag-ui/client": {"authoritativeActivityTypes": None}}),
    ],
    "a snapshot with what is not known": [
        snapshot(
            {"id": "n", "role": "narrator", "content": "?"},
            {**USER, "surprise": 1, "content": [{"type": "text", "text": "t"}, {"type": "hologram"}]},
            {"id": "a", "role": "assistant", "toolCalls": [{**CALL, "x": 1}]},
        )
    ],
    "a call sealed": [
        *call(),
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "tool-call", "entityId": "c-1", "encryptedValue": "sealed"},
    ],
    "subagents": SUBAGENT,
    "steps, raw and custom": [
        {"type": "STEP_STARTED", "stepName": "one"},
        {"type": "RAW", "event": {"x": None}, "source": "elsewhere"},
        {"type": "CUSTOM", "name": "x:y", "value": None},
        {"type": "STEP_FINISHED", "stepName": "one"},
    ],
    "what nobody knows": [{"type": "TOMORROW", "x": 1}, {**text("x")[0], "surprise": 1}, *text("x")[1:]],
    "chunks": [
        chunk("TEXT_MESSAGE", messageId="m-1", delta="One"),
        chunk("TEXT_MESSAGE", delta=", two", metadata={"k": 1}),
        chunk("TEXT_MESSAGE", messageId="m-2", role="user", name="ann"),
        chunk("TOOL_CALL", toolCallId="c-1", toolCallName="x", delta='{"a":'),
        chunk("TOOL_CALL", delta="1}"),
        chunk("REASONING_MESSAGE", messageId="r", delta="hm"),
        {"type": "STATE_SNAPSHOT", "snapshot": {}},
        chunk("TEXT_MESSAGE", messageId="m-3", delta="end"),
    ],
    "chunks in lanes": [
        chunk("TEXT_MESSAGE", messageId="m-1", delta="a"),
        chunk("TEXT_MESSAGE", messageId="m-2", delta="b", subagentRunId="s"),
        chunk("TEXT_MESSAGE", delta="a"),
        chunk("TEXT_MESSAGE", delta="b", subagentRunId="s"),
        chunk("TEXT_MESSAGE", messageId="m-2", delta="b"),
        chunk("TOOL_CALL", toolCallId="c", toolCallName="x", subagentRunId="s"),
        chunk("TEXT_MESSAGE", delta="a"),
    ],
    "what was retired": [
        {"type": "THINKING_START", "title": "t"},
        {"type": "THINKING_TEXT_MESSAGE_START"},
        {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "hm"},
        {"type": "THINKING_TEXT_MESSAGE_END"},
        {"type": "THINKING_END"},
    ],
    "nulls": [{**call()[0], "parentMessageId": None}, *call()[1:]],
    "binary parts": [
        snapshot(
            {**USER, "content": [{"type": "binary", "mimeType": "image/png", "data": "AA==", "filename": "a.png"}]}
        )
    ],
}
CASES = [Case(name, [Run(sse(STARTED, *events, FINISHED), INPUT)]) for name, events in STREAMS.items()] + [
    Case("asked and answered", [Run(sse(STARTED, *call(), INTERRUPTED), INPUT), Run(
        sse(STARTED, RESULT, *text("Done.", "m-9"), FINISHED),
        {"resume": [{"interruptId": "int-1", "status": "resolved", "payload": {"approved": True}}]})]),
    Case("failed", [Run(sse(STARTED, *text("Hal")[:2], {"type": "RUN_ERROR", "message": "no"}), INPUT)]),
    Case("its own input", [Run(sse({**STARTED, "input": {"threadId": "t-1", "runId": "r-1", "tools": [], "context": [],
        "messages": [USER | {"content": "not again"}, {"id": "u-0", "role": "user", "content": "new"}]}}, FINISHED),
        INPUT)]),
    Case("two runs", [Run(sse(STARTED, *text("a"), FINISHED, STARTED, *text("b", "m-2"), FINISHED), INPUT)]),
]  # fmt: skip
MINTED = {"what was retired"}
"""Here each client makes ids of its own."""


@pytest.mark.interop
def test_it_is_what_the_real_client_makes_of_it() -> None:
    results = [result for result in replay(CASES) if result.version == "1.0.0"]
    refused = {result.case: result.error for result in results if not result.accepted}
    assert refused == {}
    assert as_folded_by_1_0(CASES, [result for result in results if result.case not in MINTED]) == []
    (thought,) = [r.last.messages[-1] for r in results if r.case in MINTED]
    ours = folded(Fold(INPUT["messages"]), sse(STARTED, *STREAMS["what was retired"], FINISHED)).messages[-1]
    assert ours | {"id": ""} == thought | {"id": ""}


@pytest.mark.interop
def test_chance_finds_no_difference() -> None:
    """Legal streams of many items at once, with ids that come again, snapshots and patches in between."""
    cases = [Case(f"seed {seed}", [Run(sse(*walk(random.Random(seed))), INPUT)]) for seed in range(60)]
    results = replay(cases)
    accepted = [r for r in results if r.version == "1.0.0" and r.accepted]
    assert len(accepted) == len(cases)
    assert as_folded_by_1_0(cases, results) == []


def walk(chance: random.Random) -> list[Event]:
    """A legal run: a few items open at a time, in any order."""
    events, going = [STARTED], list[list[Event]]()
    for number in range(12):
        events += chance.choice([[], [], [anything(chance)]])
        going.append(item(chance, number))
        while going and chance.random() < 0.7:
            one = chance.choice(going)
            events.append(one.pop(0))
            going = [rest for rest in going if rest]
    return [*events, *(event for rest in going for event in rest), FINISHED]


def item(chance: random.Random, number: int) -> list[Event]:
    owner = chance.choice([{}, {}, {"metadata": {chance.choice("ab"): number}}])
    match chance.choice(["text", "call", "thought"]):
        case "text":
            events = text(f"t{number} ", f"m-{number}")
            return [events[0] | owner, *[events[1]] * chance.randrange(3), events[2] | owner]
        case "call":
            start, args, end = (e | {"toolCallId": f"c-{number}"} for e in call(f'{{"n":{number}}}'))
            parent = chance.choice([{}, {"parentMessageId": f"m-{chance.randrange(12)}"}])
            result = RESULT | {"toolCallId": f"c-{number}", "messageId": f"res-{number}"}
            return [start | parent | owner, args, end, *([result | owner] if chance.random() < 0.7 else [])]
        case _:
            return [e | {"messageId": f"r-{number}"} for e in THOUGHT[1:4]]


def anything(chance: random.Random) -> Event:
    place = chance.choice(["/n", "/n/0", "/o/a", "/o", "/x", "/n/-"])
    operations: list[Event] = [
        {"op": "add", "path": place, "value": chance.choice([1, [1], {"a": [1]}, None])},
        {"op": "remove", "path": place},
        {"op": "replace", "path": place, "value": "r"},
        {"op": "copy", "from": "/o", "path": place},
        {"op": "test", "path": place, "value": [1, 2]},
    ]
    kept = [f"m-{chance.randrange(12)}" for _ in range(3)]
    return chance.choice(
        [
            delta(*chance.sample(operations, chance.randrange(1, 3))),
            ACTIVITY | {"messageId": f"a-{chance.randrange(2)}", "content": {"n": chance.randrange(9)}},
            patch({"op": "add", "path": "/k", "value": 1}) | {"messageId": f"a-{chance.randrange(2)}"},
            snapshot(USER, *({"id": one, "role": "assistant", "content": "told"} for one in dict.fromkeys(kept))),
            {"type": "STATE_SNAPSHOT", "snapshot": {"n": [chance.randrange(9)], "o": {"a": 1}}},
        ]
    )


BROKEN: dict[str, Event | str] = {
    "no JSON": "data: {\n\n",
    "no object": "data: [1]\n\n",
    "no type": "data: {}\n\n",
    "a known member of another kind": {"type": "TEXT_MESSAGE_CONTENT", "messageId": 5, "delta": "x"},
    "a member that is missing": {"type": "TOOL_CALL_START", "toolCallId": "c"},
    "a first chunk without its id": chunk("TEXT_MESSAGE", delta="x"),
    "a patch that is none": delta({"op": "add", "path": "x", "value": 1}),
    "a patch without its value": delta({"op": "add", "path": "/x"}),
    "a message without id": snapshot({"role": "user", "content": "x"}),
    "a question without an id": FINISHED | {"outcome": {"type": "interrupt", "interrupts": [{"reason": "x"}]}},
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_malformed_is_said_without_a_word_of_it(name: str) -> None:
    told = BROKEN[name]
    body = sse(STARTED) + (told if isinstance(told, str) else sse(told))
    with pytest.raises(Malformed) as raised:
        folded(Fold(), body)
    assert raised.value.code == "agent_malformed"


def test_a_long_text_costs_what_it_is_long() -> None:
    """A text is joined when somebody looks, not with each piece."""
    fold, piece = Fold(), sse(text("word ")[1])
    folded(fold, sse(STARTED, text("")[0]) + piece * 50_000)
    assert len(fold.messages[0]["content"]) == 250_000
    folded(fold, piece)
    assert fold.messages[0]["content"].endswith("word word ")


NEW: dict[str, Callable[[str], Event]] = {
    "messages": lambda name: text("", name)[0],
    "thoughts": lambda name: {**THOUGHT[1], "messageId": name},
    "calls": lambda name: {**call()[0], "toolCallId": name},
    "results": lambda name: {**RESULT, "messageId": name},
    "activities": lambda name: {**ACTIVITY, "messageId": name},
}
SHARE = some(50, 1)
"""One in so many of what a run may make, with as much of its budget."""


@pytest.mark.parametrize("name", NEW)
def test_one_run_makes_so_many_messages_and_calls_and_no_more(name: str) -> None:
    """With 200,000 the garbage collector alone kept the client waiting for 400 ms, again and again."""
    fold, make = folded(Fold(), sse(STARTED)), NEW[name]
    fold.work.left /= SHARE
    folded(fold, sse(*(make(f"n-{number}") for number in range(20_000 // SHARE))))
    with pytest.raises(TooMuch, match="more work to process than a run"):
        folded(fold, sse(*(make(f"n-{number}") for number in range(20_000 // SHARE, 60_000 // SHARE))))


def test_what_it_holds_is_its_own() -> None:
    given = [dict(USER)]
    fold = folded(Fold(given, {"n": [1]}), sse(STARTED, delta({"op": "add", "path": "/n/-", "value": 2}), FINISHED))
    assert (given, fold.state) == ([USER], {"n": [1, 2]})
    assert json.loads(json.dumps(fold.messages)) == [USER]


def test_every_error_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in ClientError.__subclasses__()]
    assert len(set(codes)) == len(codes) == 8
