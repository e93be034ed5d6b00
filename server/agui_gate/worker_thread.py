"""Heavy work of the server's own, on a thread beside the event loop, one piece at a time.

It is for pure functions over what nobody changes meanwhile. Python code lets the event loop in every few milliseconds.
A single call of the JSON decoder or encoder doesn't. So what is large is encoded piece by piece (`json_list`). The
garbage collector waits until a decoder is done: it would look through millions of new objects again and again.
"""

import asyncio
import gc
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, ParamSpec, TypeVar

import msgspec

LARGE = 500
"""Entries or messages from which on working through all of them is heavy."""

LARGE_BYTES = 256 * 1024
"""Bytes of which the same is true."""

P = ParamSpec("P")
T = TypeVar("T")


async def off_loop(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Calls ``function`` on the thread for heavy work. Cancelling the caller doesn't stop it."""
    return await asyncio.get_running_loop().run_in_executor(_thread(), lambda: function(*args, **kwargs))


async def if_large(size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Calls ``function``, off the loop if ``size`` (a number of things) says that it is heavy."""
    return await off_loop(function, *args, **kwargs) if size > LARGE else function(*args, **kwargs)


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "agui-gate-heavy")


@contextmanager
def collector_paused() -> Iterator[None]:
    """Within: no garbage collection. For a moment, and for one caller at a time; a second one changes nothing."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def json_list(items: Iterable[Any]) -> msgspec.Raw:
    """Returns ``items`` as a JSON list, each encoded by itself."""
    return msgspec.Raw(b"[" + b",".join([msgspec.json.encode(item) for item in items]) + b"]")
