"""`POST /threads/{id}/cancel`: the run ends within a second, whatever it is doing, and the next turn works."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agui_gate import Gate, tool
from agui_gate.config.settings import Settings
from agui_gate.runs import heartbeat, stop_and_delete
from agui_gate.runs.stop_and_delete import Ended
from agui_gate_adapters.testkit.agui.stream import apply
from tests.product.kit import CARD_TOOL, MODES, TIMEOUT, Chat, Product, Stream, product, streamed
from tests.product.live import Following, cancel, over, quiet, rest, starting
from tests.product.shop import COLOR, PICK, Endless, Shop, call, outputs, refund, say, script, status
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B17", "S33")]

Json = dict[str, Any]
BACK: Json = {"output": [say("Back.")], "repeat": True}


@pytest.fixture(autouse=True)
def no_heart(monkeypatch: pytest.MonkeyPatch) -> None:
    """No beat in which a process looks who wants its runs stopped: what is stopped here is stopped by the request."""
    monkeypatch.setattr(heartbeat, "STOP_MS", 3_600_000)


def hangs(after_events: int, *items: Json) -> Json:
    return {"output": list(items), "when": {"user": "go"}, "fault": {"kind": "hang", "after_events": after_events}}


@asynccontextmanager
async def stopped(p: Product, chat: Chat, reader: Following) -> AsyncIterator[Stream]:
    """What the reader gets when its run is stopped: its end at once, with nobody's help (`no_heart`)."""
    async with asyncio.timeout(TIMEOUT / 2):
        answer = await cancel(p, chat)
        assert answer == {"cancelled": True, "status_code": 200}
        stream = await reader.end()
    assert (stream[-1]["type"], stream[-1]["code"]) == ("RUN_ERROR", "abort")
    apply(chat.messages, stream)
    yield stream
    assert await rest(p, reader.run_key) == reader.raw
    thread = await over(p, chat, "cancelled")
    shown = [{k: v for k, v in m.items() if k != "error"} for m in thread["messages"]]  # which no event carries
    assert streamed(shown) == streamed(chat.messages)
    assert thread["approvals"] == []
    assert (await chat.say("what now?")).text == "Back."
    p.assert_clean()
    await quiet(p)


def drained_while_it_opens(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine is drained just as the next thread is opened."""
    lease_thread = engine.store.lease_thread

    async def drained_meanwhile(*arguments: Any, **options: Any) -> Any:
        thread = await lease_thread(*arguments, **options)
        await engine.drain()
        return thread

    monkeypatch.setattr(engine.store, "lease_thread", drained_meanwhile)


async def upstream_ended(p: Product) -> None:
    """The provider has seen that its stream was closed."""
    async with asyncio.timeout(60):
        while p.emulator.accepted[-1].ended is None:
            await p.get("/healthz")
    assert p.emulator.accepted[-1].ended == "aborted"


@shows("S30")
@pytest.mark.parametrize("mode", MODES)
async def test_a_provider_that_never_answers(mode: str) -> None:
    async with product([], [hangs(0, say("x")), BACK], mode=mode) as p:
        chat = p.chat()
        async with starting(p, chat, "go") as reader:
            await reader.until("RUN_STARTED")
            async with asyncio.timeout(TIMEOUT):
                while not p.emulator.accepted:
                    await p.get("/healthz")
            async with stopped(p, chat, reader) as stream:
                assert stream.types() == ["RUN_STARTED", "RUN_ERROR"]
                await upstream_ended(p)
                p.emulator.load([BACK])


@shows("S30")
@pytest.mark.parametrize("mode", MODES)
async def test_in_the_middle_of_text_what_was_said_is_kept(mode: str) -> None:
    async with product([], [hangs(12, {"type": "message", "text": "word " * 99}), BACK], mode=mode) as p:
        chat = p.chat()
        async with starting(p, chat, "go") as reader:
            await reader.until("TEXT_MESSAGE_CONTENT")
            async with stopped(p, chat, reader) as stream:
                assert stream.types()[-2:] == ["TEXT_MESSAGE_END", "RUN_ERROR"]
                assert chat.messages[-1]["content"] == stream.text != ""
                await upstream_ended(p)
                p.emulator.load([BACK])


@shows("S29", "S30", "T1")
@pytest.mark.parametrize("mode", MODES)
async def test_while_a_gate_makes_up_its_mind(mode: str) -> None:
    """Nobody has been asked yet, and nothing runs; what the model said is kept."""
    begun, ran = asyncio.Event(), []

    async def when(_: Json) -> bool:
        begun.set()
        await asyncio.Event().wait()
        return False

    @tool(gate=Gate(when=when))
    def pay(amount: float) -> None:
        """Pay."""
        ran.append(amount)

    turn = {"output": [say("One moment."), call("pay", amount=5), call("unknown")], "when": {"user": "go"}}
    async with product([pay], [turn, BACK], mode=mode) as p:
        chat = p.chat()
        async with starting(p, chat, "go") as reader:
            async with asyncio.timeout(TIMEOUT):
                await begun.wait()
            async with stopped(p, chat, reader) as stream:
                assert [status(content) for content in stream.results.values()] == ["cancelled", "cancelled"]
                assert ran == []
                p.emulator.load([BACK])


@shows("S29", "S30", "S31", "S32", "B9")
@pytest.mark.parametrize("mode", MODES)
async def test_tools_that_never_end(mode: str) -> None:
    """Async, sync, and one that ignores its cancellation; beside them a gated call that nobody was asked about yet, and
    one that the client would have to run."""
    begun, release, told = threading.Barrier(2), threading.Event(), threading.Event()
    ended: list[str] = []
    shop = Shop()

    @tool
    async def sleeps() -> str:
        """Sleeps for ever."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("sleeps")
        return "never"

    @tool
    async def stubborn() -> str:
        """Does not listen."""
        while not release.is_set():
            try:
                await asyncio.wait_for(asyncio.Event().wait(), 0.01)
            except (TimeoutError, asyncio.CancelledError):
                continue
        ended.append("stubborn")
        return "too late"

    @tool
    def blocks() -> str:
        """Can't be stopped."""
        begun.wait(TIMEOUT)
        release.wait(TIMEOUT)
        told.set()
        return "too late"

    calls = [call("sleeps"), call("stubborn"), call("blocks"), refund(), PICK]
    async with product([*shop.tools, sleeps, stubborn, blocks], [{"output": calls}, BACK], mode=mode) as p:
        chat = p.chat(tools=[CARD_TOOL, COLOR])
        async with starting(p, chat, "go") as reader:
            await reader.until('"delta":"{')
            await asyncio.to_thread(begun.wait, TIMEOUT)
            async with stopped(p, chat, reader) as stream:
                assert len(stream.results) == 5
                assert {status(text) for text in stream.results.values()} == {"cancelled"}
                assert ended == ["sleeps"]
                release.set()
                assert await asyncio.to_thread(told.wait, TIMEOUT)
        async with asyncio.timeout(TIMEOUT):
            while "stubborn" not in ended:
                await p.get("/healthz")
        assert len(outputs(p.inputs()[-1])) == 5
        assert "too late" not in json.dumps(await p.get(f"/threads/{chat.thread_id}"))
        assert "too late" not in json.dumps(p.inputs())
        assert shop.refunds == []
        assert (await p.get("/approvals"))["approvals"] == []


@shows("S29", "S30", "B9")
@pytest.mark.parametrize("mode", MODES)
async def test_an_approved_tool_that_never_ends(mode: str) -> None:
    endless = Endless()
    async with product([endless.pay], [{"output": [call("pay", amount=5)]}, BACK], mode=mode) as p:
        chat = p.chat()
        (ask,) = (await chat.say("go")).interrupts
        yes = [{"interruptId": ask["id"], "status": "resolved", "payload": {"approved": True}}]
        async with starting(p, chat, resume=yes) as reader:
            async with asyncio.timeout(TIMEOUT):
                await endless.begun.wait()
            async with stopped(p, chat, reader) as stream:
                assert status(stream.results[ask["toolCallId"]]) == "unknown"
        assert endless.runs == [5]


@pytest.mark.parametrize("dialect", ["auto", "compat", "1.0"])
async def test_the_dialect_says_what_the_end_is_called(dialect: Any) -> None:
    async with product([], [hangs(9, say("word " * 9))], settings=Settings(dialect=dialect)) as p:
        chat = p.chat()
        async with starting(p, chat, "go", protocolVersion="1.0") as reader:
            await reader.until("TEXT_MESSAGE_CONTENT")
            assert (await cancel(p, chat))["cancelled"] is True
            stream = await reader.end()
        if dialect == "compat":
            assert (stream[-1]["type"], stream[-1]["code"]) == ("RUN_ERROR", "abort")
        else:
            assert (stream[-1]["type"], stream[-1]["outcome"]) == ("RUN_FINISHED", {"type": "cancelled"})


async def test_all_readers_see_the_end_and_stopping_twice_is_once() -> None:
    async with product([], [hangs(9, say("word " * 9)), BACK]) as p:
        chat = p.chat()
        async with starting(p, chat, "go") as reader:
            await reader.until("TEXT_MESSAGE_CONTENT")
            others = [asyncio.ensure_future(rest(p, reader.run_key)) for _ in range(5)]
            answers = await asyncio.gather(*(cancel(p, chat) for _ in range(5)))
            assert all(a["status_code"] == 200 for a in answers)
            assert any(a["cancelled"] for a in answers), "whichever came first"
            await reader.end()
            assert set(await asyncio.gather(*others)) == {reader.raw}
            assert reader.raw.count('"abort"') == 1
        await quiet(p)


@shows("S30", "B18")
async def test_stopped_at_once_a_run_ends_its_stream_and_gives_its_thread_back() -> None:
    async with product([], [BACK]) as p:
        engine = p.app.state.engine
        for _ in range(20):
            chat = p.chat()
            async with asyncio.TaskGroup() as group:
                running = group.create_task(chat.say("go"))
                while engine.following("local", chat.thread_id) is None:
                    await asyncio.wait([running], timeout=0)
                assert await engine.cancel("local", chat.thread_id) is Ended.STOPPED
            stream = await running
            assert stream.types()[0] == "RUN_STARTED"
            assert stream[-1] == {**stream[-1], "type": "RUN_ERROR", "code": "abort"}
            assert (await chat.say("again")).text == "Back."
        await quiet(p)


@shows("S30")
async def test_a_stop_that_comes_while_the_end_is_saved_is_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    async with product([], [BACK]) as p:
        chat, engine = p.chat(), p.app.state.engine
        commit = engine.store.commit

        async def stopped_meanwhile(thread: Any, change: Any, run_key: str) -> None:
            await commit(thread, change, run_key)
            if change.status is not None:
                engine.following("local", chat.thread_id).cancel()
                await asyncio.wait([asyncio.ensure_future(p.get("/healthz"))])

        monkeypatch.setattr(engine.store, "commit", stopped_meanwhile)
        stream = await chat.say("go")
        assert (stream.text, stream[-1]["type"]) == ("Back.", "RUN_FINISHED")
        monkeypatch.undo()
        await over(p, chat, "finished")
        assert (await chat.say("more")).text == "Back."
        await quiet(p)


@shows("S30")
async def test_a_run_that_would_begin_after_the_drain_is_refused_and_holds_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with product([], [BACK]) as p:
        chat, engine = p.chat(), p.app.state.engine
        drained_while_it_opens(engine, monkeypatch)
        refused = await chat.say("go")
        assert (refused.status, refused[0]["error"]["code"]) == (503, "unavailable")
        assert not engine._runs
        assert (await engine.store.read_thread("local", chat.thread_id)).run_status == "cancelled"
        monkeypatch.undo()
        await engine.aclose()
        await engine.start()
        assert (await chat.go()).text == "Back.", "nobody holds the thread"
        await quiet(p)


@pytest.mark.parametrize("hitl", ["card", "interrupt"])
async def test_what_is_over_can_not_be_stopped_and_says_so(hitl: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), hitl=hitl) as p:
        chat = p.chat(tools=[CARD_TOOL] if hitl == "card" else [])
        await chat.say("go")
        answer = await cancel(p, chat)
        assert (answer["status_code"], answer["cancelled"]) == (200, False)
        assert "No run" in answer["message"]
        (waiting,) = (await p.get("/approvals"))["approvals"]
        assert waiting["tool"] == "refund", "what waits for a person still does"
        assert (await p.decide(waiting["id"], {"approved": True}))["state"] == "done"
        assert (await cancel(p, chat))["cancelled"] is False


async def test_what_was_asked_to_stop_and_goes_on_is_said_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever holds the lease doesn't hear of it: another process that hangs."""
    monkeypatch.setattr(stop_and_delete, "STOP_SECONDS", 0.3)
    async with product([], [BACK]) as p:
        chat, store = p.chat(), p.app.state.engine.store
        await chat.say("go")
        await store.lease_thread("local", chat.thread_id, "support", "run_elsewhere")
        answer = await cancel(p, chat)
        assert (answer["status_code"], answer["cancelled"]) == (200, False)
        assert answer["message"] == "The run was asked to stop and has not ended yet."
        assert set(await store.take_stops(["run_elsewhere"])) == {"run_elsewhere"}


async def test_unknown_and_other_peoples_threads_are_the_same_404() -> None:
    async with product([], [hangs(9, say("word " * 9))], auth=lambda r: r.headers.get("x-user")) as p:
        chat = p.chat(headers={"x-user": "alice"})
        async with starting(p, chat, "go") as reader:
            await reader.until("TEXT_MESSAGE_CONTENT")
            thief = p.chat(thread_id=chat.thread_id, headers={"x-user": "bob"})
            foreign, unknown = await cancel(p, thief), await cancel(p, p.chat(headers={"x-user": "bob"}))
            assert foreign == unknown == {**foreign, "status_code": 404}
            assert foreign["error"]["code"] == "not_found"
            assert (await cancel(p, p.chat(thread_id=chat.thread_id)))["status_code"] == 401
            assert p.app.state.engine.following("alice", chat.thread_id) is not None, "it goes on"
            assert (await cancel(p, chat))["cancelled"] is True
            await reader.end()


@shows("S29", "S30", "B9")
@pytest.mark.parametrize("end", ["stop", "drain"])
async def test_a_tool_that_was_approved_out_of_band_and_never_ends(end: str) -> None:
    """It holds its thread as a run does; whoever stops the thread, or ends the process, means it too."""
    begun, ended = asyncio.Event(), asyncio.Event()

    @tool(gate=True)
    async def pay(amount: int) -> str:
        """Pay."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    async with product([pay], [{"output": [call("pay", amount=5)]}, BACK]) as p:
        chat, engine = p.chat(), p.app.state.engine
        (ask,) = (await chat.say("go")).interrupts
        async with asyncio.TaskGroup() as group:
            deciding = group.create_task(p.decide(ask["id"], {"approved": True}))
            async with asyncio.timeout(TIMEOUT):
                await begun.wait()
            async with asyncio.timeout(TIMEOUT / 2):
                if end == "stop":
                    stops = await asyncio.gather(*(cancel(p, chat) for _ in range(3)))
                    assert stops[0] == {"cancelled": True, "status_code": 200}
                else:
                    await engine.drain(grace=10 * TIMEOUT)  # which it doesn't wait for
        decided = deciding.result()
        assert (decided["state"], status(decided["result"])) == ("unknown", "unknown")
        assert ended.is_set()
        assert (await cancel(p, chat)).get("cancelled") is not True
        if end == "stop":
            assert (await chat.say("what now?")).text == "Back."
            assert [status(told) for told in outputs(p.inputs()[-1])] == ["unknown"]
            p.assert_clean()
        else:
            refused = await p.decide(ask["id"], {"approved": True})
            assert refused["state"] == "unknown"


@shows("S30")
async def test_a_decision_that_would_begin_after_the_drain_is_refused_and_waits_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat, engine = p.chat(), p.app.state.engine
        (ask,) = (await chat.say("go")).interrupts
        drained_while_it_opens(engine, monkeypatch)
        refused = await p.decide(ask["id"], {"approved": True})
        assert refused["error"]["code"] == "unavailable"
        monkeypatch.undo()
        await engine.aclose()
        await engine.start()
        assert shop.refunds == []
        assert (await p.decide(ask["id"], {"approved": True}))["state"] == "done"


@shows("S10", "B21")
async def test_a_client_that_stops_by_leaving_is_told_how_its_calls_ended() -> None:
    """`HttpAgent` aborts its request: what ends the call comes when nobody reads any more, so its chip went on."""
    begun = asyncio.Event()

    @tool
    async def sleeps() -> str:
        """Sleeps for ever."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    async with product([sleeps], [{"output": [call("sleeps")]}, BACK]) as p:
        chat = p.chat()
        async with starting(p, chat, "go") as reader:
            seen = await reader.until("TOOL_CALL_END")
            async with asyncio.timeout(TIMEOUT):
                await begun.wait()
        apply(chat.messages, seen)
        await over(p, chat, "cancelled")
        stream = await chat.say("what now?")
        assert stream.types()[:2] == ["RUN_STARTED", "MESSAGES_SNAPSHOT"]
        (result,) = [message for message in chat.messages if message["role"] == "tool"]
        assert status(result["content"]) == "cancelled"
        assert "MESSAGES_SNAPSHOT" not in (await chat.say("thanks")).types(), "only where it is needed"
        p.assert_clean()
