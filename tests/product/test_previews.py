"""A tool's arguments are shown in the shared state while they arrive, and taken back when its call has ended."""

import asyncio
import json
from typing import Any

import pytest
from pydantic import BaseModel

from agui_gate import Agent, ToolContext, ToolError, adapter, create_app, tool
from agui_gate.config.settings import Settings
from agui_gate.errors import ProviderUnavailable
from agui_gate_adapters.testkit.spec import breaches
from tests.conforming import DEPARTURES, conforms
from tests.product.inprocess import Parrot, request, run, run_body, says, started, user
from tests.product.kit import CARD_TOOL, TIMEOUT, product
from tests.product.shop import call, script
from tests.product.test_emit import state_of, states_of
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, conforms("SNAP-2", "STATE-1"), shows("H1")]
Json = dict[str, Any]
DONE = adapter.TurnDone()
TEXT = "Once upon a time there was a gate. " * 40


class Draft(BaseModel):
    title: str = "untitled"
    text: str = ""


class Board(BaseModel):
    draft: Draft = Draft()


@tool(streams_to="draft")
async def write(text: str, ctx: ToolContext) -> str:
    """Write the draft."""
    ctx.state["draft"] = {**ctx.state.get("draft", {}), "text": text.strip()}
    return "written"


@tool(streams_to="draft")
def forget(text: str) -> str:
    """Shows a draft, and writes nothing."""
    return "forgotten"


@tool(streams_to="/draft")
async def fail(text: str) -> str:
    """Shows a draft, and fails."""
    raise ToolError("The disk is full.")


@tool(streams_to="draft", gate=True)
async def publish(text: str, ctx: ToolContext) -> str:
    """Writes the draft, if a person agrees."""
    ctx.state["draft"] = {**ctx.state.get("draft", {}), "text": text.strip(), "published": True}
    return "published"


def arriving(name: str, arguments: Any, piece: int = 20, *, end: bool = True) -> list[Any]:
    """Events of a call whose arguments come in small pieces."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    pieces = [adapter.CallDelta("c", text[at : at + piece]) for at in range(0, len(text), piece)]
    return [adapter.CallStart("c", "call_1", name), *pieces, *([adapter.CallEnd("c", text)] if end else [])]


async def told(plan: list[Any], held: Json, tools: list[Any], **agent: Any) -> tuple[list[Json], list[Any], Any]:
    """The events of one run, what its client held after each of them, and what is kept."""
    app = create_app(
        Agent(name="a", model=Parrot([[*plan, DONE], [*says("ok"), DONE]]), tools=tools, **agent),
        store="memory://",
        settings=Settings(),
    )
    async with started(app):
        body = run_body("t", user("go", "u1"), state=held)
        answer = await run(app, body)
        found = [b for b in breaches(answer.body.decode(), input=body) if b.rule not in DEPARTURES]
        assert not found, found
        events = answer.events()
        states = list(states_of(events, held))
        return events, states, (await request(app, "GET", "/threads/t")).json()["state"]


HELD = {"draft": {"title": "t", "text": "old"}, "other": "x" * 50}


async def test_the_page_sees_the_arguments_grow_and_then_what_the_tool_did() -> None:
    events, states, kept = await told(arriving("write", {"text": TEXT}), HELD, [write])
    seen = [state["draft"]["text"] for state in states]
    growing = sorted(set(seen), key=seen.index)
    assert growing[0] == "old"
    assert len(growing) > 8
    assert all(TEXT.startswith(text) for text in growing[1:])
    assert growing[-2:] == [TEXT, TEXT.strip()]
    assert {state["draft"]["title"] for state in states} == {"t"}
    assert kept == states[-1] == {**HELD, "draft": {"title": "t", "text": TEXT.strip()}}
    assert [event["snapshot"] for event in events if event["type"] == "STATE_SNAPSHOT"] == [HELD]


async def test_a_long_argument_in_tiny_pieces_makes_few_events() -> None:
    events, _, _ = await told(arriving("write", {"text": "x" * 20_000}, 1), HELD, [write])
    deltas = [event for event in events if event["type"] == "STATE_DELTA"]
    assert len(deltas) < 60
    assert sum(len(json.dumps(event)) for event in deltas) < 14 * 20_000


@pytest.mark.parametrize(
    ("name", "arguments", "end"),
    [
        ("forget", {"text": TEXT}, True),
        ("fail", {"text": TEXT}, True),
        ("write", {"text": TEXT, "unknown": {"deep": 1}, "and": 5} | {"text": [TEXT]}, True),
        ("write", '{"text": "' + TEXT, True),
        ("write", '{"text": "' + TEXT, False),
    ],
    ids=["does something else", "fails", "wrong arguments", "malformed", "without an end"],
)
async def test_it_is_taken_back(name: str, arguments: Any, end: bool) -> None:
    plan = arriving(name, arguments, end=end)
    _, states, kept = await told(plan, HELD, [write, forget, fail])
    assert any(state["draft"] != HELD["draft"] for state in states)
    assert kept == states[-1] == HELD


async def test_it_is_taken_back_where_the_answer_breaks_off() -> None:
    plan = [*arriving("write", {"text": TEXT}, end=False), ProviderUnavailable("gone"), ProviderUnavailable("gone")]
    events, states, kept = await told(plan, {}, [write])
    assert events[-1]["type"] == "RUN_ERROR"
    assert any("draft" in state for state in states)
    assert kept == states[-1] == {}


async def test_what_does_not_fit_the_model_is_shown_and_never_kept() -> None:
    plan = arriving("forget", {"text": TEXT, "more": 1})
    held = {"draft": {"title": "t", "text": "old"}}
    _, states, kept = await told(plan, held, [forget], state=Board)
    assert any("more" in state["draft"] for state in states)
    assert kept == states[-1] == held


async def test_a_place_that_can_not_be_is_shown_nothing() -> None:
    events, states, _ = await told(
        arriving("forget", {"text": TEXT}), {"draft": [1]}, [tool(streams_to="draft.text")(nothing)]
    )
    assert [event for event in events if event["type"].startswith("STATE")] == []
    assert states[-1] == {"draft": [1]}


def nothing(text: str) -> str:
    """Does nothing."""
    return "nothing"


# --- while a person is asked ------------------------------------------------------------
ASKED = {**HELD, "draft": {"title": "t", "text": TEXT}}


@pytest.mark.parametrize("card", [True, False])
@pytest.mark.parametrize("accepted", [True, False])
async def test_it_stays_while_a_person_is_asked_and_comes_back_as_no_word_of_the_page(
    card: bool, accepted: bool
) -> None:
    async with product([publish], script(call("publish", text=TEXT))) as p:
        chat = p.chat(state=HELD, tools=[CARD_TOOL] if card else [])
        asked = await chat.say("publish it")
        begun = [{"type": "STATE_SNAPSHOT", "snapshot": HELD}]
        assert state_of([*begun, *asked]) == ASKED
        assert (await p.get(f"/threads/{chat.thread_id}"))["state"] == HELD
        chat.state = ASKED  # as a client sends it back
        if card:
            done = await chat.answer((next(iter(asked.cards)), {"accepted": accepted}))
        else:
            done = await chat.resume((asked.interrupts[0]["id"], {"approved": accepted}))
        after = {**HELD, "draft": {"title": "t", "text": TEXT.strip(), "published": True}} if accepted else HELD
        assert (await p.get(f"/threads/{chat.thread_id}"))["state"] == after
        assert state_of([{"type": "STATE_SNAPSHOT", "snapshot": ASKED}, *done]) == after


@pytest.mark.parametrize("accepted", [True, False])
async def test_what_was_decided_elsewhere_is_not_taken_back_by_it(accepted: bool) -> None:
    async with product([publish], script(call("publish", text=TEXT))) as p:
        chat = p.chat(state=HELD, tools=[CARD_TOOL])
        await chat.say("publish it")
        (waiting,) = (await p.get("/approvals"))["approvals"]
        await p.decide(waiting["id"], {"approved": accepted})
        after = (await p.get(f"/threads/{chat.thread_id}"))["state"]
        assert ("published" in after["draft"]) == accepted
        stream = await chat.say("and?", state={**ASKED, "tab": "mine"})
        assert stream[1] == {"type": "STATE_SNAPSHOT", "snapshot": {**after, "tab": "mine"}}
        assert (await p.get(f"/threads/{chat.thread_id}"))["state"] == {**after, "tab": "mine"}


async def test_what_the_page_changed_in_it_is_its_own() -> None:
    async with product([publish], script(call("publish", text=TEXT))) as p:
        chat = p.chat(state=HELD)
        asked = await chat.say("publish it")
        chat.state = {**HELD, "draft": {"title": "t", "text": "my own words"}}
        await chat.resume((asked.interrupts[0]["id"], {"approved": False}))
        assert (await p.get(f"/threads/{chat.thread_id}"))["state"] == chat.state


async def test_a_preview_that_the_model_would_not_take_does_not_lock_the_thread() -> None:
    @tool(streams_to="draft", gate=True)
    async def post(text: str, extra: int, ctx: ToolContext) -> str:
        """Posts."""
        return "posted"

    class Strict(BaseModel, extra="forbid"):
        text: str = ""

    class Page(BaseModel):
        draft: Strict = Strict()

    async with product([post], script(call("post", text=TEXT, extra=1)), state=Page) as p:
        chat = p.chat(state={"draft": {"text": "mine"}})
        asked = await chat.say("post it")
        assert (await chat.go(state={"draft": {"text": "mine", "extra": 2}})).status == 422
        chat.state = {"draft": {"text": TEXT, "extra": 1}}
        done = await chat.resume((asked.interrupts[0]["id"], {"approved": True}))
        assert (done.status, list(done.results.values())) == (200, ["posted"])
        assert (await p.get(f"/threads/{chat.thread_id}"))["state"] == {"draft": {"text": "mine"}}


# --- what a page can't send back --------------------------------------------------------------------------------------
def nested(levels: int) -> Json:
    return {"a": nested(levels - 1)} if levels > 1 else {}


@pytest.mark.parametrize(
    ("held", "more"),
    [
        (HELD, {"text": "x" * 200_000}),  # more than is shown
        ({"other": "x" * 50_000}, {"text": "x" * 20_000}),  # more than a state may have
        (HELD, {"text": TEXT, "deep": nested(63)}),  # deeper than a state may be
    ],
)
async def test_what_a_page_could_not_send_back_whole_is_not_left_there(held: Json, more: Json) -> None:
    @tool(streams_to="draft", gate=True)
    async def post(text: str, ctx: ToolContext, deep: dict[str, Any] | None = None) -> str:
        """Posts."""
        return "posted"

    text = json.dumps(more)
    pieces = [text[at : at + 10_000] for at in range(0, len(text), 10_000)]
    asking = script(call("post", **more) | {"deltas": pieces})
    async with product([post], asking, settings=Settings(state_bytes=60_000)) as p:
        chat = p.chat(state=held)
        asked = await chat.say("post it")
        chat.state = state_of([{"type": "STATE_SNAPSHOT", "snapshot": held}, *asked])
        done = await chat.resume((asked.interrupts[0]["id"], {"approved": False}))
        assert done.status == 200
        assert (await p.get(f"/threads/{chat.thread_id}"))["state"] == held


async def test_numbers_that_a_browser_writes_in_its_own_way_are_no_word_of_the_page() -> None:
    @tool(streams_to="order", gate=True)
    async def order(price: float, ctx: ToolContext) -> str:
        """Orders."""
        return "ordered"

    async with product([order], script(call("order") | {"arguments": '{"price":20.0}'})) as p:
        chat = p.chat(state=HELD)
        asked = await chat.say("order it")
        chat.state = {**HELD, "order": {"price": 20}}
        await chat.resume((asked.interrupts[0]["id"], {"approved": False}))
        assert (await p.get(f"/threads/{chat.thread_id}"))["state"] == HELD


async def test_a_stop_takes_it_back() -> None:
    at_work = asyncio.Event()

    @tool(streams_to="draft")
    async def hang(text: str) -> str:
        """Never ends."""
        at_work.set()
        return await asyncio.Event().wait()

    async with product([hang], script(call("hang", text=TEXT))) as p, asyncio.timeout(TIMEOUT):
        chat = p.chat(state=HELD)
        running = asyncio.ensure_future(chat.say("go"))
        await at_work.wait()
        await p.client.post(f"{p.url}/threads/{chat.thread_id}/cancel")
        assert state_of([{"type": "STATE_SNAPSHOT", "snapshot": HELD}, *await running]) == HELD
