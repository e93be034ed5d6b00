"""What is done before a server says that it is ready: models' packages, and the garbage collector (T15)."""

import asyncio
import gc
from collections.abc import Callable, Sequence

import pytest
import structlog.testing

from agui_gate import Agent, create_app
from agui_gate.adapter import Finding
from agui_gate.runs import warm_up
from agui_gate.runs.engine import Engine
from agui_gate.stores.memory import MemoryStore
from agui_gate_adapters.testkit.agui import connecting, serving
from tests.product.inprocess import Parrot
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T15")]


class Loads(Parrot):
    """A model whose package takes its time, or can't be loaded."""

    def __init__(self, *, stuck: bool = False, broken: bool = False) -> None:
        super().__init__()
        self.asked, self.loaded = asyncio.Event(), asyncio.Event()
        self.stopped = False
        self._broken = broken
        if not stuck:
            self.loaded.set()

    async def check_setup(self) -> Sequence[Finding]:
        """Whether it is there, once it is loaded."""
        self.asked.set()
        if self._broken:
            raise RuntimeError("a secret")
        try:
            await self.loaded.wait()
        except asyncio.CancelledError:
            self.stopped = True
            raise
        return [Finding("a package", False, "It is missing.", "Install it.")]


async def test_a_server_is_ready_once_its_models_packages_are_loaded() -> None:
    model = Loads(stuck=True)
    app = create_app(Agent(name="a", model=model), store="memory://")
    async with asyncio.timeout(60):
        starting = asyncio.ensure_future(app.state.engine.start())
        await model.asked.wait()
        assert not starting.done()
        model.loaded.set()
        await starting
        await app.state.engine.aclose()


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (
            lambda: Loads(broken=True),
            {"event": "warm_up_failed", "adapter": "Loads", "error": "RuntimeError"},
        ),
        (lambda: Loads(stuck=True), {"event": "warm_up_takes_long", "seconds": 0.0, "models": 1}),
        (
            Loads,
            {"event": "model_not_set_up", "what": "a package", "detail": "It is missing.", "fix": "Install it."},
        ),
    ],
    ids=["it fails", "it comes to no end", "something is missing"],
)
async def test_what_goes_wrong_is_logged_and_stops_no_server(
    monkeypatch: pytest.MonkeyPatch, model: Callable[[], Loads], told: dict[str, object]
) -> None:
    made = model()
    if not made.loaded.is_set():
        monkeypatch.setattr(warm_up, "WARM_UP_SECONDS", 0.0)
    app = create_app(Agent(name="a", model=made), Agent(name="b", model=made), store="memory://")
    with structlog.testing.capture_logs() as lines:
        async with serving(app) as url, connecting() as http:
            assert (await http.get(f"{url}/readyz")).status_code == 200
            assert made.stopped is not made.loaded.is_set(), "nothing waits for it any more"
    assert [line for line in lines if "warm_up" in line["event"] or "set_up" in line["event"]] == [
        {**told, "log_level": "warning"}
    ]


@pytest.fixture
def did(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is done to the collector, apart from engines that other tests left open: they count in this process."""
    done: list[str] = []
    monkeypatch.setattr(warm_up, "frozen", warm_up.Frozen())
    monkeypatch.setattr("agui_gate.runs.engine.frozen", warm_up.frozen)
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 0)
    monkeypatch.setattr(gc, "freeze", lambda: done.append("freeze"))
    monkeypatch.setattr(gc, "unfreeze", lambda: done.append("unfreeze"))
    return done


async def test_it_freezes_once_however_many_servers_there_are(did: list[str]) -> None:
    """What is garbage by the time of a second freeze would stay for good. After the last one nothing is frozen."""
    for _ in range(2):
        did.clear()
        async with (
            serving(create_app(Agent(name="a", model=Loads()), store="memory://")),
            serving(create_app(Agent(name="b", model=Loads()), store="memory://")),
        ):
            assert did == ["freeze"]
        assert did == ["freeze", "unfreeze"]


async def test_an_engine_without_a_server_freezes_too(did: list[str]) -> None:
    """So a full collection is short on every host."""
    engine = Engine([Agent(name="a", model=Loads())], MemoryStore())
    await engine.aclose()  # it did not start, and counts for nothing
    await engine.start()
    assert did == ["freeze"]
    await engine.aclose()
    await engine.aclose()
    assert did == ["freeze", "unfreeze"]


@pytest.mark.parametrize(("young", "then"), [(700, warm_up.YOUNG), (100_000, 100_000), (0, 0)])
async def test_new_objects_are_looked_through_less_often(did: list[str], young: int, then: int) -> None:
    """Unless the application wants it even less often, or never. After the last server it is as before."""
    before = gc.get_threshold()
    gc.set_threshold(young, *before[1:])
    try:
        async with serving(create_app(Agent(name="a", model=Loads()), store="memory://")):
            assert gc.get_threshold() == (then, *before[1:])
        assert gc.get_threshold() == (young, *before[1:])
    finally:
        gc.set_threshold(*before)


async def test_what_an_application_has_frozen_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 1)
    monkeypatch.setattr(gc, "freeze", lambda: pytest.fail("it was done already"))
    monkeypatch.setattr(gc, "unfreeze", lambda: pytest.fail("it is not ours"))
    frozen = warm_up.Frozen()
    frozen.enter()
    frozen.leave()
