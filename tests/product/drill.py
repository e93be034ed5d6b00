"""The drill of docs/operations.md#restoring-a-backup, for a store of either kind."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from agui_gate.cli.program import program
from agui_gate_adapters.testkit import Emulator
from tests.product.kit import CARD_TOOL, Product, product
from tests.product.shop import Shop, refund, script
from tests.support.servers import Postgres

YES = {"approved": True}
KINDS = ("sqlite", "postgres")


class Place:
    """A store that can be backed up, lost, and put back."""

    url: str

    def back_up(self) -> None:
        raise NotImplementedError

    def restore(self) -> None:
        raise NotImplementedError


class File(Place):
    def __init__(self, folder: Path) -> None:
        self.file, self.copy = folder / "gate.db", folder / "copy.db"
        self.url = f"sqlite:///{self.file}"

    def back_up(self) -> None:
        assert run("backup", str(self.copy), "--store", self.url).startswith(str(self.file))

    def restore(self) -> None:
        shutil.copy(self.copy, self.file)
        for beside in ("-wal", "-shm"):
            self.file.with_name(self.file.name + beside).unlink(missing_ok=True)


class Database(Place):
    """PostgreSQL copies a database to which nobody is connected."""

    def __init__(self, server: Postgres) -> None:
        self.server, self.name = server, server.create()
        self.url, self.copy = server.url(self.name), ""

    def back_up(self) -> None:
        self.copy = self.server.create(self.name)

    def restore(self) -> None:
        self.server.drop(self.name)
        self.name, self.copy = self.copy, ""
        self.url = self.server.url(self.name)


def run(*arguments: str) -> str:
    """A command, which does well."""
    result = CliRunner().invoke(program, list(arguments))
    assert result.exit_code == 0, result.stderr
    return result.stdout


def migrate(url: str) -> str:
    """Begin a new epoch; what the command says."""
    return run("migrate", "--restored", "--store", url)


@contextmanager
def at(kind: str, request: pytest.FixtureRequest, folder: Path) -> Iterator[Place]:
    """A new store of that kind."""
    if kind == "sqlite":
        yield File(folder)
        return
    made = Database(request.getfixturevalue("postgres"))
    yield made
    made.server.drop(made.name)


async def what_ran_since_does_not_run_again(
    place: Place, begin: Callable[[str], str] = migrate, *, cards: bool = False
) -> str:
    """A backup is made while something waits, that is answered and runs, and then the backup is put back. What ran
    since does not run again, whoever says yes and how often. ``begin`` begins the new epoch; what that said.
    """
    shop, emulator = Shop(), Emulator(script=script(refund()))
    serve = server(shop, emulator, place)
    async with serve() as p:
        chat = p.chat(tools=[CARD_TOOL] if cards else [])
        asked = await chat.say("refund A1")
        (before,) = (await p.get("/approvals"))["approvals"]
    await asyncio.to_thread(place.back_up)
    async with serve() as p:
        chat.product, chat.url = p, p.url
        answer = (next(iter(asked.cards)), {"accepted": True}) if cards else (before["id"], YES)
        done = await (chat.answer(answer) if cards else chat.resume(answer))
        assert (done.text, shop.orders) == ("Done.", ["A1"])
    await asyncio.to_thread(place.restore)
    begun = await asyncio.to_thread(begin, place.url)

    async with serve() as p:
        chat.product, chat.url = p, p.url
        (waits,) = (await p.get("/approvals"))["approvals"]
        assert (waits["restored"], waits["tool"], waits["arguments"]) == (True, before["tool"], before["arguments"])
        assert waits["id"] != before["id"]
        assert (await p.decide(before["id"], YES))["status_code"] == 409
        again = await chat.go()  # its history holds the answer of before
        assert (await (chat.answer(answer) if cards else chat.resume(answer)))[-1]["type"] == "RUN_FINISHED"
        assert shop.orders == ["A1"], "nobody has said yes since"
        assert again[-1]["type"] == "RUN_FINISHED"
        decided = await p.decide(waits["id"], YES)
        assert (decided["state"], shop.orders) == ("done", ["A1", "A1"]), "a person has, knowing that it may have run"
        assert (await chat.say("and?")).text == "Done."
    assert "whole" in await asyncio.to_thread(run, "audit", "verify", "--store", place.url)
    return begun


def server(shop: Shop, emulator: Emulator, place: Place) -> Callable[[], Any]:
    """Servers over that store, one after the other."""

    @asynccontextmanager
    async def serve() -> AsyncIterator[Product]:
        async with product(shop.tools, emulator=emulator, store=place.url) as p:
            yield p

    return serve
