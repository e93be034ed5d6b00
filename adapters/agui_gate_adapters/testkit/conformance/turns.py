"""The adapter by itself: one turn, its events, and how it ends."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
import pytest

from agui_gate.adapter import (
    Adapter,
    CallDelta,
    CallEnd,
    CallStart,
    ConversationRef,
    ModelEvent,
    OutputSpec,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    Text,
    TextDelta,
    TextEnd,
    TextStart,
    ToolSpec,
    TurnDone,
    TurnRequest,
    UserTurn,
    tells_output,
)
from agui_gate.errors import ProviderError
from agui_gate_adapters.testkit.conformance.ground import Suite, call, say, think, turn
from agui_gate_adapters.testkit.server import serve

TIMEOUT = 60.0
WEATHER = ToolSpec("weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}})
ASK = TurnRequest((UserTurn("u1", (Text("What is the weather?"),)),), "Be brief.", (WEATHER,))
FORM = OutputSpec(
    "Place",
    {
        "type": "object",
        "title": "Place",
        "properties": {"town": {"type": "string", "minLength": 1}, "of": {"$ref": "#/$defs/Land", "default": {}}},
        "$defs": {"Land": {"type": "object", "properties": {"name": {"type": "string", "default": "France"}}}},
    },
)
PARIS, ROME = call("weather", city="Paris"), call("weather", city="Rome — «à»")
LONG = {"type": "message", "deltas": ["Sun", "ny — ", "and wärm", "er than 20 °C 🌞."]}
"""Text that has characters of two, three and four bytes."""


class Watched:
    """An adapter of which is kept what it was given to go on from."""

    def __init__(self, adapter: Adapter, refs: list[ConversationRef | None]) -> None:
        self._adapter, self._refs = adapter, refs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapter, name)

    def stream(self, request: TurnRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """One turn of it."""
        self._refs.append(request.ref)
        return self._adapter.stream(request)


class Turns(Suite):
    """One turn at a time."""

    async def turn_of(self, *turns: Any, **options: Any) -> list[ModelEvent]:
        """The events of one turn. Raises what the adapter raises."""
        emulator = self.emulator(list(turns))
        for name, value in options.items():
            setattr(emulator, name, value)
        async with serve(emulator) as base_url:
            adapter = self.make_adapter(base_url)
            try:
                return await _events(adapter, ASK)
            finally:
                await adapter.aclose()

    async def test_text_comes_once_and_as_it_was_said(self) -> None:
        """B13."""
        events = await self.turn_of(turn(LONG))
        assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "".join(LONG["deltas"])
        assert [type(e) for e in events if isinstance(e, TextStart | TextEnd)] == [TextStart, TextEnd]
        _check_form(events)

    async def test_text_of_one_delta_is_shown_once(self) -> None:
        """B13: some servers say all at once."""
        events = await self.turn_of(turn({"type": "message", "text": "All of it.", "deltas": ["All of it."]}))
        assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "All of it."

    @pytest.mark.parametrize("chunk", [1, 7, "whole", "random"])
    async def test_where_the_network_cuts_means_nothing(self, chunk: Any) -> None:
        """Lines, UTF-8 characters and JSON are cut anywhere."""
        items = [think(), LONG, PARIS, ROME] if self.reasons else [LONG, PARIS, ROME]
        whole = await self.turn_of(turn(*items))
        cut = await self.turn_of(turn(*items, chunk=chunk))
        assert _said(cut) == _said(whole)

    @pytest.mark.parametrize("tools", [(WEATHER,), ()], ids=["tools", "no_tools"])
    async def test_a_form_of_the_answer_that_it_says_it_can_tell_is_told_and_taken(self, tools: Any) -> None:
        """Whatever the schema has: the provider takes a part of JSON Schema."""
        emulator = self.emulator([turn(say('{"town": "Paris", "of": {"name": "France"}}'))])
        async with serve(emulator) as base_url:
            adapter = self.make_adapter(base_url)
            try:
                told = tells_output(adapter, FORM, tools=bool(tools))
                events = await _events(
                    adapter, msgspec.structs.replace(ASK, tools=tools, output=FORM if told else None)
                )
            finally:
                await adapter.aclose()
        assert '"Paris"' in "".join(e.text for e in events if isinstance(e, TextDelta))
        assert not emulator.refusals
        assert ("town" in json.dumps(emulator.accepted[-1].body)) == told

    async def test_calls_are_complete(self) -> None:
        """Parallel calls keep apart; ids, names and arguments are what the model said."""
        events = await self.turn_of(turn(say("Let me see."), PARIS, ROME))
        starts = [e for e in events if isinstance(e, CallStart)]
        ends = [e for e in events if isinstance(e, CallEnd)]
        assert [e.name for e in starts] == ["weather", "weather"]
        assert len({e.wire_id for e in starts}) == 2
        assert [json.loads(e.arguments) for e in ends] == [PARIS["arguments"], ROME["arguments"]]
        for end in ends:
            assert "".join(e.text for e in events if isinstance(e, CallDelta) and e.key == end.key) == end.arguments
        _check_form(events)

    async def test_a_call_without_arguments_has_an_empty_object(self) -> None:
        """Not an empty text, which is no JSON."""
        events = await self.turn_of(turn(call("weather")))
        assert [json.loads(e.arguments) for e in events if isinstance(e, CallEnd)] == [{}]

    async def test_reasoning_is_shown(self) -> None:
        """S20."""
        if not self.reasons:
            pytest.skip("this provider has no reasoning")
        events = await self.turn_of(turn(think("First this."), say("Sunny.")))
        assert "".join(e.text for e in events if isinstance(e, ReasoningDelta)) == "First this."
        assert [type(e) for e in events if isinstance(e, ReasoningStart | ReasoningEnd)] == [
            ReasoningStart,
            ReasoningEnd,
        ]
        _check_form(events)

    async def test_usage_is_reported(self) -> None:
        """Counts of the response, the total among them."""
        *_, done = await self.turn_of(turn(LONG))
        assert isinstance(done, TurnDone)
        assert done.usage is not None
        read, written = done.usage.input_tokens, done.usage.output_tokens
        assert read
        assert written
        assert done.usage.total_tokens == read + written

    async def test_a_turn_that_a_limit_cut_says_so_and_ends_no_half_call(self) -> None:
        """B25: what the limit cut is never run."""
        if not self.finish_reason:
            pytest.skip("this provider doesn't say why an answer ended")
        half = PARIS if self.object_arguments else {**PARIS, "arguments": '{"city": "Par'}
        events = await self.turn_of(turn(say("Let me see."), half, status="incomplete"))
        done = events[-1]
        assert isinstance(done, TurnDone)
        assert (done.status, bool(done.reason)) == ("incomplete", True)
        assert not [e for e in events if isinstance(e, CallEnd)]

    @pytest.mark.parametrize("clean", [False, True])
    @pytest.mark.parametrize("after", [4, 6, 8])
    async def test_a_stream_that_is_cut_ends_no_call(self, after: int, clean: bool) -> None:
        """B25: the connection drops, or ends properly without the end of the answer."""
        if self.object_arguments and after > 4:
            pytest.skip("arguments come whole on this wire")
        letters = json.dumps(PARIS["arguments"])
        cut = turn(
            say("I"),
            {**PARIS, "deltas": list(letters)},
            fault={"kind": "cut", "after_events": after, "clean": clean, "times": 2},
        )
        seen: list[ModelEvent] = []
        with pytest.raises(ProviderError):
            await self._watch(cut, seen)
        assert not [e for e in seen if isinstance(e, CallEnd | TurnDone)]

    async def _watch(self, scripted: Any, seen: list[ModelEvent]) -> None:
        async with serve(self.emulator([scripted])) as base_url:
            adapter = self.make_adapter(base_url)
            try:
                with anyio.fail_after(TIMEOUT):
                    async with aclosing(adapter.stream(ASK)) as batches:
                        async for batch in batches:
                            seen += batch
            finally:
                await adapter.aclose()

    async def test_a_second_turn_goes_on_from_what_the_provider_remembers(self) -> None:
        """S2: it is an optimisation, so nothing else tells whether it ever happens."""
        make = self.make_adapter
        refs: list[ConversationRef | None] = []

        def watched(base_url: str) -> Watched:
            return Watched(make(base_url), refs)

        setattr(self, "make_adapter", watched)  # noqa: B010  of this test alone
        async with self.ground([], [turn(say("Yes."), repeat=True)]) as ground:
            client = ground.client()
            for text in ("one", "two"):
                assert (await client.say(text)).text == "Yes."
            origin = ground.agent.adapter.origin
        goes_on = refs[0] is None and refs[1] is not None and refs[1].origin == origin
        assert goes_on == self.continues, f"`continues` is {self.continues}, the second turn's ref is {refs[1]}"

    async def test_leaving_closes_the_stream_at_the_provider(self) -> None:
        """Closing the generator is closing the request."""
        words = {"type": "message", "text": "word " * 100, "deltas": ["word "] * 100}  # events of any API, in plenty
        emulator = self.emulator([turn(words, fault={"kind": "hang", "after_events": 6})])
        async with serve(emulator) as base_url:
            adapter = self.make_adapter(base_url)
            with anyio.fail_after(TIMEOUT):
                async with aclosing(adapter.stream(ASK)) as batches:
                    await anext(batches)
                while emulator.accepted[0].ended is None:
                    await anyio.lowlevel.checkpoint()
            await adapter.aclose()
        assert emulator.accepted[0].ended == "aborted"

    async def test_one_adapter_serves_many_turns_at_once(self) -> None:
        """Nothing of a turn is kept in the adapter."""
        async with serve(self.emulator([turn(LONG, PARIS, repeat=True)])) as base_url:
            adapter = self.make_adapter(base_url)
            runs: list[list[ModelEvent]] = []

            async def one() -> None:
                runs.append(await _events(adapter, ASK))

            async with anyio.create_task_group() as group:
                for _ in range(8):
                    group.start_soon(one)
            await adapter.aclose()
        assert {tuple(_said(run)) for run in runs} == {tuple(_said(runs[0]))}

    async def test_the_doctor_says_whether_it_works(self) -> None:
        """`check` never raises, and names a fix where one is needed."""
        async with serve(self.emulator([])) as base_url:
            adapter = self.make_adapter(base_url)
            well = await adapter.check()
            await adapter.aclose()
        gone = self.make_adapter(base_url)
        ill = await gone.check()
        await gone.aclose()
        await gone.aclose()
        assert all(finding.ok for finding in well), well
        assert [f for f in ill if not f.ok and f.fix], ill
        assert "Traceback" not in str(ill)

    async def test_the_origin_names_the_model_and_no_secret(self) -> None:
        """Private parts are kept under it."""
        first, second = self.make_adapter("http://127.0.0.1:9/v1"), self.make_adapter("http://127.0.0.1:9/v1")
        assert first.origin == second.origin
        assert first.origin != self.make_adapter("http://127.0.0.1:10/v1").origin
        assert "@" not in first.origin


async def _events(adapter: Any, request: TurnRequest) -> list[ModelEvent]:
    events: list[ModelEvent] = []
    with anyio.fail_after(TIMEOUT):
        async with aclosing(adapter.stream(request)) as batches:
            async for batch in batches:
                assert batch, "an empty batch"
                events += batch
    return events


def _check_form(events: Sequence[ModelEvent]) -> None:
    """Each item starts once, gets deltas while it is open, and ends once; the turn's end is the last event."""
    opened: set[str] = set()
    closed: set[str] = set()
    for event in events:
        match event:
            case TextStart() | ReasoningStart() | CallStart():
                assert event.key not in opened
                opened.add(event.key)
            case TextDelta() | ReasoningDelta() | CallDelta():
                assert event.key in opened - closed
            case TextEnd() | ReasoningEnd() | CallEnd():
                assert event.key in opened - closed
                closed.add(event.key)
            case _:
                pass
    assert opened == closed
    assert [e for e in events if isinstance(e, TurnDone)] == [events[-1]]


def _said(events: Sequence[ModelEvent]) -> list[tuple[str, str]]:
    """What was said, however it was cut: kind and text of each item, in order."""
    kinds: dict[str, list[str]] = {}
    for event in events:
        if isinstance(event, TextDelta | ReasoningDelta | CallDelta):
            kinds.setdefault(event.key, [type(event).__name__, ""])[1] += event.text
    return [(kind, text) for kind, text in kinds.values()]
