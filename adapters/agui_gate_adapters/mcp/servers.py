"""The addresses of MCP servers, with their options. Plain data: nothing here connects or imports the SDK."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from urllib.parse import parse_qsl, urlsplit

from agui_gate.errors import ConfigurationError

Headers = Mapping[str, str] | Callable[[], Mapping[str, str] | Awaitable[Mapping[str, str]]]
"""Headers of every request, or what makes them anew for each (a token that has to be renewed)."""

SHORTEST_SECRET = 8
"""Characters from which on a value that the server was given is hidden in what the server says in errors."""

SHORTEST_KEY = 20
"""The same for parts of a URL's path, which are words as a rule, but keys with some hosts."""


@dataclass(frozen=True, slots=True)
class StdioServer:
    """A process that is started, and spoken to over its standard input and output."""

    command: str
    args: tuple[str, ...] = field(repr=False)
    env: Mapping[str, str] = field(repr=False)
    cwd: str | None = None

    def __post_init__(self) -> None:
        if not self.command:
            raise ConfigurationError("MCPTools.stdio(command, …): the command is empty")

    @property
    def where(self) -> str:
        """For people: the command without its arguments, which may hold secrets."""
        return PurePath(self.command).name

    @property
    def address(self) -> tuple[str, ...]:
        """What makes it this server and no other. Never shown: arguments may hold secrets."""
        return (self.cwd or "", self.where, *self.args)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be shown, should the server repeat it."""
        return tuple(value for value in self.env.values() if len(value) >= SHORTEST_SECRET)


@dataclass(frozen=True, slots=True)
class HTTPServer:
    """An endpoint that speaks streamable HTTP."""

    url: str = field(repr=False)
    headers: Headers = field(repr=False)
    latest: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The headers that were sent last."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError("MCPTools.http(url, …): the URL begins with http:// or https:// and a host")

    @property
    def where(self) -> str:
        """For people: host and port alone; paths and queries of such URLs may hold keys."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def address(self) -> tuple[str, ...]:
        """What makes it this server and no other: no user, no query, no header, which may be renewed."""
        parts = urlsplit(self.url)
        return (parts.scheme, self.where.lower(), parts.path)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be shown, should the server repeat it."""
        headers = self.headers if isinstance(self.headers, Mapping) else self.latest
        words = [word for value in headers.values() for word in value.split()]
        parts = urlsplit(self.url)
        found = [*words, parts.password or "", *(value for _, value in parse_qsl(parts.query))]
        keys = [part for part in parts.path.split("/") if len(part) >= SHORTEST_KEY]
        return (*keys, *(word for word in found if len(word) >= SHORTEST_SECRET))


Server = StdioServer | HTTPServer


def masked(text: str, server: Server) -> str:
    """Returns ``text`` without the secrets that the server was given."""
    for secret in server.secrets:
        text = text.replace(secret, "***")
    return text
