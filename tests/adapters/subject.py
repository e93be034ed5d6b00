"""What the tests of every adapter have to know about one of them: a record, and the ways in which it is used."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from agui_gate_adapters.testkit import Emulator

from .support import Handler, Json, Model, provider, waits
from .threads import Talks, Thread, talking_to


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One adapter. ``str`` of it is the name of its package."""

    name: str
    make: type[Any]
    thread: Callable[[Any], Talks] = Thread

    sdk: str
    """The module of the SDK."""
    client: Callable[..., Any]
    blocking_client: Callable[..., Any]
    install: str
    """What brings the SDK."""
    variables: str
    """How the names of its environment variables begin."""
    no_variables: tuple[str, ...] = ()
    """What else the SDK takes a key from."""
    needs_a_key_everywhere: bool = True
    """Also where an address is given."""

    origin: str
    """What comes before the host."""
    origin_elsewhere: str = ""
    """The same at an address that nobody knows, where that is something else."""
    host: str
    base_path: str
    """What is part of the address that an SDK's client is given."""
    path: str
    """Where turns are POSTed, below that."""

    said: Callable[[str], bytes]
    """A whole stream that says this text and nothing else."""
    ends_calls_early: bool = False
    """A call ends as soon as it is whole, not with the answer."""
    hopeless: tuple[tuple[Json, type[Exception], str | None], ...]
    """Faults that no retry helps, what they come to, and a pattern of what is said."""
    unknown_model: Json
    """The body of the 404."""
    reasons: dict[str, str]
    """What the provider calls the reasons for an incomplete turn."""

    def __str__(self) -> str:
        return self.name

    @property
    def key(self) -> str:
        """The environment variable of the key."""
        return f"{self.variables}_API_KEY"

    @property
    def address(self) -> str:
        """The environment variable of the address."""
        return f"{self.variables}_BASE_URL"

    def answering(self, handler: Handler, *, follow_redirects: bool = False, **options: Any) -> Model:
        """An adapter whose provider is a function, through a client of the caller's; it does not wait."""
        base_url = f"http://127.0.0.1{self.base_path}"
        http = provider(handler, follow_redirects=follow_redirects)
        client = self.client(base_url=base_url, api_key="sk-secret", http_client=http)
        model: Model = self.make("some-model", client=client, **options)
        waits(model)
        return model


@dataclass(frozen=True, slots=True)
class Way:
    """A subject in one of its modes, at one kind of server."""

    subject: Subject
    words: str = ""
    emulator: Json = field(default_factory=dict)
    options: Json = field(default_factory=dict)
    _: KW_ONLY
    remembers: bool = False
    """The provider keeps what was said."""
    quiet: int = 1
    """How many of the emulator's events pass before anything of an answer with reasoning is shown."""
    text_after: int
    """How many it takes to show the first piece of a text."""
    counted_as: str | None
    """The provider of its token counts; None where the server tells none."""

    def __str__(self) -> str:
        return f"{self.subject}-{self.words}" if self.words else self.subject.name

    def talking(
        self, script: Any, *, emulator: Json | None = None, **options: Any
    ) -> AbstractAsyncContextManager[tuple[Emulator, Talks]]:
        """An emulator with this script, and a thread that talks to it."""
        make, thread = self.subject.make, self.subject.thread
        given = {"model": "some-model"} | self.options | options
        return talking_to(make, thread, script, self.emulator | (emulator or {}), given)
