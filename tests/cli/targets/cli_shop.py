"""What the command line is pointed at in tests: an agent with a model of rules, which loads in a moment."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from starlette.applications import Starlette
from starlette.routing import Mount

from agui_gate import Agent, Gate, create_app, tool
from agui_gate.adapter import (
    AssistantTurn,
    CallEnd,
    CallStart,
    Finding,
    ModelEvent,
    TextDelta,
    TextEnd,
    TextStart,
    TurnDone,
    TurnRequest,
)
from agui_gate.config.settings import Settings
from agui_gate.errors import ProviderAuth
from agui_gate_adapters.mcp import MCPTools


async def until_there(path: str) -> None:
    """A file is all that a host's worker and a test have in common."""
    while not Path(path).exists():  # noqa: ASYNC110, ASYNC240  (it has no event, and is on this machine)
        await asyncio.sleep(0.05)


class RuleModel:
    """Says what it was told; "refund N" calls the gated tool, "break" fails, "half" is cut off.

    "wait" never ends, and "wait for FILE" ends when there is one.
    """

    origin = "rules"

    async def stream(self, request: TurnRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        last = request.transcript[-1]
        if isinstance(last, AssistantTurn):
            yield say(f"Result: {last.calls[0].output.content}")
            return
        text = last.content[0].text  # type: ignore[union-attr]  # tests only ever send text
        if text == "break":
            raise ProviderAuth("The key is wrong.")
        if text.startswith("refund"):
            arguments = f'{{"order_id":"A1","amount":{text.split()[1]}}}'
            yield [CallStart("c", "c1", "refund"), CallEnd("c", arguments), TurnDone()]
            return
        if text.startswith("wait"):
            yield [TextStart("t"), TextDelta("t", "Waiting")]
            await until_there(text.removeprefix("wait for "))
            yield [TextEnd("t"), TurnDone()]
            return
        if text == "half":
            yield [TextStart("t"), TextDelta("t", "You sa"), TextEnd("t"), TurnDone("incomplete", "max_tokens")]
            return
        yield say(f"You said {text}")

    async def check(self) -> Sequence[Finding]:
        return [Finding("model", True, "answers")]

    async def aclose(self) -> None:
        return


class SickModel(RuleModel):
    """Its check fails."""

    async def check(self) -> Sequence[Finding]:
        return [Finding("model", False, "the key is wrong", "Set another key.")]


class SilentModel(RuleModel):
    """Its check can't tell."""

    async def check(self) -> Sequence[Finding]:
        return [Finding("model", None, "can't tell", "Look at it.")]


class NamedModel(RuleModel):
    """Says its name first."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def stream(self, request: TurnRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        async for batch in super().stream(request):
            first, *rest = batch
            yield [first, TextDelta("t", f"{self.name}: "), *rest] if isinstance(first, TextStart) else batch

    async def check(self) -> Sequence[Finding]:
        return [Finding(f"model {self.name}", True, "answers")]


def say(text: str) -> list[ModelEvent]:
    return [TextStart("t"), TextDelta("t", text), TextEnd("t"), TurnDone()]


@tool(gate=Gate(editable=["amount"], message="Refund {amount} for {order_id}?"))
def refund(order_id: str, amount: float) -> str:
    """Refund an order."""
    with Path("refunds.txt").open("a") as file:
        file.write(f"{order_id} {amount:g}\n")
    return f"{amount:g} refunded \x1b[31m"


@tool(name="refund", gate=Gate(approvers="finance"))
def paid_by_finance(order_id: str, amount: float) -> str:
    """Refund an order."""
    return f"{amount:g} of {order_id}"


agent = Agent(name="shop", model=RuleModel(), tools=[refund])
cards = Agent(name="cards", model=RuleModel(), tools=[refund], hitl="card")
sick = Agent(name="sick", model=SickModel())
finance = Agent(name="finance", model=RuleModel(), tools=[paid_by_finance])
silent = Agent(name="silent", model=SilentModel())
toolless = Agent(name="toolless", model=RuleModel(), tools=[MCPTools.stdio("no-such-command", name="docs")])
both = [agent, cards]
app = create_app(agent, settings=Settings(store="memory://", drain_seconds=0))
outer = Starlette(routes=[Mount("/gate", app)])
number = 3
