"""Authenticates requests, and refuses those that this server may not answer at all.

Loopback may ask, everybody else has to be known (docs/operations.md#authentication). Without ``auth`` the server
answers only loopback clients that ask for a loopback Host. If they send an Origin, it has to be a loopback one or an
allowed one. That shuts out other machines, and web pages that point a name of theirs at 127.0.0.1 (DNS rebinding). A
request that says that it came through a proxy is refused as well: a proxy on this machine speaks for the whole network.
"""

import asyncio
import functools
import inspect
import re
import time
from collections.abc import Awaitable, Callable, Collection
from types import CoroutineType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import structlog
from msgspec import structs
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request, empty_send
from starlette.responses import Response
from starlette.types import ASGIApp, Scope

from agui_gate.concurrency import NoSlot, within
from agui_gate.core.approvals import LOCAL
from agui_gate.errors import AguiGateError, Forbidden, Unauthorized, Unavailable
from agui_gate.extra_loader import load
from agui_gate.http.request_body import check_declared, headers_of, is_json

if TYPE_CHECKING:
    from agui_gate.core.principals import By

Auth = Callable[[Request], str | None | Awaitable[str | None]]
"""Returns the principal's id, or a `Principal`; None for 401."""

log = structlog.get_logger("agui_gate.auth")

_NAME = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,500}")  # as in `core.principals.checked_name`

AUTH_THREADS = 16
"""Calls of a sync ``auth`` that run at the same time. The others wait."""

AUTH_SECONDS = 20.0
"""Seconds that ``auth`` may take, waiting for a thread included. Over it: 503."""

MOST_REFUSED = 100
"""Origins of which it is logged that they were refused."""

CALLER = "agui_gate.caller"
"""The key in a request's scope under which its `Caller` is kept, where ``auth`` returned a `Principal`."""

OWNER = "agui_gate.owner"
"""The key in a request's scope under which the key of its owner is kept, or its `Admission`, which has it. (One of each
would make 22: that takes 370 bytes more than 21.)
"""

ENDED = "The token that opened this stream is no longer valid."
"""The message with which a stream ends whose token has expired, or was taken back."""

CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


def admission_of(scope: Scope) -> "Admission | None":
    """Returns the admission of the request with this scope; None where nobody has to be known."""
    found = scope.get(OWNER)
    return found if isinstance(found, Admission) else None


def owner_of(scope: Scope) -> str:
    """Returns the key of the owner whom a request is about; "" where its principal was not asked for."""
    found: str | Admission = scope.get(OWNER, "")
    return found.owner if isinstance(found, Admission) else found


def caller_of(request: Request) -> "By":
    """Returns who makes a request whose principal was asked for; None where ``auth`` says no more than an id."""
    found: By = request.scope.get(CALLER)
    return found


class Guard:
    """Turns a request into a principal, or refuses it."""

    def __init__(self, auth: Auth | None, origins: Collection[str], hosts: Collection[str]) -> None:
        self.auth = auth
        self._is_async = auth is not None and _is_async(auth)
        self._is_fixed = getattr(auth, "is_fixed", False) is True
        self.asks_people = False
        """Whether some gate asks for people: then a plain string is a `Principal` without roles, whom ids may name."""
        self.givers: Any = None  # of grants, and who names deputies: see `extras/people/givers.py`
        self._origins, self._refused = frozenset(origins), set[str]()
        self._hosts = frozenset(host.lower() for host in hosts)

    @property
    def loopback_only(self) -> bool:
        """True if no auth is configured: loopback only."""
        return self.auth is None

    def allows_origin(self, origin: str) -> bool:
        """Returns whether a page of ``origin`` may read our answers."""
        return "*" in self._origins or self._names_origin(origin)

    def _names_origin(self, origin: str) -> bool:
        return origin in self._origins or (self.loopback_only and _is_local(origin))

    def log_refused(self, origin: str) -> None:
        """Logs that pages of ``origin`` are refused: once for each of the first `MOST_REFUSED`."""
        name = origin[:200]
        if name not in self._refused and len(self._refused) < MOST_REFUSED:
            self._refused.add(name)
            log.warning("origin_refused", origin=name, means="AGUI_GATE_CORS_ORIGINS names those that may ask.")

    def allows_credentials(self) -> bool:
        """Returns whether a browser may send its own, such as cookies: never where every page may ask."""
        return "*" not in self._origins

    async def principal(self, request: Request) -> str:
        """Returns the key of the owner whose threads the request is about: the principal's id, where ``auth`` returns
        a string. Who acts for it: see `caller_of`. Raises `Unauthorized` or `Forbidden`; an ``auth`` that fails lets
        nobody in.

        Raises `UnsupportedMediaType` for a change that a browser would send for any page without asking first.
        """
        headers = headers_of(request)
        origin = request.headers["origin"] if b"origin" in headers else None
        if self.auth is None:
            from agui_gate.http.local_requests import check_local

            check_local(request, self._hosts)
        foreign = origin is not None and not self._same_origin(request, origin)
        if origin is not None and foreign and not self.allows_origin(origin):
            from agui_gate.http.local_requests import refused_origin

            self.log_refused(origin)
            raise Forbidden(refused_origin(request, origin, is_open=self.auth is None))
        principal = LOCAL if self.auth is None else await self._asked(request)
        if (admission := admission_of(request.scope)) is None:
            request.scope[OWNER] = principal
        else:
            admission.owner = principal
        if request.scope["method"] in CHANGING and not is_json(headers.get(b"content-type", b"")):
            check_declared(request, preflighted=origin is not None and foreign and not self._names_origin(origin))
        return principal

    async def _asked(self, request: Request) -> str:
        principal = await self.ask(request)
        if not isinstance(principal, str) or not principal:
            raise Unauthorized("Authentication is required.")
        if not _NAME.fullmatch(principal):
            raise Unauthorized("A principal's id has 1 to 500 characters, and no control characters.")
        if not self._is_fixed:  # the tokens of the settings stand as long as the server does
            request._send = empty_send  # kept with the stream would be all through which it goes until its head is sent
            request.scope[OWNER] = Admission(self, request, principal)
        if self.asks_people and type(principal) is str:
            from agui_gate.core.principals import as_principal

            principal = as_principal(principal)
        return principal if type(principal) is str else await self._owner_of(request, principal)

    async def _owner_of(self, request: Request, principal: str) -> str:
        """Returns the key of the owner for whom a `Principal` acts, and keeps in the request who that is."""
        from agui_gate.core.principals import caller

        by = request.scope[CALLER] = caller(principal, request.client.host if request.client else "")
        if by is None:
            return str.__str__(principal)  # the value, also of an enum
        if self.givers is not None:
            if (admission := admission_of(request.scope)) is not None:
                by = request.scope[CALLER] = structs.replace(by, stands=admission.stands_now)
            await self.givers.see(by.principal)
        if by.principal.roles:
            load("people.rights").check_route(request, by.principal)
        return by.principal.owner

    async def ask(self, request: Request) -> Any:
        """Returns what ``auth`` says. Its own failure is ours (503), not the caller's; errors it raises on purpose go
        on.

        A sync one runs in a thread: it may look into a database, and others must not wait for that.
        """
        auth: Any = self.auth
        try:
            if self._is_fixed:
                return auth(request)
            if self._is_async and isinstance(found := auth(request), CoroutineType):
                return await within(AUTH_SECONDS, found)
            async with asyncio.timeout(AUTH_SECONDS):
                found = found if self._is_async else await _in_thread(auth, request)
                return await found if inspect.isawaitable(found) else found
        except (AguiGateError, HTTPException):
            raise
        except Exception:
            log.exception("auth_failed")
            raise Unavailable("Authentication is not available right now.") from None

    @staticmethod
    def _same_origin(request: Request, origin: str) -> bool:
        try:
            return urlsplit(origin).netloc == request.headers.get("host")
        except ValueError:
            return False


class Origins(CORSMiddleware):
    """Starlette's, and says which origin it refuses: a browser tells only its own console."""

    def __init__(self, app: ASGIApp, /, guard: Guard, **options: Any) -> None:
        super().__init__(app, **options)
        self._guard = guard

    def preflight_response(self, request_headers: Headers) -> Response:
        """Answers a browser that asks before it sends a page's request."""
        if not self.is_allowed_origin(request_headers["origin"]):
            self._guard.log_refused(request_headers["origin"])
        return super().preflight_response(request_headers)


class Admission:
    """Checks whether who opened a stream may still read it: it has ``guard`` ask ``auth`` once more about the request.
    ``owner`` is the key of whom the request is about.

    A token may expire, or be taken back, while a stream is open. So it is asked every `AGAIN_SECONDS`, and before an
    approval is handed out for which it wasn't asked in the last `FRESH_SECONDS`.
    """

    AGAIN_SECONDS = 4.0
    FRESH_SECONDS = 1.0

    __slots__ = ("_asked_at", "_guard", "_principal", "_request", "owner")

    def __init__(self, guard: Guard, request: Request, principal: str) -> None:
        self._guard, self._request, self._principal, self.owner = guard, request, principal, ""
        self._asked_at = time.monotonic()

    async def stands(self) -> bool:
        """Returns whether ``auth`` still names the same principal, with the same rights. One that can't say names
        nobody.
        """
        try:
            found = await self._guard.ask(self._request)
        except (AguiGateError, HTTPException):
            return False
        self._asked_at = time.monotonic()
        return found == self._principal and getattr(found, "rights", None) == getattr(self._principal, "rights", None)

    async def stands_now(self) -> bool:
        """Returns what `stands` does, without asking where that was a moment ago."""
        return time.monotonic() - self._asked_at < self.FRESH_SECONDS or await self.stands()


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


def _is_local(origin: str) -> bool:
    from agui_gate.http.local_requests import hostname, is_loopback

    return is_loopback(hostname(origin))
