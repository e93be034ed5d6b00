"""The requests of a check, as whoever wants to see a finding for themselves sends them again."""

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agui_gate_adapters.testkit.spec.finding import Json, word

MOST_BODY = 100_000
"""Characters of a body that are told. A history may hold whatever the server said."""


@dataclass(frozen=True, slots=True)
class Request:
    """One POST. ``number`` counts from 1. What was given with `--header` is named, its values aren't told."""

    number: int
    url: str
    headers: Mapping[str, str]
    secrets: tuple[str, ...]
    body: Json | bytes

    @property
    def thread(self) -> str:
        """The thread that it is about; "" where none can be read."""
        return word(self.body, "threadId") if isinstance(self.body, dict) else ""

    def told(self) -> dict[str, Any]:
        """As JSON."""
        text = self._text()
        body: Any = self.body if isinstance(self.body, dict) else text
        headers = {**self.headers, **dict.fromkeys(self.secrets, "…")}
        left_out = {"body": body} if len(text) <= MOST_BODY else {"body": None, "characters": len(text)}
        return {"number": self.number, "method": "POST", "url": self.url, "headers": headers, **left_out}

    def curl(self) -> str:
        """As a line for a shell. The headers that were given have their names in place of values."""
        text = self._text()
        if len(text) > MOST_BODY:
            return f"# request {self.number} has {len(text):,} characters: too long for a line"
        given = {name: f"${name.upper().replace('-', '_')}" for name in self.secrets}
        heads = [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in self.headers.items()]
        heads += [f'-H "{name}: {value}"' for name, value in given.items()]
        return " ".join(["curl -sN", shlex.quote(self.url), *heads, "--data-binary", shlex.quote(text)])

    def _text(self) -> str:
        return self.body.decode("ascii", "replace") if isinstance(self.body, bytes) else json.dumps(self.body)


@dataclass(slots=True)
class Requests:
    """All that were sent, in their order."""

    sent: list[Request] = field(default_factory=list)

    def keep(self, url: str, headers: Mapping[str, str], secrets: Iterable[str], body: Json | bytes) -> int:
        """Take one in; its number."""
        self.sent.append(Request(len(self.sent) + 1, url, dict(headers), tuple(secrets), body))
        return len(self.sent)

    def upto(self, number: int) -> list[Request]:
        """One with those that came before it on its thread: what it takes to see its answer again."""
        last = self.sent[number - 1]
        earlier = [one for one in self.sent[: number - 1] if last.thread and one.thread == last.thread]
        return [*earlier, last]
