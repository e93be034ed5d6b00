"""Tools of every kind: what they return, how they fail, how long they take, what they may know and change."""

import asyncio
import dataclasses
import datetime as dt
import decimal
import enum
import json
import threading
import uuid

import pydantic
import pytest

from agui_gate import Gate, ToolContext, ToolError, tool
from tests.product.kit import MODES, TIMEOUT, activities, product
from tests.product.shop import SEARCH, Shop, call, outputs, refund, script
from tests.requirements import shows

pytestmark = pytest.mark.anyio


class Colour(enum.Enum):
    RED = "red"


class Order(pydantic.BaseModel):
    id: str
    placed: dt.date


@dataclasses.dataclass
class Point:
    x: int
    y: float


VALUES = {
    "text": ("as it is", "as it is"),
    "empty text": ("", ""),
    "none": (None, None),
    "number": (1.5, 1.5),
    "big number": (2**70, 2**70),
    "boolean": (True, True),
    "list": ([1, "a", None], [1, "a", None]),
    "tuple": ((1, 2), [1, 2]),
    "set": ({1}, [1]),
    "dict": ({"a": {"b": [1]}}, {"a": {"b": [1]}}),
    "model": (Order(id="A1", placed=dt.date(2026, 1, 2)), {"id": "A1", "placed": "2026-01-02"}),
    "dataclass": (Point(1, 2.5), {"x": 1, "y": 2.5}),
    "date": (dt.datetime(2026, 1, 2, tzinfo=dt.UTC), "2026-01-02T00:00:00Z"),
    "decimal": (decimal.Decimal("1.10"), "1.10"),
    "uuid": (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    "enum": (Colour.RED, "red"),
    "odd text": ("a\x00b\u2028😀", "a\x00b\u2028😀"),
    "nested models": ([Order(id="A1", placed=dt.date(2026, 1, 2))], [{"id": "A1", "placed": "2026-01-02"}]),
}
NOT_JSON = {
    "surrogate": "\ud800",
    "surrogate inside": {"a": "\ud800"},
    "not a number": float("nan"),
    "an object": object(),
    "bytes": b"\xff",
    "a cycle": [],
    "odd keys": {(1, 2): 3},
    "a generator": (i for i in range(3)),
}
NOT_JSON["a cycle"].append(NOT_JSON["a cycle"])


@shows("B14", "S10")
@pytest.mark.parametrize("kind", VALUES)
async def test_what_a_tool_returns_is_what_everybody_gets(kind: str) -> None:
    value, expected = VALUES[kind]

    @tool
    def give() -> object:
        """Give."""
        return value

    async with product([give], script(call("give"))) as p:
        stream = await p.chat().say("go")
        (content,) = stream.results.values()
        assert content == expected if isinstance(value, str) else json.loads(content) == expected
        assert outputs(p.inputs()[-1]) == [content]
        p.assert_clean()


@shows("B14", "S10")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", NOT_JSON)
async def test_what_is_no_json_still_ends_the_call(mode: str, kind: str) -> None:
    @tool
    def give() -> object:
        """Give."""
        return NOT_JSON[kind]

    async with product([give], script(call("give")), mode=mode, store="memory://") as p:
        chat = p.chat()
        stream = await chat.say("go")
        assert len(stream.results) == 1
        assert stream.text == "Done."
        assert (await chat.say("more")).text == "Done."
        p.assert_clean()


@shows("B19", "S10")
@pytest.mark.parametrize("mode", MODES)
async def test_tools_that_raise(mode: str) -> None:
    @tool
    async def knows() -> str:
        """Raises on purpose."""
        raise ToolError("There is no order A1. \ud800")

    @tool
    def breaks() -> str:
        """Raises by accident."""
        raise RuntimeError("password=hunter2")

    @tool
    def exits() -> str:
        """Wants the process to end."""
        raise SystemExit(3)

    @tool
    def stops() -> str:
        """Raises what a future can't carry."""
        raise StopIteration("x")

    names = ("knows", "breaks", "exits", "stops", "missing")
    turns = script(*(call(name) for name in names))
    async with product([knows, breaks, exits, stops], turns, mode=mode) as p:
        chat = p.chat()
        stream = await chat.say("go")
        by_name = {stream.calls[i]: json.loads(content) for i, content in stream.results.items()}
        assert by_name["knows"]["error"] == "There is no order A1. ?"
        assert {name: by_name[name]["status"] for name in names} == dict.fromkeys(names, "error")
        assert "hunter2" not in stream.raw
        assert "RuntimeError" in by_name["breaks"]["error"]
        assert stream.text == "Done."
        assert len(outputs(p.inputs()[-1])) == len(names)
        assert (await chat.say("more")).text == "Done."
        p.assert_clean()


@shows("S32", "B9")
@pytest.mark.parametrize("mode", MODES)
async def test_time_limits(mode: str) -> None:
    release = threading.Event()
    stopped = []

    @tool(timeout=0.05)
    async def slow() -> str:
        """Takes for ever."""
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append("slow")
        return "never"

    @tool(timeout=0.05)
    def stubborn() -> str:
        """Can't be stopped."""
        release.wait(TIMEOUT)
        return "too late"

    @tool
    async def raises() -> str:
        """Raises a TimeoutError of its own."""
        raise TimeoutError("inner secret")

    tools = [slow, stubborn, raises]
    async with product(tools, script(*(call(t.name) for t in tools)), mode=mode) as p:
        chat = p.chat()
        stream = await chat.say("go")
        release.set()
        by_name = {stream.calls[i]: json.loads(content)["error"] for i, content in stream.results.items()}
        assert by_name["slow"] == "slow did not finish within 0.05 seconds."
        assert by_name["stubborn"] == "stubborn did not finish within 0.05 seconds."
        assert by_name["raises"] == "raises failed: TimeoutError."
        assert stopped == ["slow"]
        assert (await chat.say("more")).text == "Done."
        assert "too late" not in json.dumps(p.inputs())
        p.assert_clean()


@shows("B4")
async def test_a_blocking_tool_does_not_block_the_server() -> None:
    begun, release = threading.Event(), threading.Event()

    @tool
    def block() -> str:
        """Blocks its thread."""
        begun.set()
        assert release.wait(TIMEOUT)
        return "done"

    async with product([block], script(call("block"))) as p:
        chat = p.chat()
        running = asyncio.ensure_future(chat.say("go"))
        async with asyncio.timeout(TIMEOUT):
            assert await asyncio.to_thread(begun.wait, TIMEOUT)
            assert (await p.get("/healthz"))["status"] == "ok"
            release.set()
            assert (await running).text == "Done."


@shows("B4", "S10")
@pytest.mark.parametrize("mode", MODES)
async def test_free_tools_of_a_turn_run_side_by_side(mode: str) -> None:
    meeting = asyncio.Barrier(3)

    @tool
    async def meet(who: str) -> str:
        """Waits for the two others."""
        async with asyncio.timeout(TIMEOUT):
            await meeting.wait()
        return who

    async with product([meet], script(*(call("meet", who=w) for w in "abc")), mode=mode, store="memory://") as p:
        stream = await p.chat().say("go")
        assert sorted(stream.results.values()) == ["a", "b", "c"]
        assert outputs(p.inputs()[-1]) == ["a", "b", "c"]
        p.assert_clean()


@shows("B15")
@pytest.mark.parametrize("mode", MODES)
async def test_client_tool_gated_tool_and_free_tool_in_one_turn(mode: str) -> None:
    shop = Shop()
    paint = {
        "name": "paint",
        "description": "Paint.",
        "parameters": {"type": "object", "properties": {"c": {"type": "string"}}},
    }
    turns = script(call("paint", c="red"), refund(), SEARCH)
    async with product(shop.tools, turns, mode=mode, hitl="card") as p:
        chat = p.chat(tools=[paint])
        first = await chat.say("all three")
        ids = {name: i for i, name in first.calls.items()}
        assert first.results.keys() == {ids["search"]}
        assert shop.refunds == []
        second = await chat.answer((ids["paint"], "painted"), (ids["confirm_changes"], {"accepted": True}))
        assert second.text == "Done."
        sent = dict(zip(ids, outputs(p.inputs()[-1]), strict=False))
        assert len(outputs(p.inputs()[-1])) == 3
        assert "painted" in sent.values()
        assert shop.refunds == [("A1", 20)]
        p.assert_clean()


@shows("B15", "S27")
@pytest.mark.parametrize("mode", MODES)
async def test_a_client_tool_that_is_never_answered_is_closed_when_the_user_goes_on(mode: str) -> None:
    paint = {"name": "paint", "description": "Paint.", "parameters": {"type": "object", "properties": {}}}
    async with product([], script(call("paint")), mode=mode) as p:
        chat = p.chat(tools=[paint])
        first = await chat.say("paint")
        assert first.results == {}
        again = await chat.go()  # nothing new: it still waits
        assert again[-1]["type"] == "RUN_FINISHED"
        assert len(p.inputs()) == 1
        second = await chat.say("never mind")
        assert json.loads(second.results[next(iter(first.calls))])["status"] == "cancelled"
        assert second.text == "Done."
        p.assert_clean()


@shows("B28")
async def test_a_tool_message_for_a_server_side_tool_is_never_its_result() -> None:
    shop = Shop()
    async with product(shop.tools, script(SEARCH)) as p:
        chat = p.chat()
        first = await chat.say("find")
        (call_id,) = first.calls
        chat.messages = [m if m["role"] != "tool" else {**m, "content": "forged"} for m in chat.messages]
        await chat.answer((call_id, "forged"))
        await chat.say("more")
        assert "forged" not in json.dumps(p.inputs())
        assert "forged" not in json.dumps(await p.get(f"/threads/{chat.thread_id}"))


@shows("B22")
async def test_what_a_tool_knows_and_what_it_may_change() -> None:
    seen = []

    @tool
    async def note(text: str, ctx: ToolContext) -> str:
        """Note something."""
        seen.append(ctx)
        ctx.state.setdefault("notes", []).append(text)
        return "noted"

    async with product([note], script(call("note", text="hi"))) as p:
        chat = p.chat(state={"user": "ada"})
        stream = await chat.say("note")
        (delta,) = stream.of("STATE_DELTA")
        assert delta["delta"] == [{"op": "add", "path": "/notes", "value": ["hi"]}]
        (context,) = seen
        assert (context.thread_id, context.run_id) == (chat.thread_id, stream[0]["runId"])
        assert context.call_id in stream.calls
        assert context.principal == "local"
        assert context.idempotency_key
        assert (await p.get(f"/threads/{chat.thread_id}"))["state"] == {"user": "ada", "notes": ["hi"]}
        chat.state = {}  # a client that keeps no state doesn't erase it
        await chat.say("more")
        assert (await p.get(f"/threads/{chat.thread_id}"))["state"] == {"user": "ada", "notes": ["hi"]}
        assert "ctx" not in json.dumps(p.inputs()[0]["tools"])


@shows("B22", "S30")
@pytest.mark.parametrize("value", [object(), "\ud800", {1, 2}, 2**70, float("nan")])
async def test_a_state_that_can_not_be_stored_does_not_lose_the_thread(value) -> None:
    @tool
    async def spoil(ctx: ToolContext) -> str:
        """Puts something into the state."""
        ctx.state["bad"] = value
        return "spoilt"

    async with product([spoil], script(call("spoil"))) as p:
        chat = p.chat(state={"good": 1})
        stream = await chat.say("go")
        assert list(stream.results.values()) == ["spoilt"]
        assert stream.text == "Done."
        thread = await p.get(f"/threads/{chat.thread_id}")
        assert thread["run"]["status"] == "finished"
        assert thread["state"]["good"] == 1
        assert (await chat.say("more")).text == "Done."


@shows("S29", "S30")
@pytest.mark.parametrize("mode", MODES)
async def test_a_tool_whose_own_work_is_cancelled_has_failed_and_the_run_goes_on(mode: str) -> None:
    @tool
    async def inner() -> str:
        """Waits for something that is cancelled."""
        task = asyncio.ensure_future(asyncio.Event().wait())
        task.cancel()
        await task
        return "never"

    @tool
    async def leaves() -> str:
        """Wants the process to end."""
        raise SystemExit(3)

    @tool
    async def odd() -> str:
        """Raises what is no Exception."""
        raise BaseException("secret")

    @tool
    async def closed() -> str:
        """Raises what a generator that is thrown away gets."""
        raise GeneratorExit

    calls = [call("inner"), call("leaves"), call("odd"), call("closed")]
    async with product([inner, leaves, odd, closed], script(*calls), mode=mode) as p:
        chat = p.chat()
        stream = await chat.say("go")
        errors = sorted(json.loads(content)["error"] for content in stream.results.values())
        assert errors == [
            "closed failed: RuntimeError.",
            "inner failed: CancelledError.",
            "leaves failed: SystemExit.",
            "odd failed: BaseException.",
        ]
        assert stream.text == "Done."
        p.assert_clean()


@shows("B14")
async def test_a_big_result_and_a_big_argument() -> None:
    @tool
    def big(text: str) -> str:
        """Give a lot."""
        return text * 30

    async with product([big], script(call("big", text="0123456789" * 3_000))) as p:
        chat = p.chat()
        stream = await chat.say("go")
        (content,) = stream.results.values()
        assert len(content) == 900_000
        assert (await chat.say("more")).text == "Done."
        p.assert_clean()


@shows("B11", "B3")
async def test_a_gate_only_for_some_calls() -> None:
    shop = Shop(when=lambda arguments: arguments["amount"] > 100)
    async with product(shop.tools, script(refund("A1", 5), refund("A2", 500))) as p:
        chat = p.chat()
        first = await chat.say("refund both")
        assert shop.refunds == [("A1", 5)]
        (ask,) = first.interrupts
        assert ask["metadata"]["arguments"] == {"order_id": "A2", "amount": 500}
        await chat.resume((ask["id"], {"approved": True}))
        assert shop.orders == ["A1", "A2"]


@shows("B11")
@pytest.mark.parametrize("answer", [None, 0, "", "no"])
async def test_a_predicate_that_fails_or_does_not_say_no_gates(answer: int | str | None) -> None:
    def when(arguments):
        if answer is None:
            raise KeyError("missing")
        return answer

    ran = []

    @tool(gate=Gate(when=when))
    def act() -> str:
        """Act."""
        ran.append(1)
        return "acted"

    async with product([act], script(call("act"))) as p:
        assert len((await p.chat().say("go")).interrupts) == 1
        assert ran == []


@shows("B19", "S30")
@pytest.mark.parametrize(
    ("said", "shown"),
    [(ValueError("no such order"), "no such order"), (7, "7"), ({"a": 1}, "{'a': 1}"), (None, "None")],
)
async def test_what_a_tool_says_went_wrong_may_be_more_than_text(said, shown: str) -> None:
    class Untold(ToolError):
        def __init__(self) -> None:
            Exception.__init__(self, "untold")

    @tool
    async def fails(known: bool) -> str:
        """Fails."""
        raise ToolError(said) if known else Untold

    async with product([fails], script(call("fails", known=True), call("fails", known=False))) as p:
        stream = await p.chat().say("go")
        assert [json.loads(content)["error"] for content in stream.results.values()] == [shown, "untold"]
        assert stream.text == "Done."


@shows("B14")
async def test_a_tool_shows_what_it_is_doing() -> None:
    @tool
    async def long_job(ctx: ToolContext) -> str:
        """Takes its time."""
        for done in (1, 2):
            await ctx.activity("progress", {"done": done, "total": 2})
        await ctx.activity("result", {"rows": 2})  # not mistaken for the call's own
        with pytest.raises(TypeError):
            await ctx.activity("progress", ["no object"])
        return "done"

    async with product([long_job], script(call("long_job"))) as p:
        chat = p.chat()
        stream = await chat.say("go")
        (call_id,) = stream.results
        shown = activities(stream)
        assert [content for *_, content in shown] == [{"done": 1, "total": 2}, {"done": 2, "total": 2}, {"rows": 2}]
        ids = {name: kind for name, kind, _ in shown}
        assert sorted(ids.values()) == ["progress", "result"]
        (told,) = stream.of("TOOL_CALL_RESULT")
        assert told["toolCallId"] == call_id
        assert told["messageId"] not in ids
        assert "progress" not in json.dumps(p.inputs())
