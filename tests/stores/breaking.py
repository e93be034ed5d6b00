"""Looking at what goes to PostgreSQL, and breaking connections at chosen moments."""

from collections.abc import Callable
from typing import Any

import pytest

from agui_gate.stores.postgres.connection import Connection


def spy(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What is sent from now on."""
    sent: list[bytes] = []
    send = Connection.send

    def spying(self: Connection, query: bytes) -> None:
        sent.append(query)
        send(self, query)

    monkeypatch.setattr(Connection, "send", spying)
    return sent


def lose(monkeypatch: pytest.MonkeyPatch, when: Callable[[bytes], bool], *, before: bool, sent: bool = False) -> None:
    """Break the connection once: before what ``when`` is true of is sent, or after it was answered. ``sent``: what is
    lost before has gone out, and never arrives.
    """
    send, receive, armed = Connection.send, Connection.receive, [True]

    def sending(self: Connection, query: bytes) -> None:
        if armed and when(query):
            armed.clear()
            if before and not sent:
                self._break()
            else:
                monkeypatch.setattr(self, "receive", lambda: losing(self), raising=False)
                query = b"SELECT 1" if before else query
        send(self, query)

    async def losing(self: Connection) -> Any:
        await receive(self)
        self._results = []
        self._break()
        return await receive(self)

    monkeypatch.setattr(Connection, "send", sending)
