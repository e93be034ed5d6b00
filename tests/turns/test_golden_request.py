"""What a model is sent, to the byte, where everything is on that adds to a request.

Providers keep what a request has in common with the one before (prompt caches), so nothing changes in it unseen. The
files beside this one have a request on each line, as they were before requests were made in steps.
`python -m tests.turns.test_golden_request` writes them anew: only for a change of a prompt that is meant.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import msgspec
import pytest
from pydantic import BaseModel

from agui_gate import Agent, LastRounds, Situation, Summary, Tool, ToolContext, adapter, create_app, tool
from agui_gate.agents.context_window import History
from agui_gate.config.settings import Settings
from agui_gate.errors import FormRefused, MediaRefused, Unavailable
from agui_gate.runs import engine
from agui_gate.stores.memory import MemoryStore
from tests.product.inprocess import Answer, Json, Parrot, calls, run, run_body, says, started, user
from tests.stores.support import Clock

DONE = adapter.TurnDone()
HERE = Path(__file__).parent
CONTEXT = [{"description": "locale", "value": "de"}, {"description": "page", "value": {"path": "/orders"}}]
SYSTEM = {"id": "s1", "role": "system", "content": "Be brief."}
PNG = {"type": "binary", "mimeType": "image/png", "data": "iVBORw0KGgo="}
LONG = "Tell me all that there is to know about gates and fences. " * 6


class Draft(BaseModel):
    text: str = ""


class Board(BaseModel):
    draft: Draft = Draft()
    paid: int = 0


class Order(BaseModel):
    status: Literal["open", "done"]


@tool(streams_to="draft")
async def write(text: str, ctx: ToolContext) -> str:
    """Write the draft."""
    ctx.state.draft.text = text
    return "written"


@tool(gate=True)
async def pay(amount: int, ctx: ToolContext) -> str:
    """Pay."""
    ctx.state.paid += amount
    return "paid"


async def instruct(situation: Situation) -> str:
    """The situation."""
    about = {entry.description: entry.value for entry in situation.context}
    return f"You help {situation.principal}. {about} {situation.forwarded_props} {situation.state!r}"


class Away:
    """A source that can't be reached."""

    name = "docs"

    async def tools(self) -> Sequence[Tool]:
        """None of them."""
        raise Unavailable("It is away.")

    async def check(self) -> Sequence[adapter.Finding]:
        """Nothing."""
        return ()

    async def aclose(self) -> None:
        """Nothing."""


class Model(Parrot):
    """It tells of the state beside its answers, and takes any form of them if it is ``told``."""

    shares_state = True

    def __init__(self, plan: Sequence[Any], *, told: bool) -> None:
        super().__init__(plan)
        self.told = told

    def tells_output(self, output: adapter.OutputSpec, *, tools: bool) -> bool:
        """Whether it is told the form."""
        return self.told


Case = tuple[History | None, bool, Literal["context", "as_sent", "drop"]]
CASES: dict[str, Case] = {
    "refused": (LastRounds(1), True, "context"),
    "summary": (Summary(over=100, keep=50), False, "context"),
    "whole": (None, False, "as_sent"),
    "dropped": (LastRounds(2), False, "drop"),
}
PLAN = [
    [adapter.StateChanged({"draft": {"text": "theirs"}}), *says("Hm."), *calls("write", {"text": "mine"}, "w1"), DONE],
    [*calls("pay", {"amount": 5}, "p1"), DONE],
    [*says('{"status": "gone"}'), DONE],
    [*says('{"status": "done"}'), DONE],
    [*calls("write", {"text": "more"}, "w2"), DONE],
    [*says('{"status": "open"}'), DONE],
    [MediaRefused("no", value="iVBORw0KGgo=")],
    [*says('{"status": "done"}'), DONE],
]


def body(*messages: Json, **more: Any) -> Json:
    return run_body("t", *messages, context=CONTEXT, forwardedProps={"plan": [1, None]}, tools=[SHOW], **more)


SHOW = {"name": "show", "description": "Show it.", "parameters": {"type": "object", "properties": {}}}


async def requests_of(case: Case) -> list[adapter.TurnRequest]:
    """What the model was sent in four runs: asked, answered, gone on with, and asked anew; then what its scribe was."""
    history, told, roles = case
    model = Model([[FormRefused("no")], *PLAN] if told else PLAN, told=told)
    scribe = Parrot([[*says(f"They wanted {what}."), DONE] for what in ("it written", "it paid", "more", "nothing")])
    if isinstance(history, Summary):
        history = replace(history, model=scribe)
    agent = Agent(
        name="a",
        model=model,
        tools=[write, pay, Away()],
        instructions=instruct,
        history=history,
        state=Board,
        output=Order,
        client_roles=roles,
        hitl="interrupt",
    )
    app = create_app(agent, store=MemoryStore(clock=Clock()), settings=Settings())
    async with started(app):
        asked = await run(app, body(SYSTEM, user(f"Write and pay. {LONG}", "u1"), state={"draft": {"text": "ours"}}))
        (interrupt,) = asked.events()[-1]["outcome"]["interrupts"]
        yes = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
        ended(await run(app, body(SYSTEM, user(f"Write and pay. {LONG}", "u1"), resume=[yes])))
        ended(await run(app, body(SYSTEM, user(f"Write and pay. {LONG}", "u1"), user(f"More. {LONG}", "u2"))))
        anew = user([{"type": "text", "text": f"See. {LONG}"}, PNG], "u1")
        ended(await run(app, body(SYSTEM, anew)))
    return [*model.requests, *scribe.requests]


def ended(answer: Answer) -> None:
    assert answer.events()[-1]["type"] == "RUN_FINISHED", answer.events()[-1]


def written(case: str) -> str:
    """The requests of a case as text. Ids are counted, and no time passes."""
    ids = count(1)

    def fresh() -> str:
        return f"{next(ids):032x}"

    with patch.object(engine, "new_id", fresh):
        made = asyncio.run(requests_of(CASES[case]))
    told = [msgspec.to_builtins(request) for request in made]
    for request in told:
        del request["beginning"], request["size"]  # what adapters need not make again: no part of what a model is sent
    return "".join(json.dumps(request, ensure_ascii=False) + "\n" for request in told)


@pytest.mark.parametrize("case", CASES)
def test_requests_are_what_they_were(case: str) -> None:
    assert written(case) == (HERE / f"golden_{case}.jsonl").read_text()


if __name__ == "__main__":
    for name in CASES:
        (HERE / f"golden_{name}.jsonl").write_text(written(name))
