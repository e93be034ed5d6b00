"""A bus from its URL, and from the settings."""

from pathlib import Path
from typing import Any

import pytest

from agui_gate import Agent, create_app
from agui_gate.bus import open_bus
from agui_gate.bus.base import Bus
from agui_gate.bus.memory import MemoryBus
from agui_gate.bus.replicas.bus import SharedBus
from agui_gate.config.backends import bus_from
from agui_gate.config.settings import Settings
from agui_gate.errors import ConfigurationError, Unavailable
from agui_gate.runs.engine import Engine
from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.sqlite import SQLiteStore
from tests.bus.test_contract import to_the_end
from tests.product.inprocess import Parrot
from tests.product.kit import product
from tests.product.live import starting
from tests.product.shop import say
from tests.requirements import shows
from tests.support.servers import Valkey

pytestmark = [pytest.mark.anyio, shows("B17")]


def opened(url: str) -> Bus:
    return open_bus(url, kept_seconds=60, run_bytes=1024 * 1024)


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("memory://", MemoryBus),
        ("redis://host", SharedBus),
        ("rediss://:secret@host:1/2", SharedBus),
        ("postgresql://a:secret@host:5432/agui", SharedBus),
        ("postgres:///agui", SharedBus),
    ],
)
def test_a_url_names_a_bus(url: str, kind: type[Bus]) -> None:
    assert type(opened(url)) is kind
    assert type(bus_from(Settings(bus=url))) is kind


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("secret", "must be a URL"),
        ("memory://secret", "memory:// with nothing after it"),
        ("nats://secret@host", "There is no bus nats://"),
        ("redis://secret:secret@host:secret", "must be a URL such as redis://"),
        ("postgresql://a:secret@[secret", "URL"),
    ],
)
def test_what_names_none_is_one_sentence_without_what_was_given(url: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as error:
        opened(url)
    assert "secret" not in error.value.message


def test_without_a_bus_it_goes_by_the_store() -> None:
    assert type(bus_from(Settings())) is MemoryBus
    assert type(bus_from(Settings(), store="")) is MemoryBus
    assert type(bus_from(Settings(store="postgresql://host/agui"))) is SharedBus
    assert type(bus_from(Settings(), store="postgres://host/agui")) is SharedBus
    assert type(bus_from(Settings(bus="redis://host"), store="sqlite:///a.db")) is SharedBus
    assert type(bus_from(Settings(bus="redis://host"), "memory://")) is MemoryBus


async def heard_elsewhere(url: str, **parts: Any) -> None:
    """What an application made of ``parts`` says is read over another bus, that of ``url``."""
    async with product([], [{"output": [say("word " * 30)]}], **parts) as p:
        async with starting(p, p.chat(), "go") as reader:
            await reader.end()
        there = opened(url)
        await there.start()
        again = await there.read(reader.run_key)
        assert again is not None
        assert await to_the_end(again) == reader.raw.encode()
        await there.aclose()


async def test_what_an_application_says_is_read_over_another_bus_of_the_same_url(valkey: Valkey) -> None:
    await heard_elsewhere(valkey.url, bus=valkey.url)


async def test_a_store_that_was_made_elsewhere_brings_its_bus(tables: str) -> None:
    await heard_elsewhere(tables, store=PostgresStore(tables))
    app = create_app(Agent(name="a", model=Parrot()), store=PostgresStore(tables), bus="memory://", settings=Settings())
    assert type(app.state.engine.bus) is MemoryBus


async def test_where_the_bus_can_not_be_used_no_store_stays_open(tmp_path: Path) -> None:
    store = SQLiteStore(str(tmp_path / "store.db"))
    engine = Engine([], store, bus=opened("postgresql://127.0.0.1:9/agui"))
    with pytest.raises(ConfigurationError, match="nothing listens there"):
        await engine.start()
    with pytest.raises(Unavailable):
        await store.check()
