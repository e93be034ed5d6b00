"""One POST to an endpoint over a connection of its own: to an address that was looked at, and with nothing unbounded.

* Addresses that are not public are refused, unless the endpoint names their network. What is looked at is the very
  address that is connected to, so a name that resolves to another one meanwhile changes nothing (DNS rebinding).
* No redirect is followed: its status is the answer. No proxy is used: it would connect where nobody looks.
* Only the answer's status is read, from a head of `MAX_HEAD` bytes at most. Its body is left where it is.
* All of it has `ATTEMPT_SECONDS`.

Divergence: not httpx2, which resolves names by itself and reads answers to their end.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from agui_gate.extras.notices.endpoints import Endpoint, Network

ATTEMPT_SECONDS = 10.0
"""Seconds that an attempt may take, from resolving the name to the answer's status."""
MAX_ADDRESSES = 4
"""Addresses of a host that are tried, one after the other. A silent one has its part of the time."""
MAX_HEAD = 16 * 1024
"""Bytes of the head of an answer."""
MAX_INTERIM = 5
"""Interim answers (1xx) that are passed over."""

_STATUS = re.compile(rb"HTTP/1\.[01] ([1-9]\d\d)[ \r]")
_UNUSUAL = (IPv4Network("192.88.99.0/24"), IPv4Network("168.63.129.16/32"))
"""Addresses that count as public and are not: a relay of 6to4, and the inside of a cloud's host."""
_NAT64 = IPv6Network("64:ff9b::/96")
_LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Sequence[str]]
"""Returns the addresses of a host, as texts. It may wait; it is called in a thread."""


class Undelivered(Exception):
    """An attempt failed. ``outcome`` is the word for it in metrics. ``is_final``: no other attempt will do better."""

    def __init__(self, outcome: str, why: str, *, is_final: bool = False) -> None:
        super().__init__(why)
        self.outcome, self.why, self.is_final = outcome, why, is_final


def resolve(host: str, port: int) -> Sequence[str]:
    """Returns the addresses of a host, as the system resolves its name."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def is_allowed(address: Address, private: Sequence[Network] = ()) -> bool:
    """Returns whether an endpoint may be at this address: a public one, or one of the networks that it names."""
    inner = _inner(address)
    if any(inner in network for network in private if network.version == inner.version):
        return True
    is_local = isinstance(inner, IPv6Address) and (inner.is_site_local or inner in _LOCAL_NAT64)
    is_unusual = is_local or any(isinstance(inner, IPv4Address) and inner in network for network in _UNUSUAL)
    return inner.is_global and not inner.is_multicast and not inner.is_reserved and not is_unusual


def _inner(address: Address) -> Address:
    """Returns the IPv4 address that an IPv6 one stands for, where it does."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


class Connection:
    """Sends to one endpoint. ``resolve`` looks up its name, in a thread of this endpoint's own: a resolver that hangs
    holds up nobody else.
    """

    def __init__(self, endpoint: Endpoint, resolve: Resolve = resolve) -> None:
        self._endpoint, self._resolve = endpoint, resolve
        self._thread = ThreadPoolExecutor(1, f"agui-gate-dns-{endpoint.name}")

    def close(self) -> None:
        """Lets the thread go."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def post(self, body: bytes, headers: Mapping[str, str]) -> int:
        """Sends a POST, and returns the status of the answer. Raises `Undelivered`."""
        url = self._endpoint.url
        host = f"[{url.hostname}]" if ":" in self._endpoint.host else self._endpoint.host
        fields = {"host": f"{host}{f':{url.port}' if url.port else ''}", "connection": "close", **headers}
        lines = [f"POST {url.path or '/'}{f'?{url.query}' if url.query else ''} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in (fields | {"content-length": str(len(body))}).items()]
        with _failures():
            async with asyncio.timeout(ATTEMPT_SECONDS):
                reader, writer = await self._connect()
                try:
                    writer.write("\r\n".join([*lines, "", ""]).encode("ascii") + body)
                    await writer.drain()
                    return await _status(reader)
                finally:
                    writer.transport.abort()  # what comes after the head is of no interest

    async def check(self) -> None:
        """Connects, and sends nothing. Raises `Undelivered`."""
        with _failures():
            async with asyncio.timeout(ATTEMPT_SECONDS):
                _, writer = await self._connect()
                writer.transport.abort()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connects to the first address that may be and that answers."""
        endpoint, loop = self._endpoint, asyncio.get_running_loop()
        found = await loop.run_in_executor(self._thread, self._resolve, endpoint.host, endpoint.port)
        allowed = [one for one in found if self._is_allowed(ip_address(one))]
        if not allowed:
            if endpoint.url.scheme == "http":
                raise Undelivered("refused_address", "its address is in none of the networks in private = […]")
            raise Undelivered("refused_address", "its address is not public, and in no network in private = […]")
        secure = _tls() if endpoint.url.scheme == "https" else None
        each = ATTEMPT_SECONDS / (min(len(allowed), MAX_ADDRESSES) + 1)  # the last one has what is left
        for address in allowed[: MAX_ADDRESSES - 1][: len(allowed) - 1]:
            try:
                async with asyncio.timeout(each):
                    return await self._open(address, secure)
            except OSError:  # also of a silent one: TimeoutError
                continue
        return await self._open(allowed[:MAX_ADDRESSES][-1], secure)

    async def _open(
        self, address: str, secure: ssl.SSLContext | None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        name = self._endpoint.host if secure else None
        return await asyncio.open_connection(
            address, self._endpoint.port, ssl=secure, server_hostname=name, limit=MAX_HEAD
        )

    def _is_allowed(self, address: Address) -> bool:
        """Plain HTTP goes to named networks alone."""
        if self._endpoint.url.scheme == "http":
            return any(
                _inner(address) in one for one in self._endpoint.private if one.version == _inner(address).version
            )
        return is_allowed(address, self._endpoint.private)


async def problem_with(endpoint: Endpoint) -> str | None:
    """Returns why an endpoint can't be connected to; None if it can."""
    connection = Connection(endpoint)
    try:
        await connection.check()
    except Undelivered as error:
        return error.why
    finally:
        connection.close()
    return None


@contextmanager
def _failures() -> Iterator[None]:
    """Turns what a connection raises into `Undelivered`."""
    try:
        yield
    except TimeoutError:
        raise Undelivered("timeout", f"it took longer than {ATTEMPT_SECONDS:g} seconds") from None
    except socket.gaierror:
        raise Undelivered("unreachable", "its host name is not known") from None
    except ssl.SSLError as error:
        raise Undelivered("unreachable", f"TLS failed ({error.reason or 'no reason'})") from None
    except OSError as error:
        raise Undelivered("unreachable", f"no connection ({error.strerror or type(error).__name__})") from None
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
        raise Undelivered("no_answer", "it did not answer with HTTP") from None


async def _status(reader: asyncio.StreamReader) -> int:
    """Returns the status of the answer, behind interim ones. Raises `ValueError` for what is none."""
    for _ in range(MAX_INTERIM + 1):
        head = await reader.readuntil(b"\r\n\r\n")
        found = _STATUS.match(head)
        if found is None:
            break
        if not found[1].startswith(b"1"):
            return int(found[1])
    raise ValueError("no answer of HTTP")


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()
