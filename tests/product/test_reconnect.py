"""Cut and resumed: what a reader got in all is exactly what the run said, wherever it was cut (B17)."""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agui_gate import tool
from agui_gate.bus.log import PATIENCE
from agui_gate.config.settings import Settings
from tests.conforming import conforms
from tests.product.kit import CARD_TOOL, MODES, Chat, Product, Stream, product
from tests.product.live import cancel, frame_id, frames, over, quiet, rest, resuming, starting
from tests.product.shop import SEARCH, Shop, call, refund, say
from tests.requirements import shows
from tests.support.pairwise import turns

pytestmark = [pytest.mark.anyio, shows("B17")]

Json = dict[str, Any]
LONG = {"type": "message", "text": "word " * 60}
PATIENT = Settings(disconnect_grace=30)


async def _said(p: Product, chat: Chat) -> Stream:
    return await chat.say("go")


async def _resumed(p: Product, chat: Chat) -> Stream:
    (ask,) = (await chat.say("go")).interrupts
    return await chat.resume((ask["id"], {"approved": True}))


async def _cancelled(p: Product, chat: Chat) -> Stream:
    async with starting(p, chat, "go") as reader:
        await reader.until("TEXT_MESSAGE_CONTENT")
        assert (await cancel(p, chat))["cancelled"] is True
        stream = await reader.end()
        stream.run_key = reader.run_key
        return stream


Record = Callable[[Product, Chat], Awaitable[Stream]]

RUNS: dict[str, tuple[list[Json], str, Record]] = {
    "text": ([{"output": [LONG]}], "RUN_FINISHED", _said),
    "reasoning": (
        [{"output": [{"type": "reasoning", "summary": ["One.", "Two."]}, say("Ok.")]}],
        "REASONING_MESSAGE_CONTENT",
        _said,
    ),
    "parallel tools": ([{"output": [SEARCH, call("search", q="bob")]}, {"output": [LONG]}], "TOOL_CALL_RESULT", _said),
    "interrupt": ([{"output": [say("Look:"), refund()]}], "interrupt", _said),
    "card": ([{"output": [refund()]}], "confirm_changes", _said),
    "resumed": ([{"output": [refund()]}, {"output": [LONG]}], "MESSAGES_SNAPSHOT", _resumed),
    "error": (
        [{"output": [LONG], "fault": {"kind": "failed", "after_events": 9}}],
        "RUN_ERROR",
        _said,
    ),
    "cancelled": ([{"output": [LONG], "fault": {"kind": "hang", "after_events": 9}}], "abort", _cancelled),
    "incomplete": ([{"output": [LONG], "status": "incomplete"}], "max_output_tokens", _said),
    "client tool": ([{"output": [call("colour", shade="red")]}], "colour", _said),
}
CLIENT_TOOL = {"name": "colour", "description": "Colour.", "parameters": {"type": "object", "properties": {}}}


@pytest.mark.parametrize(("kind", "mode"), turns(RUNS, MODES))
@conforms("PROC-6")
async def test_cut_at_every_event_and_resumed(kind: str, mode: str) -> None:
    turns, marker, record = RUNS[kind]
    async with product(Shop().tools, turns, mode=mode) as p:
        tools = {"card": [CARD_TOOL], "client tool": [CLIENT_TOOL]}
        stream = await record(p, p.chat(tools=tools.get(kind, [])))
        assert marker in stream.raw
        whole = frames(stream.raw)
        assert [frame_id(f) for f in whole] == [f"{stream.run_key}:{n}" for n in range(len(whole))]
        assert await rest(p, stream.run_key) == stream.raw
        for number, frame in enumerate(whole):
            missed = "".join(whole[number + 1 :])
            assert await rest(p, stream.run_key, frame_id(frame)) == missed
            assert await rest(p, stream.run_key, frame_id(frame), query=True) == missed
            assert await rest(p, stream.run_key, str(number), query=True) == missed
        await quiet(p)


@pytest.mark.parametrize("mode", MODES)
async def test_cut_at_every_event_while_the_run_is_live(mode: str) -> None:
    """The run hangs; one reader for every event it said, all at once; then it goes on and all get the same end."""
    turns = [
        {"output": [say("First."), SEARCH, call("search", q="bob")]},
        {"output": [LONG], "fault": {"kind": "hang", "after_events": 20}},
    ]
    async with product(Shop().tools, turns, settings=PATIENT, mode=mode) as p:
        chat = p.chat()
        async with starting(p, chat, "go") as first:
            await first.until('"role":"tool"')
            await first.count(len(first.frames) + 10)
            said = first.frames
            readers = [asyncio.ensure_future(_after(p, first.run_key, frame)) for frame in said]
            late = asyncio.ensure_future(rest(p, first.run_key))
            log = p.app.state.engine.bus._runs[first.run_key].log
            while len(log.readers) < len(said) + 2:  # in the time-out of the client
                await p.get("/healthz")
            assert (await cancel(p, chat))["cancelled"] is True
            await first.end()
            for number, missed in enumerate(await asyncio.gather(*readers)):
                assert "".join(said[: number + 1]) + missed == first.raw
            assert await late == first.raw
        await quiet(p)


async def _after(p: Product, run_key: str, frame: str) -> str:
    return await rest(p, run_key, frame_id(frame))


async def test_many_readers_that_are_cut_again_and_again_while_the_run_goes_on() -> None:
    turns = [
        {"output": [LONG, SEARCH], "fault": {"kind": "slow", "ms": 2}},
        {"output": [LONG], "fault": {"kind": "slow", "ms": 2}},
    ]
    dice = random.Random(7)
    async with product(Shop().tools, turns, settings=PATIENT) as p:
        chat = p.chat()
        async with starting(p, chat, "go") as first:
            cuts = [sorted(dice.sample(range(2, 90), dice.choice((2, 3)))) for _ in range(20)]
            readers = [asyncio.ensure_future(_in_pieces(p, first.run_key, where)) for where in cuts]
            await first.end()
            assert len(first.frames) > 100
            assert {await reader for reader in readers} == {first.raw}
        await quiet(p)


async def _in_pieces(p: Product, run_key: str, cuts: list[int]) -> str:
    """A reader that leaves after so many frames, in the middle of what it was sent, and comes back."""
    got: list[str] = []
    for cut in cuts:
        async with resuming(p, run_key, frame_id(got[-1]) if got else None) as reader:
            await reader.count(cut - len(got))
            got += reader.frames[: cut - len(got)]
    return "".join(got) + await rest(p, run_key, frame_id(got[-1]))


async def test_a_reader_that_comes_back_within_the_grace_keeps_the_run_going() -> None:
    release, begun = asyncio.Event(), asyncio.Event()

    @tool
    async def slow() -> str:
        """Takes a while."""
        begun.set()
        await release.wait()
        return "done"

    turns = [{"output": [say("Wait."), call("slow")]}, {"output": [say("Finished.")]}]
    async with product([slow], turns, settings=PATIENT) as p:
        chat = p.chat()
        async with starting(p, chat, "go") as first:
            await first.until("TOOL_CALL_END")
            async with asyncio.timeout(60):
                await begun.wait()
        live = p.app.state.engine.following("local", chat.thread_id)
        async with asyncio.timeout(60):
            while live._readers:
                await p.get("/healthz")
        assert live._alone is not None
        async with resuming(p, first.run_key, first.last_id) as second:
            assert live._alone is None
            release.set()
            stream = await second.end()
        assert "Finished." in second.raw
        assert stream[-1]["type"] == "RUN_FINISHED"
        whole = await rest(p, first.run_key)
        assert "".join(first.frames) + second.raw == whole
        await over(p, chat, "finished")
        await quiet(p)


async def test_a_run_that_nobody_comes_back_to_is_stopped_after_the_grace() -> None:
    turns: list[Json] = [{"output": [LONG], "fault": {"kind": "hang", "after_events": 9}}]
    async with product([], turns, settings=Settings(disconnect_grace=0.05)) as p:
        chat = p.chat()
        async with starting(p, chat, "go") as first, resuming(p, first.run_key) as second:
            await first.until("TEXT_MESSAGE_CONTENT")
            await second.until("TEXT_MESSAGE_CONTENT")
        await over(p, chat, "cancelled")
        whole = await rest(p, first.run_key)
        assert whole.startswith("".join(first.frames))
        assert '"code":"abort"' in frames(whole)[-1]
        assert (await chat.say("go on")).text == LONG["text"]
        p.assert_clean()
        await quiet(p)


async def test_one_reader_that_leaves_does_not_stop_what_another_one_reads() -> None:
    turns: list[Json] = [{"output": [LONG], "fault": {"kind": "slow", "ms": 3}}]
    async with product([], turns, settings=Settings(disconnect_grace=0)) as p:
        chat = p.chat()
        async with starting(p, chat, "go") as first:
            await first.until("TEXT_MESSAGE_START")
            async with resuming(p, first.run_key) as second:
                await second.until("TEXT_MESSAGE_START")
                await first.response.aclose()
                stream = await second.end()
        assert stream.text == LONG["text"]
        assert await rest(p, first.run_key) == second.raw


async def test_with_continue_nobody_has_to_read() -> None:
    turns: list[Json] = [{"output": [LONG], "fault": {"kind": "slow", "ms": 3}}]
    async with product([], turns, settings=Settings(disconnect_grace=0), on_disconnect="continue") as p:
        chat = p.chat()
        async with starting(p, chat, "go") as first:
            await first.until("TEXT_MESSAGE_START")
        thread = await over(p, chat, "finished")
        assert thread["messages"][-1]["content"] == LONG["text"]
        whole = await rest(p, first.run_key)
        assert whole.startswith("".join(first.frames))
        assert '"RUN_FINISHED"' in frames(whole)[-1]
        await quiet(p)


# --- refusals ---------------------------------------------------------------------------------------------------------


def _auth(request: Any) -> str | None:
    user: str | None = request.headers.get("x-user")
    return user


async def test_unknown_runs_and_other_peoples_runs_are_the_same_404() -> None:
    async with product([], [{"output": [say("Hi.")], "repeat": True}], auth=_auth) as p:
        alice, bob = {"x-user": "alice"}, {"x-user": "bob"}
        stream = await p.chat(headers=alice).say("go")
        answers = []
        for key in (stream.run_key, "run_0123456789abcdef", "nonsense"):
            response = await p.client.get(f"{p.url}/runs/{key}/events", headers=bob)
            answers.append((response.status_code, response.content))
        assert len(set(answers)) == 1
        assert answers[0][0] == 404
        assert json.loads(answers[0][1])["error"]["code"] == "not_found"
        assert (await p.client.get(f"{p.url}/runs/{stream.run_key}/events")).status_code == 401
        async with resuming(p, stream.run_key, headers=alice) as mine:
            await mine.end()
        assert mine.raw == stream.raw


WRONG = (
    "{other}:1 {key}:{next} {key}:99999999999999999999 {key}: :1 {key}:-1 -1 {key}:1.5 x {key} {key}:1:2 0x1 1e1 +1 "
    "{key}%:1 1%1 {upper}:1 null \u00b2 \u0663"
)


@pytest.mark.parametrize("cursor", WRONG.split())
async def test_a_cursor_that_is_no_event_of_this_run_is_refused(cursor: str) -> None:
    async with product([], [{"output": [say("Hi.")], "repeat": True}]) as p:
        chat = p.chat()
        other, stream = await p.chat().say("go"), await chat.say("go")
        key = stream.run_key
        text = cursor.replace("%", " ").format(other=other.run_key, key=key, next=len(stream), upper=key.upper())
        url = f"{p.url}/runs/{key}/events"
        answers = [await p.client.get(url, params={"after": text})]
        answers.append(await p.client.get(url, headers={b"last-event-id": text.encode()}))
        for answer in answers:
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request"), text


async def test_a_cursor_that_is_older_than_what_is_kept_is_gone() -> None:
    turns = [{"output": [{"type": "message", "text": "word " * 2000}]}]
    async with product([], turns, settings=Settings(events_bytes=16 * 1024)) as p:
        chat = p.chat()
        stream = await chat.say("go")
        assert stream.text == "word " * 2000, "whoever reads along misses nothing"
        for cursor in (None, "0", f"{stream.run_key}:40"):
            params = {} if cursor is None else {"after": cursor}
            answer = await p.client.get(f"{p.url}/runs/{stream.run_key}/events", params=params)
            assert (answer.status_code, answer.json()["error"]["code"]) == (410, "gone")
            assert f"GET /threads/{chat.thread_id}" in answer.json()["error"]["message"]
        whole = frames(stream.raw)
        kept = p.app.state.engine.bus._runs[stream.run_key].log
        # About one, a block less or more; more only where the reader was slow.
        assert 13 * 1024 <= kept.size < (PATIENCE + 1) * 16 * 1024
        for seq in range(kept.first_seq - 1, len(whole)):
            assert await rest(p, stream.run_key, str(seq)) == "".join(whole[seq + 1 :])


async def test_events_that_are_no_longer_kept_are_not_found() -> None:
    async with product([], [{"output": [say("Hi.")], "repeat": True}], settings=Settings(events_seconds=0)) as p:
        stream = await p.chat().say("go")
        async with resuming(p, stream.run_key) as reader:
            assert reader.status == 404
        assert not p.app.state.engine.bus._runs


async def test_an_empty_last_event_id_is_none() -> None:
    async with product([], [{"output": [say("Hi.")], "repeat": True}]) as p:
        stream = await p.chat().say("go")
        assert await rest(p, stream.run_key, "") == stream.raw
        assert await rest(p, stream.run_key, "", query=True) == stream.raw
