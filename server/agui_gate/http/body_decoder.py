"""Large bodies, decoded without keeping the event loop from everybody else.

A small body is decoded where it is: that takes microseconds. A large one goes to the thread for heavy work. There only
the decoder itself keeps the event loop waiting, which is one call. How long that may take depends on how many objects
it makes, so their number is bounded.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import structlog

from agui_gate.core.dialect import PROTOCOL_VERSION, is_newer
from agui_gate.core.json_text import has_more
from agui_gate.errors import TooLarge
from agui_gate.protocol.request_decoder import decode, decode_json
from agui_gate.protocol.run_input import RunInput
from agui_gate.worker_thread import collector_paused, off_loop

log = structlog.get_logger("agui_gate.http")

LARGE = 64 * 1024
"""Bytes from which on a body is decoded in the thread."""

MAX_CONTAINERS = 100_000
"""Objects and lists in one body."""

SHOWN = 40
"""Characters of a declared version that are told."""

T = TypeVar("T")


async def run_input(body: bytes) -> RunInput:
    """`decode`, wherever it should be done. What is odd in it, and no reason to refuse it, is told to the log once."""
    run = await decoded(decode, body)
    _warn(run)
    return run


def _warn(run: RunInput) -> None:
    """One line each: for a version that is newer than ours (VER-3, VER-4), and for what went unread (PROC-4)."""
    version = run.protocol_version
    shown = None if version is None else version[:SHOWN]
    if version is not None and is_newer(version):
        log.warning("newer_version", thread=run.thread_id, asked=shown, ours=PROTOCOL_VERSION)
    if run.unread is not None:
        log.warning(
            "input_not_all_read",
            thread=run.thread_id,
            run=run.run_id,
            version=shown,
            paths=" ".join(run.unread.paths),
            number=run.unread.number,
        )


async def json_value(body: bytes) -> Any:
    """`decode_json`, wherever it should be done."""
    return await decoded(decode_json, body)


async def decoded(function: Callable[[bytes], T], body: bytes) -> T:
    """What ``function`` makes of ``body``. Raises `TooLarge`."""
    return await off_loop(_decoded, function, body) if len(body) > LARGE else function(body)


def _decoded(function: Callable[[bytes], T], body: bytes) -> T:
    check_containers(body)
    with collector_paused():
        return function(body)


def check_containers(body: bytes) -> None:
    """Raise `TooLarge` if there are more than `MAX_CONTAINERS` objects and lists in a JSON text."""
    if has_more(body, MAX_CONTAINERS, b"{["):
        raise TooLarge(f"A body may have at most {MAX_CONTAINERS:,} objects and lists.")
