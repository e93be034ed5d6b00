"""`POST /approvals/{id}` with `"continue": true`: the conversation goes on without a page (T6)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agui_gate import tool
from tests.product.kit import CARD_TOOL, TIMEOUT, Chat, Product, product
from tests.product.live import Following, cancel, connecting, over
from tests.product.shop import COLOR, PICK, SEARCH, Shop, call, outputs, refund, say, script
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T6")]
GO_ON = {"approved": True, "continue": True}


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'gate.db'}"


async def waiting(p: Product) -> list[str]:
    return [approval["id"] for approval in (await p.get("/approvals"))["approvals"]]


async def events_of(p: Product, run_key: str) -> str:
    response = await p.client.get(f"{p.url}/runs/{run_key}/events")
    assert response.status_code == 200
    return response.text


@pytest.mark.parametrize("approved", [True, False])
async def test_the_model_is_told_and_answers_with_nobody_there(store: str, approved: bool) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), store=store) as p:
        chat = p.chat(tools=[CARD_TOOL])
        await chat.say("refund A1")
        (approval_id,) = await waiting(p)
        decided = await p.decide(approval_id, {"approved": approved, "continue": True})
        assert decided["status_code"] == 200
        raw = await events_of(p, decided["run"]["key"])
        assert raw.rstrip().endswith("}"), raw
        assert '"RUN_FINISHED"' in raw
        thread = await over(p, chat, "finished")
        assert thread["run"]["key"] == decided["run"]["key"]
        assert thread["messages"][-1]["content"] == "Done."
        assert outputs(p.inputs()[-1]) == [decided["result"]]
        assert decided["state"] == ("done" if approved else "rejected")
        later = await chat.say("thanks")
        assert later.text == "Done."
        p.assert_clean()


@pytest.mark.parametrize(
    ("version", "end"),
    [(None, '"code":"limit_reached"'), ("0.9", '"code":"limit_reached"'), ("1.0", '"outcome":{"type":"cancelled"}')],
)
async def test_it_goes_on_by_the_rules_of_the_client_that_was_asked(store: str, version: str | None, end: str) -> None:
    shop = Shop()
    turns = [{"output": [refund()]}, {"output": [SEARCH], "repeat": True}]
    async with product(shop.tools, turns, store=store, max_turns=1) as p:
        await p.chat().say("refund A1", protocolVersion=version)
        decided = await p.decide((await waiting(p))[0], GO_ON)
        last = (await events_of(p, decided["run"]["key"])).rstrip().rsplit("\n\n", 1)[-1]
        assert end in last


async def test_without_the_member_the_thread_waits_for_its_next_run() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = p.chat()
        await chat.say("refund A1")
        decided = await p.decide((await waiting(p))[0], {"approved": True})
        assert "run" not in decided
        assert len(p.inputs()) == 1
        assert (await p.get(f"/threads/{chat.thread_id}"))["run"]["status"] == "waiting"


async def test_what_else_waits_holds_it_up_until_it_is_decided() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund("A1"), refund("A2"))) as p:
        chat = p.chat()
        await chat.say("refund both")
        one, two = await waiting(p)
        first = await p.decide(one, GO_ON)
        assert (first["state"], first["run"]) == ("done", None)
        assert "still pending" in first["not_continued"]
        assert len(p.inputs()) == 1
        second = await p.decide(two, {"approved": False, "continue": True})
        assert (await events_of(p, second["run"]["key"])).count("RUN_FINISHED") == 1
        assert len(p.inputs()) == 2


async def test_of_two_that_are_decided_at_once_one_goes_on() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund("A1"), refund("A2"))) as p:
        chat = p.chat()
        await chat.say("refund both")
        decided = await asyncio.gather(*(p.decide(approval_id, GO_ON) for approval_id in await waiting(p)))
        assert sorted(bool(d["run"]) for d in decided) == [False, True]
        await over(p, chat, "finished")
        assert (shop.orders, len(p.inputs())) == (["A1", "A2"], 2)


async def test_deciding_twice_goes_on_once() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = p.chat()
        await chat.say("refund A1")
        (approval_id,) = await waiting(p)
        decided = await asyncio.gather(*(p.decide(approval_id, GO_ON) for _ in range(4)))
        assert sorted(d["status_code"] for d in decided) == [200, 409, 409, 409]
        assert len([d for d in decided if d.get("run")]) == 1
        await over(p, chat, "finished")
        assert (shop.orders, len(p.inputs())) == (["A1"], 2)


class Slow(Shop):
    """A shop whose `wait` ends when it is let go, and the turns of a model that refunds and then waits."""

    turns: Any = [  # noqa: RUF012 read only
        {"output": [refund()]},
        {"output": [call("wait")]},
        {"output": [say("Done.")]},
    ]

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()

        @tool
        async def wait() -> str:
            """Wait."""
            await self.go.wait()
            return "waited"

        self.tools.append(wait)


@pytest.mark.parametrize("path", ["/agents/support/connect", "/copilotkit/agent/support/connect"])
async def test_who_watches_the_thread_sees_it(path: str) -> None:
    """A page asks for the thread's head; a run that it doesn't know is one to connect to."""
    shop = Slow()
    async with product(shop.tools, Slow.turns) as p:
        chat = p.chat()
        await chat.say("refund A1")
        before = await p.get(f"/threads/{chat.thread_id}?view=calls")
        decided = await p.decide((await waiting(p))[0], GO_ON)
        head = await p.get(f"/threads/{chat.thread_id}?view=calls")
        assert head["run"] == {"key": decided["run"]["key"], "status": "running"}
        assert before["run"]["key"] != head["run"]["key"]
        assert head["calls"][0]["state"] == "done"
        body = {**chat.body(), "messages": []}
        async with p.client.stream("POST", p.url + path, json=body) as response:
            reader = Following(response, body)
            await reader.until("TOOL_CALL_END")
            shop.go.set()
            seen = await reader.end()
        assert (seen.text, seen[-1]["type"]) == ("Done.", "RUN_FINISHED")


async def test_a_reader_that_leaves_doesn_t_stop_it() -> None:
    shop = Slow()
    async with product(shop.tools, Slow.turns) as p:
        chat = p.chat()
        await chat.say("refund A1")
        assert (await p.decide((await waiting(p))[0], GO_ON))["run"]
        async with connecting(p, chat) as reader:
            await reader.until("TOOL_CALL_END")
        shop.go.set()
        assert (await over(p, chat, "finished"))["messages"][-1]["content"] == "Done."


async def test_it_can_be_stopped_like_any_run() -> None:
    shop = Slow()
    async with product(shop.tools, Slow.turns) as p:
        chat = p.chat()
        await chat.say("refund A1")
        assert (await p.decide((await waiting(p))[0], GO_ON))["run"]
        assert (await cancel(p, chat))["cancelled"]
        await over(p, chat, "cancelled")


@pytest.mark.parametrize("style", ["card", "interrupt"])
async def test_what_it_asks_next_is_asked_in_the_same_style_and_without_the_page_s_tools(style: str) -> None:
    shop = Shop()
    turns: list[Any] = [{"output": [refund("A1")]}, {"output": [refund("A2")]}, {"output": [say("Done.")]}]
    async with product(shop.tools, turns) as p:
        chat = p.chat(tools=[COLOR, *([CARD_TOOL] if style == "card" else [])])
        await chat.say("refund both, one after the other")
        decided = await p.decide((await waiting(p))[0], GO_ON)
        raw = await events_of(p, decided["run"]["key"])
        assert ("confirm_changes" in raw) is (style == "card")
        assert ('"interrupt"' in raw) is (style == "interrupt")
        names = [{tool["name"] for tool in body["tools"]} for body in p.inputs()]
        assert "pick_color" in names[0]
        assert "pick_color" not in names[1]
        (second,) = await waiting(p)
        assert (await p.decide(second, GO_ON))["run"]
        await over(p, chat, "finished")
        assert shop.orders == ["A1", "A2"]
        p.assert_clean()


async def test_a_client_s_tool_that_is_open_holds_it_up() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund(), PICK)) as p:
        chat = p.chat(tools=[COLOR])
        await chat.say("refund, and a colour")
        decided = await p.decide((await waiting(p))[0], GO_ON)
        assert (decided["run"], "still pending" in decided["not_continued"]) == (None, True)


async def test_a_run_that_comes_at_the_same_moment_makes_no_second_answer() -> None:
    """Whoever is first has the thread; the other is told so, and nothing runs twice."""
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        for _ in range(10):
            p.emulator.load(script(refund()))
            shop.refunds.clear()
            chat: Chat = p.chat()
            await chat.say("refund A1")
            (approval_id,) = await waiting(p)
            decided, ran = await asyncio.gather(p.decide(approval_id, GO_ON), chat.go())
            assert decided["status_code"] in (200, 409)
            assert ran.status in (200, 409)
            if decided["status_code"] == 200 and decided["run"] is None:
                assert decided["not_continued"]
            async with asyncio.timeout(TIMEOUT):
                while (await p.get(f"/threads/{chat.thread_id}?view=calls"))["run"]["status"] == "running":
                    pass
            await chat.go()
            assert shop.orders == ["A1"]
            view = await p.get(f"/threads/{chat.thread_id}")
            assert [m["content"] for m in view["messages"] if m["role"] == "assistant" and m.get("content")] == [
                "Done."
            ]
        p.assert_clean()


async def test_deleting_meanwhile_leaves_nothing_behind() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        for _ in range(10):
            p.emulator.load(script(refund()))
            chat = p.chat()
            await chat.say("refund A1")
            (approval_id,) = await waiting(p)
            url = f"{p.url}/threads/{chat.thread_id}"
            decided, deleted = await asyncio.gather(p.decide(approval_id, GO_ON), p.client.delete(url))
            assert decided["status_code"] in (200, 404, 409, 503), decided
            assert deleted.status_code in (200, 409)
            if deleted.status_code == 409:
                deleted = await p.client.delete(url)
            async with asyncio.timeout(TIMEOUT):
                while p.app.state.engine._runs:
                    await p.get("/healthz")
            assert deleted.status_code == 200
            assert (await p.get(f"/threads/{chat.thread_id}"))["status_code"] == 404
