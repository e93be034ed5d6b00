"""The provider's chunks become model events: every oddity that servers are known for, and any nonsense."""

from itertools import count
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.adapter import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
    TurnDone,
    Usage,
)
from agui_gate.errors import ContextLength, ProviderAuth, ProviderRejected, ProviderUnavailable, RateLimited
from agui_gate_adapters.openai_chat.failures import api_of
from agui_gate_adapters.openai_chat.machine import ChatMachine
from tests.conforming import conforms
from tests.requirements import shows

DONE = b"[DONE]"
Json = dict[str, Any]


def machine(**options: Any) -> ChatMachine:
    ids = count()
    return ChatMachine("gpt", api_of("gpt"), lambda: f"minted-{next(ids)}", **options)


def c(delta: Json | None = None, finish: str | None = None, **more: Any) -> bytes:
    """A chunk with one choice."""
    choice = {"index": 0, "delta": {} if delta is None else delta, "finish_reason": finish}
    return msgspec.json.encode({"id": "chatcmpl-1", "model": "gpt-1", "choices": [choice], **more})


def say(text: str | None) -> bytes:
    return c({"content": text})


def t(*calls: Json) -> bytes:
    """A chunk with pieces of calls."""
    return c({"tool_calls": list(calls)})


def call(arguments: Any = "", name: str | None = None, **address: Any) -> Json:
    """A piece of a call; what is None is left out."""
    named = {} if name is None else {"name": name}
    return {**address, "type": "function", "function": {**named, "arguments": arguments}}


def end(finish: str = "stop", **more: Any) -> bytes:
    return c(finish=finish, **more)


def feed(*payloads: bytes, **options: Any) -> list[ModelEvent]:
    """All events, those of the body's end included."""
    fed = machine(**options)
    events = [event for payload in payloads for event in fed.feed([payload])]
    events += [] if fed.done or fed.failure else fed.end()
    assert fed.failure is None
    again = machine(**options)
    batched = again.feed(list(payloads))
    assert batched + ([] if again.done else again.end()) == events, "batching must not matter"
    return events


def calls(events: list[ModelEvent]) -> list[tuple[str, str, str]]:
    """Wire id, name and arguments of the calls that ended; their deltas add up to their arguments."""
    ended = []
    for start in [event for event in events if isinstance(event, CallStart)]:
        deltas = "".join(event.text for event in events if isinstance(event, CallDelta) and event.key == start.key)
        for event in events:
            if isinstance(event, CallEnd) and event.key == start.key:
                assert event.arguments == deltas
                ended.append((start.wire_id, start.name, event.arguments))
    return ended


def failure(*payloads: bytes) -> Exception:
    fed = machine()
    assert not fed.feed(list(payloads))
    assert fed.failure is not None
    return fed.failure.error


# --- text ---------------------------------------------------------------------------------------------------------


def test_text() -> None:
    assert feed(c({"role": "assistant", "content": ""}), say("He"), say(None), say("llo"), end(), DONE) == [
        TextStart("text-1"), TextDelta("text-1", "He"), TextDelta("text-1", "llo"), TextEnd("text-1"), TurnDone(),
    ]  # fmt: skip


def test_empty_text_beside_calls_is_no_message() -> None:
    events = feed(
        c({"role": "assistant", "content": None}),
        c({"content": "", "tool_calls": [call("{}", "f", index=0, id="a")]}),
        end("tool_calls"),
        DONE,
    )
    assert [type(event) for event in events] == [CallStart, CallDelta, CallEnd, TurnDone]


def test_a_refusal_is_text() -> None:
    assert feed(c({"refusal": "No"}), c({"refusal": "."}), end(), DONE)[:3] == [
        TextStart("text-1"), TextDelta("text-1", "No"), TextDelta("text-1", "."),
    ]  # fmt: skip


def test_only_the_first_choice_counts() -> None:
    second = msgspec.json.encode({"choices": [{"index": 1, "delta": {"content": "b"}, "finish_reason": "length"}]})
    events = feed(say("a"), second, end(), DONE)
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["a"]
    assert events[-1] == TurnDone()


# --- reasoning ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_remembers_its_member(field: str) -> None:
    events = feed(c({field: "I"}), c({field: " see", "content": ""}), say("Hi"), end(), DONE)
    assert events[:4] == [
        ReasoningStart("reasoning-1"),
        ReasoningDelta("reasoning-1", "I"),
        ReasoningDelta("reasoning-1", " see"),
        ReasoningEnd("reasoning-1", private={"field": field}),
    ]
    assert events[4:6] == [TextStart("text-2"), TextDelta("text-2", "Hi")]


def test_what_comes_in_two_members_is_shown_once() -> None:
    detail = {"type": "reasoning.text", "text": "I", "index": 0}
    both = c({"reasoning": "I", "reasoning_content": "I", "reasoning_details": [detail]})
    assert [event.text for event in feed(both, end(), DONE) if isinstance(event, ReasoningDelta)] == ["I"]


def test_details_are_put_together_and_kept_before_what_they_belong_to() -> None:
    events = feed(
        c({"reasoning_details": [{"type": "reasoning.text", "text": "I ", "index": 0, "signature": None}]}),
        c({"reasoning_details": [{"type": "reasoning.text", "text": "see", "index": 0}]}),
        c({"content": "", "reasoning_details": [{"type": "reasoning.text", "signature": "s", "index": 0}]}),
        say("Hi"),
        c({
            "reasoning_details": [{"type": "reasoning.encrypted", "data": data} for data in ("x", "y")],
            "tool_calls": [call("{}", "f", index=0, id="a")],
        }),
        end(),
        DONE,
    )  # fmt: skip
    starts = [event.key for event in events if isinstance(event, TextStart | ReasoningStart | CallStart)]
    assert starts == ["details-1", "reasoning-2", "text-3", "call-0"]
    assert [event.text for event in events if isinstance(event, ReasoningDelta)] == ["I ", "see"]
    details = [
        {"type": "reasoning.text", "text": "I see", "index": 0, "signature": "s"},
        {"type": "reasoning.encrypted", "data": "x"},
        {"type": "reasoning.encrypted", "data": "y"},
    ]
    assert ReasoningEnd("details-1", private={"reasoning_details": details}) in events


def test_content_as_a_list() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}
    events = feed(c({"content": [thinking]}), c({"content": [{"type": "text", "text": "Hi"}, 3, {}]}), end(), DONE)
    assert events[:5] == [
        ReasoningStart("reasoning-1"), ReasoningDelta("reasoning-1", "Hm"), ReasoningEnd("reasoning-1"),
        TextStart("text-2"), TextDelta("text-2", "Hi"),
    ]  # fmt: skip


def test_reasoning_that_nothing_follows_ends() -> None:
    events = feed(c({"reasoning": "a"}), end(), DONE)
    assert events[2:] == [ReasoningEnd("reasoning-1", private={"field": "reasoning"}), TurnDone()]


def test_text_and_reasoning_may_take_turns() -> None:
    events = feed(c({"reasoning": "a"}), say("b"), c({"reasoning": "c"}), say("d"), end(), DONE)
    starts = [event.key for event in events if isinstance(event, TextStart | ReasoningStart)]
    assert starts == ["reasoning-1", "text-2", "reasoning-3", "text-4"]


# --- calls: how pieces find their call ----------------------------------------------------------------------------

PARIS, ROME = '{"city":"Paris"}', '{"city":"Rome"}'
BOTH = [("a", "w", PARIS), ("b", "w", ROME)]
MINTED = [("minted-0", "w", PARIS), ("minted-1", "w", ROME)]


def pieces(text: str, **address: Any) -> list[bytes]:
    return [t(call(text[:4], **address)), t(call(text[4:], **address))]


ADDRESSED: dict[str, tuple[list[bytes], list[tuple[str, str, str]]]] = {
    "by index": (
        [t(call("", "w", index=0, id="a")), *pieces(PARIS, index=0), t(call("", "w", index=1, id="b")),
         *pieces(ROME, index=1)], BOTH),
    "by index, mixed": (
        [t(call("", "w", index=0, id="a"), call("", "w", index=1, id="b")),
         *(chunk for two in zip(pieces(PARIS, index=0), pieces(ROME, index=1), strict=True) for chunk in two)], BOTH),
    "the same index": (
        [t(call("", "w", index=0, id="a")), *pieces(PARIS, index=0), t(call("", "w", index=0, id="b")),
         *pieces(ROME, index=0)], BOTH),
    "the same index, whole": ([t(call(PARIS, "w", index=0, id="a"), call(ROME, "w", index=0, id="b"))], BOTH),
    "the same index, no ids, whole": ([t(call(PARIS, "w", index=0)), t(call(ROME, "w", index=0))], MINTED),
    "index null": (
        [t(call("", "w", index=None, id="a")), *pieces(PARIS, index=None), t(call("", "w", index=None, id="b")),
         *pieces(ROME, index=None)], BOTH),
    "no index": (
        [t(call("", "w", id="a")), *pieces(PARIS), t(call("", "w", id="b")), *pieces(ROME)], BOTH),
    "no index, no ids": ([t(call("", "w")), *pieces(PARIS), t(call("", "w")), *pieces(ROME)], MINTED),
    "no index, no ids, whole": ([t(call(PARIS, "w"), call(ROME, "w"))], MINTED),
    "no index, empty ids": ([t(call(PARIS, "w", id="")), t(call(ROME, "w", id=""))], MINTED),
    "ids by number": ([t(call(PARIS, "w", index="0", id="a")), t(call(ROME, "w", index="1", id="b"))], BOTH),
    "id null": ([t(call(PARIS, "w", index=0, id=None), call(ROME, "w", index=1, id=None))], MINTED),
    "id and name with every piece": (
        [*pieces(PARIS, index=0, id="a", name="w"), *pieces(ROME, index=1, id="b", name="w")], BOTH),
    "id and name with every piece, no index": (
        [*pieces(PARIS, id="a", name="w"), *pieces(ROME, id="b", name="w")], BOTH),
    "name with every piece, nothing else": ([*pieces(PARIS, name="w"), *pieces(ROME, name="w")], MINTED),
    "found by id again": (
        [t(call("", "w", id="a"), call("", "w", id="b")), t(call(PARIS, id="a")), t(call(ROME, id="b"))], BOTH),
    "the whole call again at the end": (
        [*pieces(PARIS, index=0, id="a", name="w"), t(call(PARIS, "w", index=0, id="a")),
         t(call(ROME, "w", index=1, id="b"))], BOTH),
    "one id for two calls": (
        [t(call(PARIS, "w", index=0, id="a")), t(call(ROME, "w", index=1, id="a"))],
        [("a", "w", PARIS), ("a", "w", ROME)]),
    "one id for two calls, no index": (
        [t(call(PARIS, "w", id="a")), t(call(ROME, "w", id="a"))], [("a", "w", PARIS), ("a", "w", ROME)]),
    "one index for two names": (
        [t(call("", "w", index=0)), t(call("", "x", index=0))], [("minted-0", "w", "{}"), ("minted-1", "x", "{}")]),
    "the id first, the name later": (
        [t({"index": 0, "id": "a"}), t(call('{"city":', index=0)), t(call('"Paris"}', "w", index=0))],
        [("a", "w", PARIS)]),
    "the name first, the id later": (
        [t(call("", "w", index=0)), t(call(PARIS, index=0, id="a")), t(call("", index=0, id="a"))],
        [("minted-0", "w", PARIS)]),
    "a name with every piece, cut behind a brace": (
        [t(call('{"a":{"b":1}', "w", index=0)), t(call(',"c":2}', "w", index=0))],
        [("minted-0", "w", '{"a":{"b":1},"c":2}')]),
    "an empty delta of the same name at the end": (
        [t(call(PARIS, "w", index=0, id="a")), t(call("", "w", index=0))], [("a", "w", PARIS)]),
}  # fmt: skip


@pytest.mark.parametrize("case", ADDRESSED)
@pytest.mark.parametrize("finish", ["tool_calls", "stop", None])
def test_pieces_find_their_call(case: str, finish: str | None) -> None:
    chunks, wanted = ADDRESSED[case]
    events = feed(c({"role": "assistant", "content": None}), *chunks, *([end(finish)] if finish else []), DONE)
    assert calls(events) == wanted
    assert events[-1] == TurnDone()


def test_a_call_without_a_name_is_none() -> None:
    assert feed(t(call(PARIS, index=0, id="a")), end(), DONE) == [TurnDone()]


def test_text_ends_where_calls_begin_and_begins_anew_after_them() -> None:
    events = feed(say("a"), t(call("{}", "w", index=0, id="a")), say("b"), end(), DONE)
    assert [type(event) for event in events] == [
        TextStart, TextDelta, TextEnd, CallStart, TextStart, TextDelta, TextEnd, CallDelta, CallEnd, TurnDone,
    ]  # fmt: skip


# --- calls: arguments ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ([""], "{}"),
        ([None], "{}"),
        ([" \n"], "{}"),
        (["{}"], "{}"),
        (["{", "}"], "{}"),
        ([{}], "{}"),
        ([{"city": "Paris"}], PARIS),
        (["{}", PARIS], PARIS),
        (["{}" + PARIS], PARIS),
        (["{", "}{", PARIS[1:]], PARIS),
        (["{}", "{}", PARIS], PARIS),
        ([PARIS, "{}"], PARIS),
        (["\n", PARIS], PARIS),
        (['{"code":"x = ', "{}", '"}'], '{"code":"x = {}"}'),
        ([PARIS, ROME], PARIS + ROME),
        (['{"city":'], '{"city":'),
        (["nonsense"], "nonsense"),
        (["{"], "{"),
        (["{}x"], "{}x"),
        (["{}", "x"], "{}x"),
        ([[1]], "[1]"),
        ([7], "7"),
    ],
)
def test_arguments(given: list[Any], arguments: str) -> None:
    """What is no JSON object becomes a result that says so; that is the engine's to do."""
    first, *rest = given
    events = feed(
        t(call(first, "w", index=0, id="a")), *(t(call(piece, index=0)) for piece in rest), end("tool_calls"), DONE
    )
    assert calls(events) == [("a", "w", arguments)]


@pytest.mark.parametrize("reason", ["length", "content_filter"])
@pytest.mark.parametrize(
    ("given", "ended"), [(PARIS, True), ("{}", True), ("", False), ('{"city":"Pa', False), ("{", False)]
)
def test_of_an_incomplete_answer_only_whole_calls_count(reason: str, given: str, ended: bool) -> None:
    events = feed(t(call(given, "w", index=0, id="a")), end(reason), DONE)
    assert bool(calls(events)) == ended
    wanted = "max_output_tokens" if reason == "length" else reason
    assert events[-1] == TurnDone("incomplete", wanted)


@shows("B25")
@pytest.mark.parametrize("begun", [[say("a")], [t(call(PARIS, "w", index=0, id="a"))], [c({"reasoning": "a"})], []])
def test_a_stream_that_is_cut_ends_nothing(begun: list[bytes]) -> None:
    """B25: neither finish_reason nor [DONE]."""
    fed = machine()
    events = fed.feed([*begun, t(call(PARIS, "w", index=1, id="b"))]) + fed.end()
    assert not fed.done
    assert not [event for event in events if isinstance(event, CallEnd | TurnDone)]


# --- the end ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("finish", "status", "reason"),
    [
        ("stop", "completed", None),
        ("eos", "completed", None),
        ("max_tokens", "incomplete", "max_output_tokens"),
        ("model_length", "incomplete", "max_output_tokens"),
        ("sensitive", "incomplete", "content_filter"),
    ],
)
def test_finish_reasons(finish: str, status: Any, reason: str | None) -> None:
    assert feed(say("a"), end(finish), DONE)[-1] == TurnDone(status, reason)
    assert feed(say("a"), end(finish), end("stop"), DONE)[-1] == TurnDone(status, reason)


@pytest.mark.parametrize("ending", [[end(), DONE], [end()], [DONE], [b"[DONE] "]])
def test_the_end_is_said_by_either(ending: list[bytes]) -> None:
    assert feed(say("a"), *ending)[-2:] == [TextEnd("text-1"), TurnDone()]


def test_what_follows_the_finish_reason_still_counts() -> None:
    events = feed(c({"content": "a"}, finish="stop"), t(call(PARIS, "w", index=0, id="a")), end("tool_calls"), DONE)
    assert calls(events) == [("a", "w", PARIS)]


def test_what_follows_the_end_is_not_looked_at() -> None:
    assert feed(say("a"), end(), DONE, b"nonsense")[-1] == TurnDone()


def test_a_server_that_never_says_the_end() -> None:
    chunks = [say("a"), t(call(PARIS, "w", index=0, id="a"), call('{"ci', "w", index=1, id="b"))]
    events = feed(*chunks, says_end=False)
    assert calls(events) == [("a", "w", PARIS)]
    assert events[-1] == TurnDone()
    silent = machine(says_end=False)
    assert silent.feed([c({"role": "assistant"})]) + silent.end() == []
    assert not silent.done


def test_an_empty_answer_is_one_only_if_it_says_so() -> None:
    assert feed(c({"role": "assistant"}), end(), DONE) == [TurnDone()]
    assert isinstance(failure(DONE), ProviderUnavailable)


# --- token counts -------------------------------------------------------------------------------------------------

COUNTS = {
    "prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12,
    "prompt_tokens_details": {"cached_tokens": 3}, "completion_tokens_details": {"reasoning_tokens": 2},
}  # fmt: skip
USAGE = Usage("openai", "gpt-1", 7, 5, 12, 3, 2)


@pytest.mark.parametrize(
    "chunks",
    [
        [
            c({"content": "a"}, usage=None),
            end(),
            msgspec.json.encode({"model": "gpt-1", "choices": [], "usage": COUNTS}),
        ],
        [msgspec.json.encode({"choices": []}), say("a"), end(usage=COUNTS)],
        [c({"content": "a"}, usage={**COUNTS, "completion_tokens": 1}), end(usage=COUNTS)],
        [say("a"), end(x_groq={"usage": COUNTS})],
        [say("a"), msgspec.json.encode({"model": "gpt-1", "choices": [{"finish_reason": "stop", "usage": COUNTS}]})],
        [say("a"), end(), msgspec.json.encode({"model": "gpt-1", "usage": COUNTS})],
    ],
    ids=["own chunk", "last chunk", "every chunk", "groq", "kimi", "no choices"],
)
def test_token_counts(chunks: list[bytes]) -> None:
    assert feed(*chunks, DONE)[-1] == TurnDone(usage=USAGE)


def test_partial_token_counts() -> None:
    few = {"prompt_tokens": 7, "completion_tokens": 5, "prompt_cache_hit_tokens": 3}
    assert feed(say("a"), end(usage=few), DONE)[-1] == TurnDone(usage=Usage("openai", "gpt-1", 7, 5, 12, 3))
    assert feed(say("a"), end(usage="many"), DONE)[-1] == TurnDone()


READ = {"prompt_tokens": 10, "completion_tokens": 5}


@conforms("USE-1", "USE-2", "USE-3")
@pytest.mark.parametrize(
    ("said", "counts"),
    [
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, (0, 0)),
        ({**READ, "total_tokens": 999}, (10, 5, 15)),
        ({**READ, "prompt_tokens_details": {"cached_tokens": 0}}, (10, 5, 15, 0)),
        ({**READ, "prompt_tokens_details": {"cached_tokens": None}, "cached_tokens": 4}, (10, 5, 15, 4)),
        ({**READ, "prompt_tokens_details": None, "completion_tokens_details": None}, (10, 5)),
        ({**READ, "prompt_tokens_details": [1]}, (10, 5)),
        ({**READ, "prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 6}}, (10, 5, 15, 3, None, 6)),
        # xAI counts what was thought beside what was said: only its total has it.
        ({**READ, "total_tokens": 18, "completion_tokens_details": {"reasoning_tokens": 3}}, (10, 8, 18, None, 3)),
        ({**READ, "completion_tokens_details": {"reasoning_tokens": 40}}, (10, 45, 55, None, 40)),
        ({"prompt_tokens": 10}, (10, None)),
        ({"prompt_tokens": "10", "completion_tokens": 5.0}, (None, 5)),
        ({"prompt_tokens": -10, "completion_tokens": 5.5}, None),
        ({"prompt_tokens": 2**60, "completion_tokens": 10**30}, None),
        ({}, None), ([10, 5], None), (7, None),
    ],
)  # fmt: skip
def test_odd_counts(said: Any, counts: tuple[Any, ...] | None) -> None:
    done = feed(say("a"), end(usage=said), DONE)[-1]
    assert isinstance(done, TurnDone)
    assert done.usage == (None if counts is None else Usage("openai", "gpt-1", *counts))


# --- errors and nonsense ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        ({"error": {"message": "x", "code": "rate_limit_exceeded"}}, RateLimited),
        ({"error": {"message": "x", "code": 429}}, RateLimited),
        ({"error": {"message": "x", "code": "401"}}, ProviderAuth),
        ({"error": {"message": "x", "type": "authentication_error"}}, ProviderAuth),
        ({"error": {"message": "x", "code": 400}, "choices": [{"finish_reason": "error"}]}, ProviderRejected),
        ({"error": "upstream is gone"}, ProviderUnavailable),
        ({"error": {"message": {"a": 1}, "code": None}}, ProviderUnavailable),
        ({"error": ["?"]}, ProviderUnavailable),
        ({"error": 5, "choices": 7}, ProviderUnavailable),
        ({"object": "error", "message": "This model's maximum context length is 8", "code": 400}, ContextLength),
        ({"code": 502, "message": "bad gateway"}, ProviderUnavailable),
        ({"detail": "Internal server error"}, ProviderUnavailable),
        ({"choices": [{"delta": {}, "finish_reason": "insufficient_system_resource"}]}, ProviderUnavailable),
    ],
)  # fmt: skip
def test_errors(payload: Json, error: type[Exception]) -> None:
    assert type(failure(msgspec.json.encode(payload), say("never"))) is error


@pytest.mark.parametrize(
    "payload",
    [b"<html>", b"Internal error", b'{"choices":[{"delta":{"content":"', b'{"choices":[{"delta":{"content":"\xff"}}]}'],
)
def test_what_is_no_json_is_an_error(payload: bytes) -> None:
    assert isinstance(failure(payload), ProviderUnavailable)


@pytest.mark.parametrize(
    "payload",
    [
        {}, [], 3, None, {"choices": None}, {"choices": []}, {"choices": 3}, {"choices": [3]}, {"choices": [{}]},
        {"choices": [{"delta": None}]}, {"choices": [{"delta": []}]}, {"choices": [{"delta": {"content": 3}}]},
        {"choices": [{"delta": {"tool_calls": [3]}}]}, {"choices": [{"delta": {"tool_calls": {}}}]},
        {"choices": [{"delta": {"tool_calls": [{"function": []}]}}]}, {"error": None}, {"usage": 3},
        {"choices": [{"delta": {"reasoning_details": ["x"]}}], "error": None},
        {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
    ],
    ids=str,
)  # fmt: skip
def test_what_can_t_be_read_is_as_if_absent(payload: Any) -> None:
    events = feed(msgspec.json.encode(payload), say("a"), end(), DONE)
    assert events == [TextStart("text-1"), TextDelta("text-1", "a"), TextEnd("text-1"), TurnDone()]


def test_a_wrong_member_does_not_cost_the_others() -> None:
    odd = {"choices": [{"index": "0", "delta": {"content": "a", "reasoning": 5, "tool_calls": None}, "logprobs": 1}]}
    assert TextDelta("text-1", "a") in feed(msgspec.json.encode(odd), end(), DONE)


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 500) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "delta", "content", "tool_calls", "index", "id", "function", "name", "arguments", "usage",
                 "finish_reason", "reasoning", "reasoning_details", "text", "error", "message", "type"]
            ), inner, max_size=4,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@given(st.lists(_json, max_size=6))
def test_nothing_a_server_sends_breaks_it(payloads: list[Any]) -> None:
    wrapped = [{"choices": [{"delta": payload}]} if number % 2 else payload for number, payload in enumerate(payloads)]
    fed = machine()
    events = fed.feed([*map(msgspec.json.encode, wrapped), DONE])
    assert fed.done != (fed.failure is not None)
    assert sum(isinstance(event, TurnDone) for event in events) == fed.done
    calls(events)
