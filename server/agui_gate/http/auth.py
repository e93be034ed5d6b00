"""Authenticates requests, and refuses those that this server may not answer at all.

Loopback may ask, everybody else has to be known (docs/operations.md#authentication). Without ``auth`` the server
answers only loopback clients that ask for a loopback Host. If they send an Origin, it has to be a loopback one or an
allowed one. That shuts out other machines, and web pages that point a name of theirs at 127.0.0.1 (DNS rebinding). A
request that says that it came through a proxy is refused as well: a proxy on this machine speaks for the whole network.
"""

import asyncio
import functools
import inspect
import ipaddress
import time
from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Scope

from agui_gate.concurrency import NoSlot
from agui_gate.core.approvals import LOCAL, SEPARATOR
from agui_gate.errors import AguiGateError, Forbidden, Unauthorized, Unavailable
from agui_gate.extra_loader import load
from agui_gate.http.request_body import check_declared

if TYPE_CHECKING:
    from agui_gate.core.principals import By

Auth = Callable[[Request], str | None | Awaitable[str | None]]
"""Returns the principal's id, or a `Principal`; None for 401."""

log = structlog.get_logger("agui_gate.auth")


_CONFIGURE = "Without auth the server accepts this machine only: set AGUI_GATE_TOKENS, or pass auth= to create_app."
"""The advice for a server that is open to loopback only, whatever shut somebody out."""

PROXY_HEADERS = ("forwarded", "via", "x-forwarded-", "x-real-ip")
"""The beginnings of headers by which a proxy says that it passed a request on."""

TEST_CLIENT = ("testclient", 50_000)
"""The address that Starlette's test client gives: it calls in this process, so there is nobody else."""

AUTH_THREADS = 16
"""Calls of a sync ``auth`` that run at the same time. The others wait."""

AUTH_SECONDS = 20.0
"""Seconds that ``auth`` may take, waiting for a thread included. Over it: 503."""

ADMISSION = "agui_gate.admission"
"""The key in a request's scope under which its `Admission` is kept."""

CALLER = "agui_gate.caller"
"""The key in a request's scope under which its `Caller` is kept, where ``auth`` returned a `Principal`."""

ENDED = "The token that opened this stream is no longer valid."
"""The message with which a stream ends whose token has expired, or was taken back."""

CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})

QUOTED = 100
"""Characters of a header that are repeated in a refusal."""


def admission_of(scope: Scope) -> "Admission | None":
    """Returns the admission of the request with this scope; None where nobody has to be known."""
    found: Admission | None = scope.get(ADMISSION)
    return found


def caller_of(request: Request) -> "By":
    """Returns who makes a request whose principal was asked for; None where ``auth`` says no more than an id."""
    found: By = request.scope.get(CALLER)
    return found


def is_loopback(host: str | None) -> bool:
    """Returns whether ``host`` (a name or an address, without a port) means this machine alone."""
    if host is None:
        return False
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None  # on a socket of both
    return (mapped or address).is_loopback


class Guard:
    """Turns a request into a principal, or refuses it."""

    def __init__(self, auth: Auth | None, origins: Collection[str], hosts: Collection[str]) -> None:
        self._auth = auth
        self._is_async = auth is not None and _is_async(auth)
        self._is_fixed = getattr(auth, "is_fixed", False) is True
        self._origins = frozenset(origins)
        self._hosts = frozenset(host.lower() for host in hosts)

    @property
    def loopback_only(self) -> bool:
        """True if no auth is configured: loopback only."""
        return self._auth is None

    def allows_origin(self, origin: str) -> bool:
        """Returns whether a page of ``origin`` may read our answers."""
        return "*" in self._origins or self._names_origin(origin)

    def _names_origin(self, origin: str) -> bool:
        return origin in self._origins or (self.loopback_only and is_loopback(_hostname(origin)))

    def allows_credentials(self) -> bool:
        """Returns whether a browser may send its own, such as cookies: never where every page may ask."""
        return "*" not in self._origins

    async def principal(self, request: Request) -> str:
        """Returns the key of the owner whose threads the request is about: the principal's id, where ``auth`` returns
        a string. Who acts for it: see `caller_of`. Raises `Unauthorized` or `Forbidden`; an ``auth`` that fails lets
        nobody in.

        Raises `UnsupportedMediaType` for a change that a browser would send for any page without asking first.
        """
        origin = request.headers.get("origin")
        if self._auth is None:
            self._check_loopback(request)
        foreign = origin is not None and not self._same_origin(request, origin)
        if origin is not None and foreign and not self.allows_origin(origin):
            raise Forbidden(self._about_origin(request, origin))
        principal = LOCAL if self._auth is None else await self._asked(self._auth, request)
        if request.method in CHANGING:
            check_declared(request, preflighted=origin is not None and foreign and not self._names_origin(origin))
        return principal

    async def _asked(self, auth: Auth, request: Request) -> str:
        principal = await self._ask(auth, request)
        if not isinstance(principal, str) or not principal or SEPARATOR in principal:
            raise Unauthorized("Authentication is required.")
        if not self._is_fixed:  # the tokens of the settings stand as long as the server does
            request.scope[ADMISSION] = Admission(functools.partial(self._ask, auth, request), principal)
        return principal if type(principal) is str else _known(request, principal)

    async def _ask(self, auth: Auth, request: Request) -> str | None:
        """Returns what ``auth`` says. Its own failure is ours (503), not the caller's; errors it raises on purpose go
        on.

        A sync one runs in a thread: it may look into a database, and others must not wait for that.
        """
        try:
            if self._is_fixed:
                return cast(str | None, auth(request))
            async with asyncio.timeout(AUTH_SECONDS):
                found = auth(request) if self._is_async else await _in_thread(auth, request)
                return await found if inspect.isawaitable(found) else found
        except (AguiGateError, HTTPException):
            raise
        except Exception:
            log.exception("auth_failed")
            raise Unavailable("Authentication is not available right now.") from None

    def _check_loopback(self, request: Request) -> None:
        """Raises `Forbidden` unless nobody but this machine can be asking. What can't be seen counts as somebody else:
        behind a Unix socket, or a proxy in front of one, there is no address of whoever asks.
        """
        server = request.scope.get("server")
        if request.client is None or (server is not None and server[1] is None):
            raise Forbidden(f"This request has no client address, as over a Unix socket. {_CONFIGURE}")
        proxied = next((name for name in request.headers if name.startswith(PROXY_HEADERS)), None)
        if proxied is not None:
            raise Forbidden(f"This request came through a proxy: it has the header {_quoted(proxied)}. {_CONFIGURE}")
        if request.client == TEST_CLIENT:
            return
        # What the scope says of the server is no ground to believe anybody: some adapters fill it from the Host header.
        if not is_loopback(request.client.host):
            raise Forbidden(f"This request came from another machine. {_CONFIGURE}")
        host = _hostname(f"//{request.headers.get('host', '')}")
        if not is_loopback(host) and (host or "") not in self._hosts:
            raise Forbidden(f"This request asks for the Host {_quoted(host)}, not for localhost. {_CONFIGURE}")

    def _about_origin(self, request: Request, origin: str) -> str:
        """Returns one hint: what has to be configured so that this page may ask."""
        said = f"This request comes from a page of {_quoted(origin)}"
        if self._auth is None:
            return f"{said}. {_CONFIGURE} A page on another host also needs its origin in AGUI_GATE_CORS_ORIGINS."
        host = request.headers.get("host")
        return (
            f"{said}, but asks for the Host {_quoted(host)}. "
            "If a proxy changed the Host, let it forward the original one. "
            "If the page is on another host on purpose, add its origin to AGUI_GATE_CORS_ORIGINS."
        )

    @staticmethod
    def _same_origin(request: Request, origin: str) -> bool:
        try:
            return urlsplit(origin).netloc == request.headers.get("host")
        except ValueError:
            return False


class Admission:
    """Checks whether who opened a stream may still read it: ``ask`` asks ``auth`` once more about the same request.

    A token may expire, or be taken back, while a stream is open. So it is asked every `AGAIN_SECONDS`, and before an
    approval is handed out for which it wasn't asked in the last `FRESH_SECONDS`.
    """

    AGAIN_SECONDS = 4.0
    FRESH_SECONDS = 1.0

    __slots__ = ("_ask", "_asked_at", "_principal")

    def __init__(self, ask: Callable[[], Awaitable[str | None]], principal: str) -> None:
        self._ask, self._principal = ask, principal
        self._asked_at = time.monotonic()

    async def stands(self) -> bool:
        """Returns whether ``auth`` still names the same principal, with the same rights. One that can't say names
        nobody.
        """
        try:
            found = await self._ask()
        except (AguiGateError, HTTPException):
            return False
        self._asked_at = time.monotonic()
        return found == self._principal and getattr(found, "rights", None) == getattr(self._principal, "rights", None)

    async def stands_now(self) -> bool:
        """Returns what `stands` does, without asking where that was a moment ago."""
        return time.monotonic() - self._asked_at < self.FRESH_SECONDS or await self.stands()

    async def ended(self) -> None:
        """Returns when it stands no more."""
        while True:
            await asyncio.sleep(self.AGAIN_SECONDS)
            if not await self.stands():
                return


def _known(request: Request, principal: str) -> str:
    """Returns the key of the owner for whom a `Principal` acts, and keeps in the request who that is."""
    from agui_gate.core.principals import caller

    by = request.scope[CALLER] = caller(principal, request.client.host if request.client else "")
    if by is None:
        return str(principal)
    if by.principal.roles:
        load("people.rights").check_route(request, by.principal)
    return by.principal.owner


def _is_async(auth: Any) -> bool:
    return inspect.iscoroutinefunction(auth) or inspect.iscoroutinefunction(getattr(auth, "__call__", None))  # noqa: B004  (an object whose call is async)


async def _in_thread(auth: Auth, request: Request) -> Any:
    """Returns what a sync ``auth`` returns. Raises `Unavailable` if all threads are taken for too long."""
    from agui_gate.turns.tool_threads import tool_threads

    threads = tool_threads(AUTH_THREADS, "auth")
    try:
        async with threads.slot("", AUTH_SECONDS) as slot:
            return await threads.run(slot, functools.partial(auth, request))
    except NoSlot:
        raise Unavailable("Authentication is not available right now.") from None


def _quoted(header: str | None) -> str:
    """Returns what a client sent, quoted and cut, for a sentence of ours."""
    return repr((header or "")[:QUOTED])


def _hostname(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
