"""Requests of this machine: all that a server without ``auth`` answers. And why another one is refused."""

import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.requests import Request

from agui_gate.errors import Forbidden

_CONFIGURE = "Without auth the server accepts this machine only: set AGUI_GATE_TOKENS, or pass auth= to create_app."
"""The advice for a server that is open to loopback only, whatever shut somebody out."""

PROXY_HEADERS = ("forwarded", "via", "x-forwarded-", "x-real-ip")
"""The beginnings of headers by which a proxy says that it passed a request on."""

TEST_CLIENT = ("testclient", 50_000)
"""The address that Starlette's test client gives: it calls in this process, so there is nobody else."""

QUOTED = 100
"""Characters of a header that are repeated in a refusal."""


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


def check_local(request: Request, hosts: Collection[str]) -> None:
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
    host = hostname(f"//{request.headers.get('host', '')}")
    if not is_loopback(host) and (host or "") not in hosts:
        raise Forbidden(f"This request asks for the Host {_quoted(host)}, not for localhost. {_CONFIGURE}")


def refused_origin(request: Request, origin: str, *, is_open: bool) -> str:
    """Returns one hint: what has to be configured so that this page may ask. ``is_open``: there is no ``auth``."""
    said = f"This request comes from a page of {_quoted(origin)}"
    if is_open:
        return f"{said}. {_CONFIGURE} A page on another host also needs its origin in AGUI_GATE_CORS_ORIGINS."
    host = request.headers.get("host")
    return (
        f"{said}, but asks for the Host {_quoted(host)}. "
        "If a proxy changed the Host, let it forward the original one. "
        "If the page is on another host on purpose, add its origin to AGUI_GATE_CORS_ORIGINS."
    )


def _quoted(header: str | None) -> str:
    """Returns what a client sent, quoted and cut, for a sentence of ours."""
    return repr((header or "")[:QUOTED])


def hostname(url: str) -> str | None:
    """Returns the host that a URL names, without its port; None if there is none."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
