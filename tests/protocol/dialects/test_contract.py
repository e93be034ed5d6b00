"""What holds for every dialect: each stream of each kind of run is legal and says what is true.

The engine runs with a third dialect as with the two that there are, and not a line of it knows that.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import pytest

from agui_gate import Agent, Gate, adapter, tool
from agui_gate.bus.base import Reader
from agui_gate.core.transcript import CardClosedEntry
from agui_gate.errors import ProviderUnavailable
from agui_gate.protocol.dialects.base import Choice, Deployment
from agui_gate.protocol.request_decoder import decode
from agui_gate.protocol.run_input import RunInput
from agui_gate.runs.engine import Engine
from agui_gate.runs.live_run import LiveRun
from agui_gate.stores.memory import MemoryStore
from agui_gate_adapters.testkit.spec import assert_conforms
from tests.conforming import DEPARTURES
from tests.product.inprocess import Parrot, calls, run_body, says, user
from tests.product.shop import COLOR
from tests.protocol.dialects.third import VERSION, ByVersion, translated

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
CARD = {"name": "confirm_changes", "description": "Ask.", "parameters": {"type": "object", "properties": {}}}
DONE = adapter.TurnDone(usage=adapter.Usage("p", "m", 3, 2, 5))
GATED = calls("refund", {"order_id": "A1"}, "c1", "1")
FREE = calls("look", {}, "c2", "2")
THEIRS = calls("pick_color", {}, "c3", "3")
TASK = calls("clerk", {"task": "Refund it."}, "c4", "4")


class Kind(NamedTuple):
    """A dialect: who chooses it, what its clients declare, and its streams as the judge reads them."""

    choice: Choice
    version: str | None = "1.0"
    read: Callable[[str], str] = str


KINDS = {
    "0.x": Kind(Deployment.AUTO, None),
    "1.x": Kind(Deployment.AUTO),
    "1.x with extras": Kind(Deployment.V1),
    "2.x": Kind(ByVersion(), VERSION, translated),
    "1.x beside 2.x": Kind(ByVersion()),
}
kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


class Room:
    """An engine whose model says ``turns``, whose sub-agent says ``task``; and one thread."""

    def __init__(self, kind: Kind, turns: Sequence[Any], task: Sequence[Any] = ()) -> None:
        self.going = asyncio.Event()
        self.going.set()
        going = self.going

        @tool(gate=Gate())
        async def refund(order_id: str) -> str:
            """Refund an order."""
            await going.wait()
            return "refunded"

        @tool
        async def look() -> str:
            """Look."""
            await going.wait()
            return "seen"

        clerk = Agent(name="clerk", model=Parrot(task), tools=[refund])
        self.agent = Agent(name="a", model=Parrot(turns), tools=[refund, look, clerk.as_tool()])
        self.kind, self.store = kind, MemoryStore()
        self.engine = Engine([self.agent], self.store, kind.choice)
        self.runs = 0

    async def begin(self, *messages: Json, **more: Any) -> tuple[LiveRun, Json]:
        run, body = self.request(*messages, **more)
        return await self.engine.run(self.agent, run, "p"), body

    def request(self, *messages: Json, **more: Any) -> tuple[RunInput, Json]:
        self.runs += 1
        said = {} if self.kind.version is None else {"protocolVersion": self.kind.version}
        body = run_body("t", *messages, **{"runId": f"r{self.runs}", **said, **more})
        return decode(json.dumps(body).encode()), body

    async def say(self, *messages: Json, **more: Any) -> list[Json]:
        """The events of a whole run, in the words of the judge."""
        live, body = await self.begin(*messages, **more)
        return await self.whole(live, body)

    async def whole(self, live: LiveRun, body: Json) -> list[Json]:
        reader = await self.engine.read(live.key, -1)
        assert reader is not None
        return await self.judged(reader, body)

    async def connect(self, **more: Any) -> list[Json]:
        """The events for who comes back to the thread, at rest."""
        return await self.judged(*await self.join(**more))

    async def join(self, **more: Any) -> tuple[Reader, Json]:
        run, body = self.request(**more)
        return (await self.engine.connect(self.agent, run, "p")).reader, body

    async def judged(self, reader: Reader, body: Json) -> list[Json]:
        """The stream keeps every rule of the specification."""
        raw = ""
        while data := await reader.read():
            raw += data.decode()
        told = self.kind.read(raw)
        assert_conforms(told, input=body, departs=DEPARTURES)
        return [json.loads(frame.split("\ndata: ", 1)[1]) for frame in told.split("\n\n") if "\ndata: " in frame]


@asynccontextmanager
async def room(kind: Kind, turns: Sequence[Any], task: Sequence[Any] = ()) -> AsyncIterator[Room]:
    at = Room(kind, turns, task)
    await at.engine.start()
    try:
        async with asyncio.timeout(60):
            yield at
    finally:
        at.going.set()
        await at.engine.aclose()


def questions(stream: list[Json]) -> list[Json]:
    """What a run asked by interrupt."""
    asked: list[Json] = stream[-1]["outcome"]["interrupts"]
    return asked


def resumed(asked: list[Json], approved: bool = True) -> list[Json]:
    return [{"interruptId": one["id"], "status": "resolved", "payload": {"approved": approved}} for one in asked]


def cards(stream: list[Json]) -> list[str]:
    started = [event for event in stream if event["type"] == "TOOL_CALL_START"]
    return [event["toolCallId"] for event in started if event["toolCallName"] == "confirm_changes"]


def answer(call_id: str, content: Any) -> Json:
    text = content if isinstance(content, str) else json.dumps(content)
    return {"id": f"answer-{call_id}", "role": "tool", "toolCallId": call_id, "content": text}


def contents(stream: list[Json]) -> list[str]:
    """What calls came to, told by results or by the newest snapshot."""
    told = [event["content"] for event in stream if event["type"] == "TOOL_CALL_RESULT"]
    snapshots = [event["messages"] for event in stream if event["type"] == "MESSAGES_SNAPSHOT"]
    return told + [m["content"] for m in (snapshots or [[]])[-1] if m["role"] == "tool"]


def names(stream: list[Json]) -> list[str]:
    """The tools whose calls were streamed."""
    return [event["toolCallName"] for event in stream if event["type"] == "TOOL_CALL_START"]


def is_stopped(end: Json, kind: Kind) -> bool:
    if kind.version is None:
        return (end["type"], end.get("code")) == ("RUN_ERROR", "abort")
    return (end["type"], end.get("outcome")) == ("RUN_FINISHED", {"type": "cancelled"})


@kinds
async def test_words_and_free_calls(kind: Kind) -> None:
    async with room(kind, [[*says("Well."), *FREE, DONE], [*says("Done."), DONE]]) as at:
        stream = await at.say(user("go", "u1"))
        assert stream[-1]["type"] == "RUN_FINISHED"
        assert contents(stream) == ["seen"]
        rest = await at.connect()
        assert [m["role"] for m in rest[1]["messages"]] == ["user", "assistant", "tool", "assistant"]
        assert rest[-1]["type"] == "RUN_FINISHED"


@kinds
@pytest.mark.parametrize("approved", [True, False])
async def test_asked_by_interrupt(kind: Kind, approved: bool) -> None:
    async with room(kind, [[*says("Well."), *GATED, DONE], [*says("Done."), DONE]]) as at:
        asked = questions(await at.say(user("go", "u1")))
        assert questions(await at.connect())[0]["id"] == asked[0]["id"]
        record = await at.store.approval("p", asked[0]["id"])
        assert record is not None
        assert record.protocol_version == kind.version, "by which a run goes on that nobody's request begins"
        stream = await at.say(resume=resumed(asked, approved))
        assert ("refunded" in contents(stream)) is approved
        assert stream[-1]["type"] == "RUN_FINISHED"
        assert [m["role"] for m in (await at.connect())[1]["messages"]] == ["user", "assistant", "tool", "assistant"]


@kinds
async def test_asked_by_card(kind: Kind) -> None:
    async with room(kind, [[*says("Well."), *GATED, DONE], [*says("Done."), DONE]]) as at:
        asked = await at.say(user("go", "u1"), tools=[CARD])
        (card,) = cards(asked)
        again = await at.connect(tools=[CARD])
        assert card in json.dumps(again[1]["messages"])
        assert again[-1].get("outcome", {}).get("type") != "interrupt"
        stream = await at.say(user("go", "u1"), answer(card, {"accepted": True}), tools=[CARD])
        assert "refunded" in contents(stream)
        assert names([*asked, *stream]).count("refund") == 1, "before or after it was decided"


@kinds
async def test_a_card_ends_where_it_is_asked_again(kind: Kind) -> None:
    async with room(kind, [[*says("Well."), *GATED, DONE]]) as at:
        (card,) = cards(await at.say(user("go", "u1"), tools=[CARD]))
        await at.say(user("go", "u1"))
        thread = await at.store.read_thread("p", "t")
        assert thread is not None
        closed = [entry.card_id for entry in thread.entries if isinstance(entry, CardClosedEntry)]
        assert closed == ([] if kind.version is None else [card]), "in 0.x a new card alone ends an older one"


@kinds
@pytest.mark.parametrize("tools", [[], [CARD]], ids=["interrupt", "card"])
async def test_nobody_answers(kind: Kind, tools: list[Json]) -> None:
    async with room(kind, [[*says("Well."), *GATED, DONE], [*says("Done."), DONE]]) as at:
        await at.say(user("go", "u1"), tools=tools)
        stream = await at.say(user("go", "u1"), user("never mind", "u2"), tools=tools)
        assert stream[-1]["type"] == "RUN_FINISHED"
        assert "refunded" not in contents(stream)


@kinds
async def test_a_call_of_the_page(kind: Kind) -> None:
    async with room(kind, [[*THEIRS, DONE], [*THEIRS, DONE], [*says("Done."), DONE]]) as at:
        stream = await at.say(user("go", "u1"), tools=[COLOR])
        (call,) = [event["toolCallId"] for event in stream if event["type"] == "TOOL_CALL_START"]
        await at.say(user("go", "u1"), answer(call, "red"), tools=[COLOR])
        stream = await at.say(user("go", "u1"), user("never mind", "u2"), tools=[COLOR])
        assert stream[-1]["type"] == "RUN_FINISHED"
        told = [event["type"] for event in stream]
        assert ("TOOL_CALL_RESULT" in told, "MESSAGES_SNAPSHOT" in told) == (
            kind.version is None,
            kind.version is not None,
        )
        assert await at.connect(tools=[COLOR])


@kinds
async def test_a_gated_call_beside_one_of_the_page(kind: Kind) -> None:
    async with room(kind, [[*GATED, *FREE, *THEIRS, DONE], [*says("Done."), DONE]]) as at:
        end = (await at.say(user("go", "u1"), tools=[COLOR]))[-1]
        assert (end.get("outcome", {}).get("type") == "interrupt") is (kind.version is not None), "INT-1"
        assert await at.connect(tools=[COLOR])
        stream = await at.say(user("go", "u1"), user("never mind", "u2"), tools=[COLOR])
        assert stream[-1]["type"] == "RUN_FINISHED"


@kinds
@pytest.mark.parametrize("tools", [[], [CARD], [COLOR], [CARD, COLOR]], ids=["none", "card", "tool", "both"])
async def test_a_task_that_asks(kind: Kind, tools: list[Json]) -> None:
    task = [[*says("Hm."), *GATED, DONE], [*says("It is done."), DONE]]
    async with room(kind, [[*says("Well."), *TASK, DONE], [*says("Done."), DONE]], task) as at:
        asked = await at.say(user("go", "u1"), tools=tools)
        assert await at.connect(tools=tools)
        if CARD in tools:
            stream = await at.say(user("go", "u1"), answer(cards(asked)[0], {"accepted": True}), tools=tools)
        else:
            stream = await at.say(user("go", "u1"), tools=tools, resume=resumed(questions(asked)))
        assert {"refunded", "It is done."} <= set(contents(stream))
        assert await at.connect(tools=tools)


@kinds
async def test_stopped_while_a_tool_is_at_work(kind: Kind) -> None:
    async with room(kind, [[*says("Well."), *FREE, DONE]]) as at:
        at.going.clear()
        live, body = await at.begin(user("go", "u1"))
        joined, _ = await at.join()
        live.cancel()
        assert is_stopped((await at.whole(live, body))[-1], kind)
        assert is_stopped((await at.judged(joined, body))[-1], kind)
        assert is_stopped((await at.connect())[-1], kind)


@kinds
@pytest.mark.parametrize("other", [None, "1.0"], ids=["of 0.x", "of 1.x"])
async def test_who_joins_a_run_is_told_by_its_own_rules(kind: Kind, other: str | None) -> None:
    async with room(Kind(kind.choice, other), [[*GATED, DONE], [*FREE, DONE], [*says("Done."), DONE]]) as at:
        asked = await at.say(user("go", "u1"))
        at.going.clear()
        _, body = await at.begin(resume=resumed(questions(asked)))
        at.kind = kind
        joined, _ = await at.join()
        at.going.set()
        told = await at.judged(joined, body)
        assert told[-1]["type"] == "RUN_FINISHED"
        assert {"refunded", "seen"} <= set(contents(told))
        await at.connect()


@kinds
@pytest.mark.parametrize("other", [None, "1.0"], ids=["of 0.x", "of 1.x"])
async def test_who_joins_a_run_that_is_stopped(kind: Kind, other: str | None) -> None:
    async with room(Kind(kind.choice, other), [[*says("Well."), *FREE, DONE]]) as at:
        at.going.clear()
        live, body = await at.begin(user("go", "u1"))
        at.kind = kind
        joined, _ = await at.join()
        live.cancel()
        assert is_stopped((await at.judged(joined, body))[-1], kind)


@kinds
async def test_a_limit_and_a_failure(kind: Kind) -> None:
    cut = [*says("Well."), adapter.TurnDone("incomplete", "max_tokens")]
    async with room(kind, [cut, [*says("Well."), *GATED, *FREE, ProviderUnavailable("Away.")]]) as at:
        end = (await at.say(user("go", "u1")))[-1]
        assert end["type"] == "RUN_FINISHED"
        assert "max_tokens" in json.dumps(end) or end["outcome"] == {"type": "cancelled"}
        end = (await at.say(user("go", "u1"), user("again", "u2")))[-1]
        assert (end["type"], end["code"]) == ("RUN_ERROR", "provider_unavailable")
        assert (await at.connect())[-1]["type"] == "RUN_ERROR"


@kinds
async def test_the_process_ends(kind: Kind) -> None:
    async with room(kind, [[*says("Well."), *FREE, DONE]]) as at:
        at.going.clear()
        live, body = await at.begin(user("go", "u1"))
        await asyncio.sleep(0)
        live.cancel(draining=True)
        end = (await at.whole(live, body))[-1]
        assert (end["type"], end["code"]) == ("RUN_ERROR", "abort" if kind.version is None else "unavailable")


async def test_only_the_extras_name_what_is_left_open() -> None:
    told = {}
    for name, kind in KINDS.items():
        async with room(kind, [[*THEIRS, DONE]]) as at:
            end = (await at.say(user("go", "u1"), tools=[COLOR]))[-1]
            told[name] = bool(end.get("outcome", {}).get("pendingToolCallIds"))
    assert told == {name: name in ("1.x with extras", "2.x") for name in KINDS}
