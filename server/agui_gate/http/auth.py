"""Who is asking, and whether this server may answer at all.

Loopback may ask, everybody else has to be known (docs/operations.md#who-may-ask). Without ``auth`` the server answers
only loopback clients that ask for a loopback Host. If they send an Origin, it has to be a loopback one or an allowed
one. That shuts out other machines, and web pages that point a name of theirs at 127.0.0.1 (DNS rebinding).
"""

import hmac
import inspect
import ipaddress
from collections.abc import Awaitable, Callable, Collection, Mapping
from urllib.parse import urlsplit

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request

from agui_gate.core.approvals import LOCAL
from agui_gate.errors import AguiGateError, Forbidden, Unauthorized, Unavailable

Auth = Callable[[Request], str | None | Awaitable[str | None]]
"""Returns the principal's id, or None for 401."""

log = structlog.get_logger("agui_gate.auth")


_CONFIGURE = "Without auth the server answers this machine alone: set AGUI_GATE_TOKENS, or pass auth= to create_app."
"""What to do about a server that is open to loopback only, whatever shut somebody out."""

QUOTED = 100
"""Characters of a header that are repeated in a refusal."""


def is_loopback(host: str | None) -> bool:
    """Whether ``host`` (a name or an address, without a port) means this machine alone."""
    if host is None:
        return False
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class Guard:
    """Turns a request into a principal, or refuses it."""

    def __init__(self, auth: Auth | None, origins: Collection[str], hosts: Collection[str]) -> None:
        self._auth = auth
        self._origins = frozenset(origins)
        self._hosts = frozenset(host.lower() for host in hosts)

    @property
    def loopback_only(self) -> bool:
        """No auth is configured: loopback only."""
        return self._auth is None

    def allows_origin(self, origin: str) -> bool:
        """Whether a page of ``origin`` may read our answers."""
        return (
            origin in self._origins or "*" in self._origins or (self.loopback_only and is_loopback(_hostname(origin)))
        )

    async def principal(self, request: Request) -> str:
        """The principal's id. Raises `Unauthorized` or `Forbidden`; an ``auth`` that fails lets nobody in."""
        origin = request.headers.get("origin")
        if self._auth is None:
            self._check_loopback(request)
        if origin is not None and not self._same_origin(request, origin) and not self.allows_origin(origin):
            raise Forbidden(self._about_origin(request, origin))
        if self._auth is None:
            return LOCAL
        principal = await self._ask(self._auth, request)
        if not isinstance(principal, str) or not principal:
            raise Unauthorized("Authentication is required.")
        return principal

    @staticmethod
    async def _ask(auth: Auth, request: Request) -> str | None:
        """What ``auth`` says. Its own failure is ours (503), not the caller's; errors it raises on purpose go on."""
        try:
            found = auth(request)
            return await found if inspect.isawaitable(found) else found
        except (AguiGateError, HTTPException):
            raise
        except Exception:
            log.exception("auth_failed")
            raise Unavailable("Authentication is not available right now.") from None

    def _check_loopback(self, request: Request) -> None:
        """Raise `Forbidden` unless nobody but this machine can be asking. What can't be seen counts as somebody else:
        behind a Unix socket, or a proxy in front of one, there is no address of whoever asks.
        """
        server = request.scope.get("server")
        if request.client is None or (server is not None and server[1] is None):
            raise Forbidden(f"This request came without an address, as over a Unix socket. {_CONFIGURE}")
        if server is not None and not _is_address(server[0]):
            return  # called in this process, without a socket: nobody else can be asking
        if not is_loopback(request.client.host):
            raise Forbidden(f"This request came from another machine. {_CONFIGURE}")
        host = _hostname(f"//{request.headers.get('host', '')}")
        if not is_loopback(host) and (host or "") not in self._hosts:
            raise Forbidden(f"This request asks for the Host {_quoted(host)}, not for localhost. {_CONFIGURE}")

    def _about_origin(self, request: Request, origin: str) -> str:
        """One hint: what has to be configured so that this page may ask."""
        said = f"This request comes from a page of {_quoted(origin)}"
        if self._auth is None:
            return f"{said}. {_CONFIGURE} A page on another host also needs its origin in AGUI_GATE_CORS_ORIGINS."
        host = request.headers.get("host")
        return (
            f"{said}, but asks for the Host {_quoted(host)}. "
            "If a proxy changed the Host, let it pass on the one that it was asked for. "
            "If the page is meant to be on another host, add its origin to AGUI_GATE_CORS_ORIGINS."
        )

    @staticmethod
    def _same_origin(request: Request, origin: str) -> bool:
        try:
            return urlsplit(origin).netloc == request.headers.get("host")
        except ValueError:
            return False


def bearer(tokens: Mapping[str, str]) -> Auth:
    """Auth by bearer token; ``tokens`` maps principals to their tokens. Compared in constant time."""
    known = [(principal, token.encode()) for principal, token in tokens.items()]

    def principal_of(request: Request) -> str | None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        offered = token.strip().encode("latin-1")  # the bytes as they came
        found = None
        for principal, secret in known:  # all of them, so that time tells nothing
            if hmac.compare_digest(secret, offered):
                found = principal
        return found

    return principal_of


def _quoted(header: str | None) -> str:
    """What a client sent, in a sentence of ours."""
    return repr((header or "")[:QUOTED])


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _hostname(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
