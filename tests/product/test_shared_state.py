"""The shared state: what comes in, what tools make of it, what clients are told, and who wins (docs/state.md)."""

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

from agui_gate import ToolContext, ToolError, tool
from tests.conforming import conforms
from tests.product.kit import CARD_TOOL, TIMEOUT, Chat, Product, Stream, product
from tests.product.live import connect
from tests.product.shop import call, say, script
from tests.product.test_emit import state_of
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, conforms("STATE-1", "SNAP-2", "IN-6"), shows("H1")]
Json = dict[str, Any]


class Item(BaseModel):
    name: str
    amount: int = Field(default=1, gt=0)


class Cart(BaseModel):
    items: list[Item] = []
    note: str = ""


@tool
async def add(what: str, ctx: ToolContext) -> str:
    """Put something into the cart."""
    if isinstance(ctx.state, Cart):
        ctx.state.items.append(Item(name=what))
    else:
        ctx.state.setdefault("items", []).append({"name": what})
    return "added"


@tool
def add_in_a_thread(what: str, ctx: ToolContext) -> str:
    """The same in a thread."""
    ctx.state.setdefault("items", []).append({"name": what})
    return "added"


@tool
async def add_and_fail(what: str, ctx: ToolContext) -> str:
    """Put something into the cart, and fail."""
    ctx.state.setdefault("items", []).append({"name": what})
    raise ToolError("It is sold out.")


@tool(gate=True)
async def add_gated(what: str, ctx: ToolContext) -> str:
    """Put something into the cart, if a person agrees."""
    ctx.state.setdefault("items", []).append({"name": what})
    return "added"


async def kept(p: Product, chat: Chat) -> Any:
    return (await p.get(f"/threads/{chat.thread_id}"))["state"]


def folded(held: Any, stream: Stream) -> Any:
    """What a client that held this has after the stream."""
    return state_of([{"type": "STATE_SNAPSHOT", "snapshot": held}, *stream])


# --- what tools change ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("adding", [add, add_in_a_thread, add_and_fail], ids=lambda t: t.name)
async def test_a_change_is_told_as_a_patch_before_the_result(adding: Any) -> None:
    async with product([adding], script(call(adding.name, what="pen"))) as p:
        held = {"user": "ada", "text": "x" * 200}
        chat = p.chat(state=held)
        stream = await chat.say("a pen")
        (delta,) = stream.of("STATE_DELTA")
        assert delta["delta"] == [{"op": "add", "path": "/items", "value": [{"name": "pen"}]}]
        assert stream.types().index("STATE_DELTA") < stream.types().index("TOOL_CALL_RESULT")
        assert [event["snapshot"] for event in stream.of("STATE_SNAPSHOT")] == [held]
        assert await kept(p, chat) == folded(held, stream) == {**held, "items": [{"name": "pen"}]}


async def test_a_client_that_knows_this_server_is_told_the_patch_alone() -> None:
    """It holds what it has sent."""
    async with product([add], script(call("add", what="pen"))) as p:
        held = {"text": "x" * 200_000}
        chat = p.chat(state=held, headers={"AGUI-Gate-Leaving": "continue"})
        stream = await chat.say("a pen")
        assert (len(stream.of("STATE_DELTA")), stream.of("STATE_SNAPSHOT")) == (1, [])
        assert len(json.dumps(stream)) < 10_000
        assert await kept(p, chat) == folded(held, stream) == {**held, "items": [{"name": "pen"}]}


async def test_tools_in_parallel_change_one_state() -> None:
    names = [f"thing {n}" for n in range(6)]
    calls = [call("add" if n % 2 else "add_in_a_thread", what=name) for n, name in enumerate(names)]
    async with product([add, add_in_a_thread], script(*calls)) as p:
        held = {"text": "x" * 500}
        chat = p.chat(state=held)
        stream = await chat.say("all of it")
        after = folded(held, stream)
        assert sorted(item["name"] for item in after["items"]) == names
        assert await kept(p, chat) == after


async def test_a_stopped_tools_changes_stand_and_are_told() -> None:
    changed = asyncio.Event()

    @tool
    async def add_and_wait(ctx: ToolContext) -> str:
        """Changes the state, and never ends."""
        ctx.state["begun"] = True
        changed.set()
        return await asyncio.Event().wait()

    async with product([add_and_wait], script(call("add_and_wait"))) as p, asyncio.timeout(TIMEOUT):
        chat = p.chat(state={"text": "x" * 100})
        running = asyncio.ensure_future(chat.say("go"))
        await changed.wait()
        await p.client.post(f"{p.url}/threads/{chat.thread_id}/cancel")
        stream = await running
        assert folded(chat.state, stream) == await kept(p, chat) == {"text": "x" * 100, "begun": True}


async def test_a_state_of_200_kb_costs_what_changes() -> None:
    large = {"rows": [{"id": n, "title": "x" * 80, "done": False} for n in range(1_800)]}
    assert len(json.dumps(large)) > 200_000

    @tool
    async def tick(row: int, ctx: ToolContext) -> str:
        """Marks a row, and adds one in front of all."""
        ctx.state["rows"][row]["done"] = True
        ctx.state["rows"].insert(0, {"id": -row})
        return "ticked"

    async with product([tick], script(*[call("tick", row=row) for row in (3, 900, 1_700)])) as p:
        chat = p.chat(state=large)
        stream = await chat.say("tick them")
        sizes = [len(json.dumps(event)) for event in stream.of("STATE_DELTA")]
        assert 0 < sum(sizes) < 3 * 300
        assert [event["snapshot"] for event in stream.of("STATE_SNAPSHOT")] == [large]  # the baseline, once
        assert folded(large, stream) == await kept(p, chat)


async def test_who_connects_later_is_told_the_whole_state() -> None:
    async with product([add], script(call("add", what="pen"))) as p:
        chat = p.chat(state={"user": "ada"})
        await chat.say("a pen")
        told = await connect(p, p.chat(thread_id=chat.thread_id))
        assert state_of(told) == {
            "user": "ada",
            "items": [{"name": "pen"}],
        }


# --- a model ----------------------------------------------------------------------------------------------------------
async def test_a_state_that_does_not_fit_is_refused_before_the_stream_and_changes_nothing() -> None:
    async with product([add], script(call("add", what="pen")), state=Cart) as p:
        chat = p.chat(state={"items": [{"name": "ink"}]})
        await chat.say("a pen")
        before = await kept(p, chat)
        assert [item["name"] for item in before["items"]] == ["ink", "pen"]
        refused = await chat.say("more", state={"items": [{"name": "ink", "amount": -1}]})
        assert (refused.status, refused[0]["error"]["code"]) == (422, "invalid_request")
        assert refused[0]["error"]["message"] == "state.items.0.amount: Input should be greater than 0"
        for wrong in ([1], 5, "text", {"items": "none"}):
            assert (await chat.go(state=wrong)).status == 422
        assert await kept(p, chat) == before
        assert (await chat.go(state=before)).status == 200


class Basket(BaseModel, extra="forbid"):
    goods: list[str] = []


async def test_a_page_with_a_state_of_before_the_model_changed_can_go_on(tmp_path: Path) -> None:
    """It counts as none. The page was told it all the same, before and after its reload, and sends it back."""
    store = f"sqlite:///{tmp_path / 'gate.db'}"
    async with product([add], script(call("add", what="pen")), store=store, state=Cart) as p:
        chat = p.chat()
        await chat.say("a pen")
        older = await kept(p, chat)
        assert [item["name"] for item in older["items"]] == ["pen"]
    async with product([], script(say("Hello.")), store=store, state=Basket) as p:
        chat.product, chat.url = p, p.url
        told = state_of(await connect(p, p.chat(thread_id=chat.thread_id)))
        for held in (older, told):
            stream = await chat.say("more", state=held)
            assert stream[1] == {"type": "STATE_SNAPSHOT", "snapshot": {"goods": []}}
        assert (await chat.say("and more", state={**older, "note": "mine"})).status == 422, "that is the page's word"
        assert (await chat.say("and more", state={"goods": ["ink"]})).status == 200
        assert await kept(p, chat) == {"goods": ["ink"]}
        assert (await chat.say("and more", state=older)).status == 422, "it is kept no more"


async def test_a_page_that_says_nothing_is_shown_the_models_defaults() -> None:
    async with product([add], script(call("add", what="pen")), state=Cart) as p:
        chat = p.chat()
        stream = await chat.say("a pen")
        assert stream[1] == {"type": "STATE_SNAPSHOT", "snapshot": {"items": [], "note": ""}}
        after = {"items": [{"name": "pen", "amount": 1}], "note": ""}
        assert folded({}, stream) == await kept(p, chat) == after
        for nothing in ({}, None):
            again = await chat.say("and?", state=nothing)
            assert again[1] == {"type": "STATE_SNAPSHOT", "snapshot": after}
        assert await kept(p, chat) == after


async def test_where_nothing_is_kept_whoever_looks_is_shown_the_models_defaults() -> None:
    async with product([add], script(say("Hello.")), state=Cart) as p:
        chat = p.chat()
        defaults = {"items": [], "note": ""}
        assert state_of(await chat.say("hello")) == defaults
        assert state_of(await connect(p, p.chat(thread_id=chat.thread_id))) == defaults
        assert await kept(p, chat) == defaults


async def test_a_state_is_shown_as_the_model_reads_it() -> None:
    async with product([add], script(call("add", what="pen")), state=Cart) as p:
        chat = p.chat(state={"items": [{"name": "ink", "amount": "2"}], "unknown": 1})
        stream = await chat.say("hello")
        assert stream[1]["snapshot"] == {"items": [{"name": "ink", "amount": 2}], "note": ""}


@pytest.mark.parametrize("spoil", ["note", "items"])
async def test_what_a_tool_makes_that_does_not_fit_is_undone_and_its_result_stands(spoil: str) -> None:
    @tool
    async def break_it(ctx: ToolContext) -> str:
        """Puts something into the state that is not of its type."""
        ctx.state.note = "half of it"
        setattr(ctx.state, spoil, 5)
        return "broken"

    async with product([break_it], script(call("break_it")), state=Cart) as p:
        chat = p.chat(state={"items": [], "note": "mine"})
        stream = await chat.say("go")
        assert list(stream.results.values()) == ["broken"]
        assert "STATE_DELTA" not in stream.types()
        assert await kept(p, chat) == {"items": [], "note": "mine"}


# --- who wins ---------------------------------------------------------------------------------------------------------
async def decided_elsewhere(p: Product, held: Json) -> Chat:
    """A tool has changed the state where this client could not see it."""
    chat = p.chat(state=held, tools=[CARD_TOOL])
    await chat.say("a pen")
    (waiting,) = (await p.get("/approvals"))["approvals"]
    assert (await p.decide(waiting["id"], {"approved": True}))["state"] == "done"
    assert await kept(p, chat) == {**held, "items": [{"name": "pen"}]}
    return chat


async def test_a_state_of_before_takes_nothing_back() -> None:
    async with product([add_gated], script(call("add_gated", what="pen"))) as p:
        chat = await decided_elsewhere(p, {"tab": "a"})
        stream = await chat.say("and?")  # with the state of before
        after = {"tab": "a", "items": [{"name": "pen"}]}
        assert stream[1] == {"type": "STATE_SNAPSHOT", "snapshot": after}
        assert await kept(p, chat) == after
        chat.state = {"tab": "a"}  # now it has seen it, so that is what it wants
        await chat.say("empty it")
        assert await kept(p, chat) == {"tab": "a"}


async def test_a_state_of_before_takes_nothing_back_where_a_browser_writes_its_numbers() -> None:
    @tool(gate=True)
    async def pay(ctx: ToolContext) -> str:
        """Pays."""
        ctx.state["paid"] = 20.0
        return "paid"

    @tool
    async def price(ctx: ToolContext) -> str:
        """What nothing costs."""
        ctx.state["paid"] = 0.0
        return "free"

    async with product([pay, price], script(call("price"), call("pay"))) as p:
        chat = p.chat(state={"tab": "a"}, tools=[CARD_TOOL])
        await chat.say("pay")
        (waiting,) = (await p.get("/approvals"))["approvals"]
        await p.decide(waiting["id"], {"approved": True})
        await chat.say("and?", state={"tab": "b", "paid": 0})  # as JavaScript writes 0.0
        assert await kept(p, chat) == {"tab": "b", "paid": 20.0}


@pytest.mark.parametrize("levels", [63, 64, 200])
async def test_a_state_that_no_page_could_send_back_is_undone(levels: int) -> None:
    @tool
    async def deepen(ctx: ToolContext) -> str:
        """Leaves a state that nests so deep, and one more."""
        inner = ctx.state
        for _ in range(levels):
            inner["a"] = inner = {}
        return "done"

    async with product([deepen], script(call("deepen"))) as p:
        chat = p.chat(state={"tab": "a"})
        stream = await chat.say("go")
        assert list(stream.results.values()) == ["done"]
        held = await kept(p, chat)
        assert (held == {"tab": "a"}) == (levels > 63)
        assert (await chat.say("and?", state=held)).status == 200


async def test_a_number_that_json_has_not_is_undone_in_a_model_too() -> None:
    class Sum(BaseModel):
        total: float = 0
        note: str | None = None

    @tool
    async def divide(ctx: ToolContext) -> str:
        """By zero."""
        ctx.state.total = math.inf
        return "done"

    async with product([divide], script(call("divide")), state=Sum) as p:
        chat = p.chat(state={"total": 1})
        await chat.say("go")
        assert await kept(p, chat) == {"total": 1, "note": None}
        refused = await chat.go(state={"total": "NaN"})
        assert (refused.status, refused[0]["error"]["code"]) == (422, "invalid_request")


async def test_what_the_page_has_changed_meanwhile_is_kept_beside_what_the_tool_did() -> None:
    async with product([add_gated], script(call("add_gated", what="pen"))) as p:
        chat = await decided_elsewhere(p, {"tab": "a", "gone": 1})
        stream = await chat.say("and?", state={"tab": "b", "new": True})
        after = {"tab": "b", "items": [{"name": "pen"}], "new": True}
        assert stream[1] == {"type": "STATE_SNAPSHOT", "snapshot": after}
        assert await kept(p, chat) == after


async def test_where_both_changed_the_same_the_page_has_the_last_word() -> None:
    async with product([add_gated], script(call("add_gated", what="pen"))) as p:
        chat = await decided_elsewhere(p, {"tab": "a"})
        await chat.say("and?", state={"tab": "a", "items": []})
        assert await kept(p, chat) == {"tab": "a", "items": []}


async def test_changes_that_do_not_go_together_leave_what_is_kept() -> None:
    @tool(gate=True)
    async def clear(ctx: ToolContext) -> str:
        """Empties the cart."""
        del ctx.state["cart"]
        return "empty"

    async with product([clear], script(call("clear"))) as p:
        chat = p.chat(state={"cart": {"pens": 1}}, tools=[CARD_TOOL])
        await chat.say("empty it")
        (waiting,) = (await p.get("/approvals"))["approvals"]
        await p.decide(waiting["id"], {"approved": True})
        stream = await chat.say("and?", state={"cart": {"pens": 2}})
        assert stream[1] == {"type": "STATE_SNAPSHOT", "snapshot": {}}
        assert await kept(p, chat) == {}


async def test_a_page_that_lost_the_end_of_a_run_takes_nothing_back() -> None:
    async with product([add], script(call("add", what="pen"))) as p:
        chat = p.chat(state={"tab": "a"})
        await chat.say("hello")
        messages, chat.state = list(chat.messages), await kept(p, chat)
        p.emulator.load(script(call("add", what="ink")))
        await chat.say("ink")
        chat.messages = messages  # nothing of that run came
        await chat.say("and now?")
        assert [item["name"] for item in (await kept(p, chat))["items"]] == ["pen", "ink"]


async def test_who_asks_again_has_seen_what_the_dropped_answer_did() -> None:
    async with product([add], script(call("add", what="pen"))) as p:
        chat = p.chat(state={"tab": "a"})
        await chat.say("a pen")
        del chat.messages[1:]
        await chat.go(state={"tab": "b", "items": [{"name": "pen"}, {"name": "mine"}]})
        assert [item["name"] for item in (await kept(p, chat))["items"]] == ["pen", "mine"]


async def test_a_large_change_elsewhere_is_not_taken_back_either() -> None:
    @tool(gate=True)
    async def fill(ctx: ToolContext) -> str:
        """Changes so much that the way back is not kept."""
        ctx.state["text"] = "new"
        return "filled"

    async with product([fill], script(call("fill"))) as p:
        chat = p.chat(state={"text": "old" * 10_000}, tools=[CARD_TOOL])
        await chat.say("fill it")
        (waiting,) = (await p.get("/approvals"))["approvals"]
        await p.decide(waiting["id"], {"approved": True})
        await chat.say("and?", state={"text": "old" * 10_000, "mine": 1})
        assert await kept(p, chat) == {"text": "new"}
