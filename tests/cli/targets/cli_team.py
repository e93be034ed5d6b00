"""A team of agents for the command line: the desk has a clerk look after things, and hands over to billing."""

from collections.abc import AsyncGenerator, Sequence

from agui_gate import Agent, tool
from agui_gate.adapter import (
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

Call = tuple[str, str]


class Says:
    """Says its turns one after the other: a text, or a call's name with arguments as JSON, each."""

    origin = "says"

    def __init__(self, *turns: Sequence[str | Call]) -> None:
        self._turns = list(turns)

    async def stream(self, request: TurnRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """See `Adapter`."""
        for number, part in enumerate(self._turns.pop(0)):
            key = f"{id(self)}-{len(self._turns)}-{number}"
            if isinstance(part, str):
                yield [TextStart(key), TextDelta(key, part), TextEnd(key)]
            else:
                yield [CallStart(key, f"call-{key}", part[0]), CallEnd(key, part[1])]
        yield [TurnDone()]

    async def check(self) -> Sequence[Finding]:
        """See `Adapter`."""
        return []

    async def aclose(self) -> None:
        """See `Adapter`."""


@tool(gate=True)
async def refund(order_id: str) -> str:
    """Give money back."""
    return f"{order_id} refunded"


clerk = Agent(name="clerk", model=Says(["I look.", ("refund", '{"order_id":"A1"}')], ["It is done."]), tools=[refund])
billing = Agent(name="billing", model=Says(["Billing here."]))
desk = Agent(
    name="desk",
    model=Says(["One moment.", ("clerk", '{"task":"refund A1"}')], ["I pass you on.", ("transfer_to_billing", "{}")]),
    tools=[clerk.as_tool()],
    handoffs=[billing],
)
