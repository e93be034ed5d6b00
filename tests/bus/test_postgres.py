"""The wire over PostgreSQL: what it keeps, how it says what is wrong, and how it comes back."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec
import psycopg
import pytest

from agui_gate.bus import postgres as module
from agui_gate.bus import postgres_lines
from agui_gate.bus.postgres import PIECES, PostgresWire
from agui_gate.bus.postgres_lines import Ear, RefusedByPostgres
from agui_gate.bus.replicas.wire import NOTE_BYTES, Batch, Head, Note, Piece, Run, Said, Wanted
from agui_gate.errors import ConfigurationError, Unavailable
from tests.bus.test_redis import Ears
from tests.requirements import shows
from tests.support.proxy import Proxy
from tests.support.servers import Postgres

pytestmark = [pytest.mark.anyio, shows("B17")]

RUN = Run("run", "alice", "t", "r1", "here")
KEPT = 300.0


@asynccontextmanager
async def wire(
    url: str, address: str = "here", ears: Ears | None = None, kept_seconds: float = KEPT
) -> AsyncIterator[PostgresWire]:
    made, ears = PostgresWire(url, kept_seconds), ears or Ears()
    await made.start(address, ears.hear, ears.again)
    try:
        yield made
    finally:
        await made.aclose()


def batch(first: int, last: int, keep: int = 0, run: Run = RUN, *, ended: bool = False) -> Batch:
    data = b"".join(b"id: %d\n\n" % number for number in range(first, last))
    return Batch(run, first, last, data, keep, ended)


def piece(first: int, last: int) -> Piece:
    return Piece(first, batch(first, last).data)


async def test_what_is_sent_is_read_once_however_often_it_is_sent(tables: str) -> None:
    async with wire(tables) as here:
        assert await here.find("run") is None
        assert await here.read([Wanted("run", 0)]) == [None]
        await here.send([batch(0, 0)], [])
        assert await here.find("run") == Head(RUN, 0, 0, ended=False)
        for _ in range(2):
            await here.send([batch(0, 3), batch(3, 5)], [])
        assert await here.find("run") == Head(RUN, 0, 5, ended=False)
        assert await here.read([]) == []
        assert await here.read([Wanted("run", 4), Wanted("other", 0), Wanted("run", 0), Wanted("run", 9)]) == [
            Said([piece(3, 5)], 5, ended=False),
            None,
            Said([piece(0, 3), piece(3, 5)], 5, ended=False),
            Said([], 5, ended=False),
        ]
        await here.send([batch(5, 5, ended=True)], [])
        assert await here.read([Wanted("run", 5)]) == [Said([], 5, ended=True)]


async def test_what_is_over_its_bounds_goes(tables: str) -> None:
    async with wire(tables) as here:
        for number in range(10):
            await here.send([batch(3 * number, 3 * number + 3, keep=max(0, 3 * number - 5))], [])
        assert await here.find("run") == Head(RUN, 21, 30, ended=False)
        assert await here.read([Wanted("run", 2)]) == [Said([piece(21, 24), piece(24, 27), piece(27, 30)], 30, False)]


async def test_a_read_gives_some_pieces_and_the_next_one_the_next(tables: str) -> None:
    async with wire(tables) as here:
        await here.send([batch(number, number + 1) for number in range(PIECES + 5)], [])
        (said,) = await here.read([Wanted("run", 0)])
        assert said is not None
        assert (len(said.pieces), said.next) == (PIECES, PIECES + 5)
        assert await here.read([Wanted("run", PIECES)]) == [
            Said([piece(number, number + 1) for number in range(PIECES, PIECES + 5)], PIECES + 5, False)
        ]


@pytest.mark.parametrize(
    "text", ["it's", "\\", "\\'; DROP TABLE run_heads; --", "\0", "\ufdd0", "\ufdd01\ufdd00", "%s:now"]
)
async def test_any_text_comes_through(tables: str, text: str) -> None:
    run = Run(f"run {text}", f"alice {text}", f"t {text}", f"r {text}", "here")
    data = b"data: %b\n\n" % msgspec.json.encode(text)
    ears = Ears()
    async with wire(tables, "there", ears), wire(tables) as here:
        await here.send([Batch(run, 0, 1, data, 0, False)], [Note("there", data)])
        assert await here.find(run.run_key) == Head(run, 0, 1, ended=False)
        assert await here.read([Wanted(run.run_key, 0)]) == [Said([Piece(0, data)], 1, ended=False)]
        await here.put_opening(run.run_key, 7, data)
        assert await here.opening(run.run_key) == (7, data)
        await ears.until(lambda: ears.heard == [data])
        await here.send([Batch(run, 1, 1, b"", 0, True)], [])
        await here.forget(run.principal, run.thread_id)
        assert await here.find(run.run_key) is None
        assert await here.opening(run.run_key) is None


async def test_a_thread_s_runs_that_have_ended_are_forgotten_and_no_others(tables: str) -> None:
    runs = [Run(f"{n}{who}{thread}", who, thread, "r", "here") for n in (0, 1) for who in "ab" for thread in "tu"]
    async with wire(tables) as here:
        await here.send([batch(0, 2, run=run, ended=run.run_key[0] == "0") for run in runs], [])
        await here.forget("a", "t")
        assert [run.run_key for run in runs if await here.find(run.run_key) is None] == ["0at"]
        assert await here.read([Wanted("0at", 0)]) == [None]


async def test_what_is_over_its_time_goes_in_small_batches(tables: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 2)
    runs = [Run(str(number), "a", "t", "r", "here") for number in range(5)]
    async with wire(tables, kept_seconds=0) as here:
        await here.send([batch(0, 2, run=run, ended=True) for run in runs], [])
        await here.send([batch(0, 2)], [])
        await here.put_opening("run", 1, b"opening")
        await here.expire()
        assert [await here.find(run.run_key) for run in runs] == [None] * 5
        assert await here.find("run") is not None, "it goes on"
        assert await here.opening("run") is not None
        monkeypatch.setattr(module, "RUNNING_SECONDS", 0)
        monkeypatch.setattr(module, "OPENING_SECONDS", 0)
        await here.expire()
        assert await here.find("run") is None
        assert await here.opening("run") is None
        with psycopg.connect(tables) as connection:
            assert connection.execute("SELECT count(*) FROM run_events").fetchall() == [(0,)]


async def test_a_note_reaches_whom_it_is_for(tables: str) -> None:
    all_ears = {name: Ears() for name in ("here", "there")}
    long = b'"' + b"'" * (NOTE_BYTES - 2) + b'"'
    async with wire(tables, "here", all_ears["here"]) as here, wire(tables, "there", all_ears["there"]):
        await here.send([], [Note("", b"all"), Note("there", long), Note("here", b"one")])
        await all_ears["here"].until(lambda: all_ears["here"].heard == [b"all", b"one"])
        await all_ears["there"].until(lambda: all_ears["there"].heard == [b"all", long])


async def test_who_hears_a_note_finds_what_was_sent_with_it(tables: str) -> None:
    ears = Ears()
    async with wire(tables, "there", ears) as there, wire(tables) as here:
        for number in range(20):
            await here.send([batch(number, number + 1)], [Note("there", b"%d" % number)])
        await ears.until(lambda: len(ears.heard) == 20)
        assert ears.heard == [b"%d" % number for number in range(20)]
        head = await there.find("run")
        assert head is not None
        assert head.next == 20


async def test_it_hears_again_after_every_connection_is_cut(tables: str, postgres: Postgres) -> None:
    ears = Ears()
    async with Proxy(postgres.port) as proxy:
        url = tables.replace(str(postgres.port), str(proxy.port))
        async with wire(url, "here", ears) as here:
            for time in range(1, 4):
                proxy.cut()
                await ears.until(lambda: ears.missed == time)  # noqa: B023  it is called at once
                try:
                    await here.send([batch(0, time)], [])
                except Unavailable:
                    await here.send([batch(0, time)], [])
                await here.send([], [Note("here", b"%d" % time)])
                await ears.until(lambda: ears.heard[-1:] == [b"%d" % time])  # noqa: B023  it is called at once


async def test_silence_is_looked_after(tables: str, postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that something in between has forgotten says nothing, and isn't closed either."""
    monkeypatch.setattr(postgres_lines, "QUIET_SECONDS", 0.01)
    monkeypatch.setattr(postgres_lines, "ANSWER_SECONDS", 0.5)
    ears = Ears()
    async with Proxy(postgres.port) as proxy:
        url = tables.replace(str(postgres.port), str(proxy.port))
        async with wire(url, "here", ears):
            before = proxy.accepted
            proxy.hold()
            async with asyncio.timeout(60):
                while proxy.accepted == before:  # noqa: ASYNC110  (it has no event)
                    await asyncio.sleep(0)
            proxy.let_go()
            await ears.until(lambda: ears.missed >= 1)


async def test_who_is_cancelled_disturbs_nobody(tables: str) -> None:
    async with wire(tables) as here:
        await here.send([batch(0, 3)], [])
        for turns in range(4):
            asking = asyncio.ensure_future(here.find("run"))
            for _ in range(turns):
                await asyncio.sleep(0)
            asking.cancel()
            await asyncio.wait([asking])
            assert await here.read([Wanted("run", 0)]) == [Said([piece(0, 3)], 3, ended=False)]


async def test_what_can_never_be_kept_is_not_tried_for_ever(tables: str) -> None:
    async with wire(tables) as here:
        with pytest.raises(RefusedByPostgres):
            await here.send([batch(0, 3)], [Note("here", b"." * 9000)])
        assert await here.find("run") is None


# --- what is wrong at the start ---------------------------------------------------------------------------------------


async def refused(url: str) -> str:
    """What its start says."""
    made = PostgresWire(url, KEPT)
    with pytest.raises(ConfigurationError) as error:
        await made.start("here", lambda _: None, lambda: None)
    await made.aclose()
    assert "secret" not in error.value.message
    assert "store" not in error.value.message
    return error.value.message


@pytest.mark.parametrize("url", ["postgresql://a:secret@[host", "postgresql://host?secret=1"])
def test_what_is_no_url_of_postgresql(url: str) -> None:
    with pytest.raises(ConfigurationError, match="URL") as error:
        PostgresWire(url, KEPT)
    assert "secret" not in error.value.message


async def test_nothing_listens_there() -> None:
    assert "nothing listens there" in await refused("postgresql://a:secret@127.0.0.1:9/agui")


async def test_there_is_no_such_database(postgres: Postgres) -> None:
    assert "no such database" in await refused(postgres.url("nowhere"))


async def test_without_its_tables(database: str) -> None:
    assert "agui-gate migrate" in await refused(database)


async def test_a_role_without_rights(tables: str, postgres: Postgres) -> None:
    postgres.execute("DROP ROLE IF EXISTS only_reads")
    postgres.execute("CREATE ROLE only_reads LOGIN IN ROLE pg_read_all_data")
    assert "lacks rights" in await refused(tables.replace("postgres@", "only_reads@"))


async def test_behind_a_pooler_nothing_is_heard(tables: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def deaf(conninfo: str, channels: list[str], hear: Callable[[str], None], again: Callable[[], None]) -> Ear:
        return Ear(conninfo, [f"not_{channel}" for channel in channels], hear, again)

    monkeypatch.setattr(module, "Ear", deaf)
    monkeypatch.setattr(module, "HEAR_SECONDS", 0.05)
    assert "AGUI_GATE_BUS" in await refused(tables)
