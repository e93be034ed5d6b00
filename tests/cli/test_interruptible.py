"""Ctrl-C while a command's coroutine runs: it is cancelled, and nothing else is broken into."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Coroutine
from typing import Any

import pytest

from agui_gate.cli.interrupts import DEFAULT, Presses, Runner, run


def press() -> None:
    signal.raise_signal(signal.SIGINT)


async def forever() -> None:
    await asyncio.Event().wait()


def test_the_first_ends_it_and_the_loop_lives_on() -> None:
    closed = False

    async def work() -> None:
        press()
        await forever()

    async def close() -> None:
        nonlocal closed
        await asyncio.sleep(0)
        closed = True

    with Runner() as runner:
        with pytest.raises(KeyboardInterrupt):
            runner.run(work())
        runner.run(close())
    assert closed
    assert signal.getsignal(signal.SIGINT) is DEFAULT


def test_a_second_one_in_a_task_of_a_group_is_a_cancellation_too() -> None:
    """As while a connection is made. A `KeyboardInterrupt` there comes back in a group, and is told as an error."""
    seen: list[str] = []

    async def connecting() -> None:
        press()
        try:
            await forever()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def work() -> None:
        try:
            press()
            await forever()
        except asyncio.CancelledError:
            async with asyncio.TaskGroup() as group:
                group.create_task(connecting())

    with pytest.raises(KeyboardInterrupt):
        run(work())
    assert seen == ["cancelled"]


def test_what_goes_on_after_one_comes_to_its_end() -> None:
    async def work() -> str:
        try:
            press()
            await forever()
        except asyncio.CancelledError:
            return "stopped in order"
        return ""

    assert run(work()) == "stopped in order"


def test_one_before_the_first_line_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = Presses.cancelling

    def pressed(presses: Presses, work: Coroutine[Any, Any, None]) -> Coroutine[Any, Any, None]:
        press()
        return inner(presses, work)

    monkeypatch.setattr(Presses, "cancelling", pressed)
    with pytest.raises(KeyboardInterrupt):
        run(forever())


def test_somebody_elses_cancellation_stays_one() -> None:
    async def work() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await forever()

    with pytest.raises(asyncio.CancelledError):
        run(work())


def test_an_ignored_sigint_stays_ignored() -> None:
    async def work() -> str:
        press()
        return "well"

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert run(work()) == "well"
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


DEAF = """
import asyncio, signal
from agui_gate.cli.interrupts import run

async def deaf():
    while True:
        try:
            signal.raise_signal(signal.SIGINT)
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            print("no", flush=True)

run(deaf())
"""


def test_a_third_one_leaves_what_is_deaf() -> None:
    done = subprocess.run(  # a process of its own: it dies of the signal
        [sys.executable, "-c", DEAF], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == -signal.SIGINT
    assert done.stdout == "no\nno\n"
    assert "Traceback" not in done.stderr
