"""Connects to a host that has several addresses, of which not all need answer (RFC 8305), as uvloop itself doesn't."""

import asyncio
import socket
from typing import Any

import anyio

NEXT_ADDRESS_SECONDS = 0.25
"""After which the next address is tried as well."""


async def connected_socket(host: str, port: int) -> socket.socket:
    """Returns a socket that is connected to the first of the host's addresses that answers. Raises `OSError`."""
    addresses = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    if len(addresses) == 1:
        return await _connected(*addresses[0])
    race = _Race()
    try:
        async with anyio.create_task_group() as group:
            for family, kind, protocol, _, address in addresses:
                try:
                    sock = socket.socket(family, kind, protocol)
                except OSError as error:  # this machine doesn't speak that family
                    race.error = error
                    continue
                failed = anyio.Event()
                group.start_soon(race.attempt, sock, address, failed, group.cancel_scope)
                with anyio.move_on_after(NEXT_ADDRESS_SECONDS):
                    await failed.wait()
    except BaseException:
        if race.first is not None:
            race.first.close()
        raise
    if race.first is None:
        raise race.error
    return race.first


async def _connected(family: int, kind: int, protocol: int, _: str, address: Any) -> socket.socket:
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, address)
    except BaseException:
        sock.close()
        raise
    return sock


class _Race:
    """Attempts to connect: ``first`` is the socket that was, ``error`` why the latest was not."""

    def __init__(self) -> None:
        self.first: socket.socket | None = None
        self.error = OSError("the host has no address")

    async def attempt(self, sock: socket.socket, address: Any, failed: anyio.Event, others: anyio.CancelScope) -> None:
        """Connects; ends the other attempts if this is the first, and says so if it failed."""
        sock.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(sock, address)
            self.first = self.first or sock
            others.cancel()
        except OSError as error:
            self.error = error
            failed.set()
        finally:
            if self.first is not sock:
                sock.close()
