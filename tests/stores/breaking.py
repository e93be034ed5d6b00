"""Looking at what goes to PostgreSQL, and breaking connections at chosen moments."""

from collections.abc import Callable, Sequence

import pytest

from agui_gate.stores.postgres.connection import Broken, Connection
from agui_gate.stores.sql.operations import Result


def spy(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What is sent from now on."""
    sent: list[bytes] = []
    ask = Connection.ask

    async def spying(self: Connection, *texts: bytes, within: float | None = None) -> Sequence[Result]:
        sent.append(b"; ".join(texts))
        return await ask(self, *texts, within=within)

    monkeypatch.setattr(Connection, "ask", spying)
    return sent


def lose(monkeypatch: pytest.MonkeyPatch, when: Callable[[bytes], bool], *, before: bool, sent: bool = False) -> None:
    """Break the connection once: before what ``when`` is true of is sent, or after it was answered. ``sent``: what is
    lost before has gone out, and never arrives.
    """
    ask, armed = Connection.ask, [True]

    async def losing(self: Connection, *texts: bytes, within: float | None = None) -> Sequence[Result]:
        if not armed or not when(b"; ".join(texts)):
            return await ask(self, *texts, within=within)
        armed.clear()
        if not before:
            await ask(self, *texts, within=within)
        await self.close()
        raise Broken(sent or not before)

    monkeypatch.setattr(Connection, "ask", losing)
