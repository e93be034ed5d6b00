"""When the store is told to forget: a step now and then, from where the last one ended, and only where asked for."""

import pytest
from structlog.testing import capture_logs

from agui_gate.config.limits import Limits
from agui_gate.errors import Unavailable
from agui_gate.extras.retention_job import STEP_SECONDS, RetentionJob
from agui_gate.runs.engine import Engine
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.retention import BEGINNING, DAY_MS, FORGET, Ages, Place, Swept, Tally

pytestmark = pytest.mark.anyio


class Steps:
    """A store that says what it was asked, and gives these answers."""

    def __init__(self, *answers: Swept | Unavailable) -> None:
        self.asked: list[tuple[Ages, Place, int]] = []
        self._answers = iter(answers)

    async def sweep(self, ages: Ages, place: Place = BEGINNING, most: int = FORGET) -> Swept:
        self.asked.append((ages, place, most))
        answer = next(self._answers)
        if isinstance(answer, Unavailable):
            raise answer
        return answer

    async def tally(self) -> Tally:
        raise NotImplementedError


async def test_a_step_now_and_then_from_where_the_last_one_ended() -> None:
    now = 1.0
    place = Place(7, 8, "x")
    store = Steps(Swept(2, 0, place), Unavailable("away"), Unavailable("away"), Swept(0, 0, BEGINNING))
    sweeper = RetentionJob(store, Ages(threads=DAY_MS), lambda: now)
    with capture_logs() as logs:
        for _ in range(4):
            await sweeper.tick()
            now += STEP_SECONDS - 1
            await sweeper.tick()
            now += 1
    asked = [(BEGINNING, 20), (place, 20), (place, 10), (place, 5)]
    assert store.asked == [(Ages(threads=DAY_MS), *one) for one in asked], "what did not work is tried with less"
    assert [log["event"] for log in logs] == ["forgotten", "nothing_forgotten"], "what is away is told once"


async def test_a_chain_that_somebody_changed_is_named_once() -> None:
    now = 1.0
    store = Steps(*(Swept(0, 0, BEGINNING, broken) for broken in (["7", "8"], ["8", "9"], ["9"])))
    sweeper = RetentionJob(store, Ages(trail=DAY_MS), lambda: now)
    with capture_logs() as logs:
        for _ in range(3):
            await sweeper.tick()
            now += STEP_SECONDS
    assert [(log["event"], log["thread"]) for log in logs] == [("trail_not_pruned", name) for name in "789"]


def test_where_nothing_is_to_be_forgotten_there_is_no_job() -> None:
    assert Limits(retention_threads_days=30).ages == Ages(threads=30 * DAY_MS)
    assert Limits(retention_records_days=2).ages == Ages(records=2 * DAY_MS)
    assert Limits(retention_trail_days=3).ages == Ages(trail=3 * DAY_MS)
    assert Limits(retention_trail_days=0).ages is None
    assert Limits(retention_trail_days=0, retention_records_days=2).ages == Ages(records=2 * DAY_MS, trail=None)
    engines = [Engine([], MemoryStore(), limits=limits) for limits in (Limits(), Limits(retention_records_days=2))]
    assert [[type(one) for one in engine.extensions.all] for engine in engines] == [[], [RetentionJob]]
