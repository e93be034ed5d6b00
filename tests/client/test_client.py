"""The client against agui-gate itself, and against servers of other kinds: over real sockets."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
from anyio.lowlevel import checkpoint

from agui_gate import ToolContext, ToolError, tool
from agui_gate.client import (
    CARD,
    BrokenOff,
    Client,
    ClientError,
    Malformed,
    NoWayBack,
    Refused,
    Thread,
    TooMuch,
    TooSlow,
    Unanswered,
    Unreachable,
    events,
)
from agui_gate.client.connection import Connection
from agui_gate.config.settings import Settings
from agui_gate.errors import ConfigurationError
from tests.client.servers import client_of, refusal, run_of, scripted
from tests.interop.streams import FINISHED, INTERRUPTED, STARTED, call, sse, text
from tests.product.kit import product
from tests.product.shop import SEARCH, Shop, refund, say, script
from tests.support.proxy import Proxy

pytestmark = pytest.mark.anyio

LONG = say("word " * 200)


async def test_a_conversation_with_a_tool() -> None:
    shop = Shop()
    async with product(shop.tools, script(say("Let me look."), SEARCH)) as p, client_of(p.url) as client:
        thread = client.thread("t1")
        async with thread.say("hello") as run:
            kinds = [type(event) async for event in run]
        assert kinds[0] is events.RunStarted
        assert kinds[-1] is events.RunFinished
        assert run.outcome is not None
        assert run.outcome.kind == "success"
        assert run.outcome.usage
        assert thread.text == "Let me look.\n\nDone."
        assert shop.searches == ["ada"]
        assert (await thread.say("thanks")).kind == "success"
        stored = await p.get("/threads/t1")
        assert thread.messages == stored["messages"]


@pytest.mark.parametrize("way", ["interrupt", "card"])
@pytest.mark.parametrize("path", ["", "/agents/support"])
async def test_a_question_is_answered_whichever_way_it_is_asked(way: str, path: str) -> None:
    shop = Shop(editable=["amount"])
    advertised = [CARD] if way == "card" else []
    async with product(shop.tools, script(refund("A1"), refund("A2"), refund("A3"))) as p:
        async with client_of(p.url + path) as client:
            thread = client.thread(advertised=advertised)
            outcome = await thread.say("refund all")
            assert outcome.kind == ("interrupt" if way == "interrupt" else "success")
            asked = thread.questions
            assert [(q.way, q.tool, q.arguments["order_id"]) for q in asked] == [
                (way, "refund", order) for order in ("A1", "A2", "A3")
            ]
            assert {q.editable for q in asked} == {("amount",)}
            assert all(q.approval for q in asked)
            edited = {"order_id": "A2", "amount": 5}
            await thread.answer(asked[0].approve(), asked[1].approve(edited), asked[2].reject("too much"))
            assert thread.questions == []
            assert thread.text.endswith("Done.")
        assert shop.refunds == [("A1", 20), ("A2", 5)]
        (record,) = [r for r in (await p.get("/approvals?state=decided"))["approvals"] if r["state"] == "rejected"]
        assert record["decision"]["reason"] == "too much"


async def test_what_waits_has_to_be_answered_or_cancelled() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p, client_of(p.url) as client:
        thread = client.thread()
        await thread.say("refund")
        (question,) = thread.questions
        with pytest.raises(Unanswered):
            thread.say("never mind")
        with pytest.raises(ValueError, match="can't be edited"):
            question.approve({"order_id": "A9"})
        await thread.say("never mind", question.cancel())
        assert (thread.questions, shop.refunds) == ([], [])
        assert len([m for m in thread.messages if m["role"] == "user"]) == 2


async def test_a_function_of_ours_runs_here_and_the_agent_goes_on() -> None:
    picked: list[str] = []

    @tool
    def pick_color(hint: str) -> dict[str, str]:
        """Let the user pick a colour."""
        picked.append(hint)
        if hint == "none":
            raise ToolError("There is no such colour.")
        return {"picked": hint}

    def pick(hint: str) -> Any:
        return {"type": "function_call", "name": "pick_color", "arguments": {"hint": hint}}

    async with product((), script(pick("red"), pick("none"))) as p, client_of(p.url) as client:
        thread = client.thread(tools=[pick_color])
        outcome = await thread.finish(thread.say("pick"))
        assert outcome.kind == "success"
        assert sorted(picked) == ["none", "red"]
        results = [m for m in thread.messages if m["role"] == "tool"]
        assert [m["content"] for m in results] == ['{"picked":"red"}', "There is no such colour."]
        assert thread.text.endswith("Done.")
        p.assert_clean()


async def test_stopping_ends_a_run_in_order() -> None:
    async with (
        product((), [{"output": [LONG], "fault": {"kind": "hang", "after_events": 9}}]) as p,
        client_of(p.url) as client,
    ):
        thread = client.thread()
        async with thread.say("count") as run:
            async for event in run:
                if isinstance(event, events.TextMessageContent):
                    await thread.stop()
        assert run.outcome is not None
        assert run.outcome.stopped
        assert (await p.get("/threads"))["threads"][0]["run"]["status"] != "running"


async def test_a_run_that_is_cut_goes_on_where_it_was_cut() -> None:
    shop = Shop()
    settings = Settings(disconnect_grace=60)
    async with product(shop.tools, script(say("word " * 300)), settings=settings) as p:
        port = int(p.url.rpartition(":")[2])
        async with Proxy(port) as proxy, client_of(f"http://127.0.0.1:{proxy.port}/") as client:
            cut = 0

            async def look(_: int, piece: bytes) -> None:
                nonlocal cut
                if b"TEXT_MESSAGE_CONTENT" in piece and cut < 3:
                    cut += 1
                    raise ConnectionError

            proxy.answered = look
            thread = client.thread("t1")
            outcome = await thread.say("hello")
            assert (cut, outcome.kind) == (3, "success")
            assert thread.text == ("word " * 300)
            assert thread.messages == (await p.get("/threads/t1"))["messages"]


async def test_what_is_no_longer_kept_comes_back_by_a_snapshot() -> None:
    settings = Settings(disconnect_grace=60)
    async with product((), script(say("word " * 300)), settings=settings) as p:
        port = int(p.url.rpartition(":")[2])
        async with Proxy(port) as proxy, client_of(f"http://127.0.0.1:{proxy.port}/") as client:
            cut = 0

            async def answered(_: int, piece: bytes) -> None:
                nonlocal cut
                if b"TEXT_MESSAGE_CONTENT" in piece and not cut:
                    cut += 1
                    raise ConnectionError

            proxy.answered = answered
            thread = client.thread("t1")
            run = thread.say("hello")
            seen = []
            async for event in run:
                seen.append(type(event))
                run.key = "run_of_another_life"
            assert events.MessagesSnapshot in seen
            assert thread.text == "word " * 300
            assert thread.messages == (await p.get("/threads/t1"))["messages"]


async def test_a_thread_is_taken_up_by_another_client() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        async with client_of(p.url) as first:
            await first.thread("t1").say("refund")
        async with client_of(p.url) as second:
            thread = second.thread("t1")
            await (await thread.attach())
            (question,) = thread.questions
            assert (question.tool, question.arguments["order_id"]) == ("refund", "A1")
            await thread.answer(question.approve())
        assert shop.orders == ["A1"]


async def test_a_server_that_knows_no_connect() -> None:
    async with scripted() as server, client_of(server.url) as client:
        with pytest.raises(LookupError):
            await client.thread().attach()


async def test_what_is_sent_is_what_the_protocol_says() -> None:
    async with scripted(run_of(*text("Hello.")), run_of()) as server, client_of(server.url) as client:
        thread = client.thread(
            "t1", state={"n": 1}, context=[{"description": "d", "value": "v"}], forwarded={"f": None}
        )
        await thread.say([{"type": "text", "text": "hi"}])
        thread.state = [1]
        await thread.say("again", parentRunId="r-0")
        first, second = server.asked
        assert first["messages"][0]["content"] == [{"type": "text", "text": "hi"}]
        kept = {name: first[name] for name in ("threadId", "protocolVersion", "tools", "state", "context")}
        assert kept == {
            "threadId": "t1",
            "protocolVersion": "1.0",
            "tools": [],
            "state": {"n": 1},
            "context": [{"description": "d", "value": "v"}],
        }
        assert first["forwardedProps"] == {"f": None}
        assert [m["role"] for m in second["messages"]] == ["user", "assistant", "user"]
        assert (second["state"], second["parentRunId"]) == ([1], "r-0")
        assert first["runId"] != second["runId"]


async def test_the_older_way_to_ask() -> None:
    asks = {"type": "CUSTOM", "name": "on_interrupt", "value": '{"question": "Sure?", "n": 1}'}
    async with scripted(run_of(asks), run_of()) as server, client_of(server.url) as client:
        thread = client.thread()
        await thread.say("go")
        (question,) = thread.questions
        assert (question.way, question.message, question.approval) == ("legacy", "Sure?", False)
        await thread.answer(question.reply({"yes": True}))
        assert server.asked[1]["forwardedProps"]["command"] == {"resume": '{"yes":true}'}
        assert thread.questions == []


async def test_a_question_of_another_schema() -> None:
    asks = {"id": "i", "reason": "x:colour", "message": "Which?", "responseSchema": {"type": "string"}}
    outcome = {"outcome": {"type": "interrupt", "interrupts": [asks]}}
    async with scripted(sse(STARTED, FINISHED | outcome), run_of()) as server, client_of(server.url) as client:
        thread = client.thread()
        await thread.say("go")
        (question,) = thread.questions
        assert (question.message, question.approval, question.schema) == ("Which?", False, {"type": "string"})
        await thread.answer(question.reply("blue"))
        assert server.asked[1]["resume"] == [{"interruptId": "i", "status": "resolved", "payload": "blue"}]


async def test_a_card_beside_an_interrupt_about_the_same_call_is_one_question() -> None:
    arguments = '{"function_name":"refund","function_call_id":"c-1"}'
    card = [{**e, "toolCallId": "k"} for e in call(arguments)]
    card[0]["toolCallName"] = "confirm_changes"
    async with scripted(sse(STARTED, *call(), *card, INTERRUPTED)) as server, client_of(server.url) as client:
        thread = client.thread()
        await thread.say("go")
        assert [(q.way, q.tool) for q in thread.questions] == [("interrupt", "refund")]


async def slowly(*pieces: str, hold: asyncio.Event) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece.encode()
    await hold.wait()


async def test_another_server_is_stopped_by_leaving() -> None:
    hold = asyncio.Event()
    body = slowly(sse(STARTED, *text("Hel")[:2]), hold=hold)
    async with scripted(body, run_of()) as server, client_of(server.url) as client:
        thread = client.thread()
        async with thread.say("go") as run:
            async for event in run:
                if isinstance(event, events.TextMessageContent):
                    await thread.stop()
        assert run.outcome is not None
        assert run.outcome.stopped
        assert thread.text == "Hel"
        hold.set()
        assert (await thread.say("again")).kind == "success"


SECRET = "sk-secret of theirs"

FAILURES: dict[str, tuple[Any, type[ClientError], dict[str, Any]]] = {
    "refused": (lambda: refusal(422, error=SECRET), Refused, {}),
    "a redirect": (lambda: refusal(302), Refused, {}),
    "a page": (lambda: refusal(200, page=SECRET), Malformed, {}),
    "rubbish": (lambda: f"data: {SECRET}\n\n", Malformed, {}),
    "no beginning": (lambda: sse(*text("x")), Malformed, {}),
    "no end": (lambda: sse(STARTED, *text("x")), BrokenOff, {}),
    "nothing": (lambda: "", BrokenOff, {}),
    "more after the end": (lambda: run_of() + sse(*text(SECRET)), Malformed, {}),
    "a second beginning": (lambda: sse(STARTED, STARTED), Malformed, {}),
    "a large event": (lambda: sse(STARTED, text("x" * 3_000)[1]), TooMuch, {"event": 2_000}),
    "a large stream": (lambda: sse(STARTED, *text("x") * 200), TooMuch, {"stream": 2_000}),
    "silence": (lambda: slowly(sse(STARTED), hold=asyncio.Event()), TooSlow, {"idle": 0.2}),
    "no end in time": (lambda: slowly(sse(STARTED), hold=asyncio.Event()), TooSlow, {"total": 0.2}),
}


@pytest.mark.parametrize("name", FAILURES)
async def test_whatever_the_other_side_does_has_an_end_and_a_code(name: str) -> None:
    reply, kind, limits = FAILURES[name]
    async with (
        scripted(reply, run_of(*text("Well again.", "m-2"))) as server,
        client_of(server.url, **limits) as client,
    ):
        thread = client.thread()
        with pytest.raises(kind) as raised:
            await thread.say("go")
        assert raised.value.code.startswith("agent_")
        assert SECRET not in f"{raised.value} {raised.value.message} {raised.value!r}"
        if not limits.keys() & {"idle", "total"}:  # these are shorter than a slow machine's answer may take
            assert (await thread.say("again")).kind == "success"
            assert "Well again." in thread.text


async def test_what_it_said_of_a_refusal_is_there_for_who_asks() -> None:
    async with scripted(refusal(409, error=SECRET)) as server, client_of(server.url) as client:
        with pytest.raises(Refused) as raised:
            await client.thread().say("go")
        assert (raised.value.http_status, SECRET.encode() in raised.value.body) == (409, True)


async def test_a_body_that_stays_open_after_the_end_holds_nobody() -> None:
    body = slowly(run_of(*text("Hi.")), hold=asyncio.Event())
    async with scripted(body) as server, client_of(server.url, linger=0.05) as client:
        thread = client.thread()
        assert (await thread.say("go")).kind == "success"
        assert thread.text == "Hi."


async def test_a_run_that_says_that_it_failed_raises_nothing() -> None:
    error = {"type": "RUN_ERROR", "message": SECRET, "code": "x"}
    async with scripted(sse(STARTED, *call()[:2], error)) as server, client_of(server.url) as client:
        outcome = await client.thread().say("go")
        assert (outcome.kind, outcome.code, outcome.error) == ("error", "x", SECRET)


async def test_nobody_there() -> None:
    """The message names the address, and no password that is part of it."""
    async with client_of("http://user:secret@127.0.0.1:9/a?key=secret") as client:
        with pytest.raises(Unreachable) as raised:
            await client.thread().say("go")
        assert raised.value.sent is False
        assert raised.value.message == "Nothing is listening at http://127.0.0.1:9."


@pytest.mark.parametrize("url", ["ftp://x/", "http://", "http://[::1/", "http://x:99999/", "x", "http://a\nb/"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(ConfigurationError):
        Client(url)


async def test_one_run_at_a_time() -> None:
    async with scripted(run_of()) as server, client_of(server.url) as client:
        thread = client.thread()
        run = thread.say("go")
        with pytest.raises(RuntimeError, match="in progress"):
            thread.say("and")
        await run


async def test_headers_that_never_end_are_inside_the_time_of_a_run() -> None:
    """A byte of them at a time: each read is short."""

    async def trickle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            writer.write(b"HTTP/1.1 200 OK\r\nX: ")
            while True:
                writer.write(b"x")
                await writer.drain()
                await checkpoint()

    async with await asyncio.start_server(trickle, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with client_of(f"http://127.0.0.1:{port}/", total=0.3) as client, asyncio.timeout(30):
            with pytest.raises(TooSlow):
                await client.thread().say("hi")


async def test_coming_back_says_whether_nobody_is_there_or_the_server_can_not() -> None:
    async with scripted(run_of()) as server, client_of(server.url) as client:
        with pytest.raises(NoWayBack):
            await client.thread("t").attach()
    async with client_of(server.url) as client:
        with pytest.raises(Unreachable):
            await client.thread("t").attach()


async def test_a_state_that_was_sent_is_not_sent_back_before_its_first_change() -> None:
    @tool
    async def count(ctx: ToolContext) -> str:
        """Count in the shared state."""
        ctx.state["n"] = int(ctx.state.get("n", 0)) + 1
        return "counted"

    called = {"type": "function_call", "name": "count", "arguments": {}}
    async with product((count,), script(called, called)) as p, client_of(p.url) as client:
        thread = client.thread(state={"text": "x" * 200_000, "n": 0})
        told = [type(e) async for e in thread.say("count") if isinstance(e, events.StateSnapshot | events.StateDelta)]
        assert (told, thread.state["n"]) == ([events.StateDelta, events.StateDelta], 2)


@pytest.mark.parametrize("name", ["AGUI-Gate-Leaving", "agui-gate-leaving"])
async def test_how_it_leaves_is_said_once_and_as_the_caller_wants_it(name: str) -> None:
    async with scripted(run_of()) as server, Client(server.url, headers={name: "cancel"}) as client:
        await client.thread().say("hello")
        (sent,) = server.sent
    assert [value for key, value in sent.items() if key == "agui-gate-leaving"] == ["cancel"]


async def test_a_result_with_the_id_of_another_message_among_many_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It goes through all of them: 80,000 took a tenth of a second, again and again."""
    on_the_loop, apply = [], Thread.apply

    def noted(self: Thread, event: events.AnyEvent) -> None:
        if isinstance(event, events.ToolCallResult):
            on_the_loop.append(threading.current_thread() is threading.main_thread())
        apply(self, event)

    monkeypatch.setattr(Thread, "apply", noted)
    told = [{"id": f"m{number}", "role": "assistant", "content": "x" * 50} for number in range(1_000)]
    result = {"type": "TOOL_CALL_RESULT", "messageId": "m0", "toolCallId": "c", "content": "x"}
    reply = run_of(result, {"type": "MESSAGES_SNAPSHOT", "messages": told}, result)
    async with scripted(reply) as server, client_of(server.url) as client:
        await client.thread().say("hello")
    assert on_the_loop == [True, False]


async def test_runs_without_end_on_one_stream_end_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever the time was looked at, the last one had ended: each was taken for the last."""
    pairs = 0

    async def again_and_again(*_: object) -> AsyncIterator[list[bytes]]:
        nonlocal pairs
        while pairs < 1_000_000:
            pairs += 1
            yield [json.dumps(event).encode() for event in (STARTED, FINISHED)]
            await checkpoint()

    monkeypatch.setattr(Connection, "payloads", again_and_again)
    async with scripted(run_of()) as server, client_of(server.url, total=0.5) as client:
        assert (await client.thread().say("hello")).kind == "success"
    assert pairs < 1_000_000
