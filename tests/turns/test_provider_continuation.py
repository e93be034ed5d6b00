"""What an adapter says its provider remembers: kept with all of it, and refused where it could never be used."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from agui_gate import Agent, adapter, create_app
from agui_gate.core.agent_view import Viewpoint
from agui_gate.core.approvals import Approval, State
from agui_gate.core.journal import Journal
from agui_gate.core.transcript import CallPart, TurnEntry
from agui_gate.turns.model_turn import ProviderContinuation
from tests.product.inprocess import Parrot, request, run, run_body, says, started, user
from tests.stores.support import gated

pytestmark = pytest.mark.anyio


def remembering(**more: Any) -> adapter.ConversationRef:
    known: dict[str, Any] = {"turn_id": "", "origin": Parrot.origin, "previous_response_id": "resp_1", **more}
    return adapter.ConversationRef(**known)


def answering(ref: adapter.ConversationRef) -> Parrot:
    return Parrot([[*says("ok"), adapter.TurnDone(ref=ref)]] * 2)


@pytest.mark.parametrize("origin", ["", "somebody/else"])
async def test_a_ref_of_another_origin_is_refused(origin: str) -> None:
    """It was taken, and never given back: each turn began a new conversation, and nobody noticed."""
    app = create_app(Agent(name="a", model=answering(remembering(origin=origin))), store="memory://")
    async with started(app):
        end = (await run(app, run_body("t", user("hi", "u1")))).events()[-1]
    assert (end["type"], end["code"]) == ("RUN_ERROR", "internal")
    assert "ConversationRef" in end["message"]


async def test_what_an_adapter_keeps_with_a_ref_comes_back_and_nobody_is_shown_it(tmp_path: Path) -> None:
    model = answering(remembering(private={"secret-of-the-ref": 1}))
    agent = Agent(name="a", model=model)
    store = f"sqlite:///{tmp_path}/threads.db"
    async with started(create_app(agent, store=store)) as app:
        first = await run(app, run_body("t", user("hi", "u1")))
    async with started(create_app(agent, store=store)) as app:
        second = await run(app, run_body("t", user("hi", "u1"), user("more", "u2")))
        shown = await request(app, "GET", "/threads/t")
        back = await run(app, run_body("t"), path="/agents/a/connect")
    refs = [asked.ref for asked in model.requests]
    assert refs[0] is None
    assert refs[1] is not None
    assert (refs[1].private, refs[1].previous_response_id) == ({"secret-of-the-ref": 1}, "resp_1")
    for told in (first, second, shown, back):
        assert b"secret-of-the-ref" not in told.body
    assert shown.json()["messages"]


def test_a_ref_that_was_written_before_is_read() -> None:
    written = {"turn_id": "t", "origin": "o", "conversation_id": "c", "committed_at": 1}
    assert msgspec.json.decode(json.dumps(written), type=adapter.ConversationRef).private is None


CHAIN = remembering(turn_id="turn")
KEPT = remembering(turn_id="turn", previous_response_id=None, conversation_id="conv_1")
HELD = gated(call_id="c", runner="provider")


@pytest.mark.parametrize(
    ("ref", "record", "turn", "goes_on"),
    [
        (CHAIN, None, {}, True),
        (KEPT, None, {}, False),  # it may hold a request that was never answered
        (KEPT, HELD, {}, False),
        (KEPT, msgspec.structs.replace(HELD, state=State.CLAIMED), {}, True),
        (CHAIN, None, {"cut": True}, False),
        (CHAIN, None, {"agent": "another"}, False),
        (CHAIN, None, {"task": "another"}, False),
        (None, msgspec.structs.replace(HELD, state=State.CLAIMED), {}, False),
    ],
)
def test_a_task_goes_on_from_its_newest_turn(
    ref: adapter.ConversationRef | None, record: Approval | None, turn: dict[str, Any], goes_on: bool
) -> None:
    said: dict[str, Any] = {"agent": "helper", "task": "task", **turn}
    call = CallPart("c", "c", "look", "{}", "m", kind="gated")
    journal = Journal([TurnEntry("turn", (call,), Parrot.origin, ref, **said)])
    thread: Any = SimpleNamespace(journal=journal, approvals={} if record is None else {"c": record})
    continuation = ProviderContinuation(thread, Viewpoint("helper", "task"))
    assert continuation.ref == (ref if goes_on else None)
