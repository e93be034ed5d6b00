"""Who else uses the file: known when it is opened, so that a server can say so."""

import pytest

from agui_gate.stores.sqlite import SQLiteStore
from tests.stores.test_processes import PATIENCE_S, process

pytestmark = pytest.mark.anyio


async def neighbours(path: str) -> list[int]:
    store = SQLiteStore(path)
    await store.start()
    try:
        return list(store.neighbours)
    finally:
        await store.aclose()


async def test_another_living_process_is_one_and_a_dead_one_is_none(path: str) -> None:
    assert await neighbours(path) == []
    with process("hold", path) as one, process("hold", path) as two:
        assert await neighbours(path) == sorted([one.pid, two.pid])
        one.kill()
        one.wait(PATIENCE_S)
        assert await neighbours(path) == [two.pid]
        two.communicate("go\n", timeout=PATIENCE_S)
    assert await neighbours(path) == []


async def test_a_second_store_of_this_process_is_no_other_process(path: str) -> None:
    store = SQLiteStore(path)
    await store.start()
    assert await neighbours(path) == []
    await store.aclose()


async def test_what_another_container_left_is_no_neighbour(path: str) -> None:
    """It ended without a word and has another name now: nobody can see from here whether it lives."""
    store = SQLiteStore(path)
    await store.start()
    assert store._owner is not None
    machine = store._owner.name.partition("|")[0]
    host, boot, space = machine.split("/")
    for owner in (f"elsewhere/{boot}/{space}|1||x", f"{host}/{boot}/9|1||x", f"{host}/before/{space}|1||x"):
        await store._run(
            lambda db, owner=owner: db.execute(  # type: ignore[misc]  # mypy can't infer a default's type
                "INSERT INTO processes VALUES (?, ?)", (owner, store.now())
            )
        )
    assert await neighbours(path) == []
    await store.aclose()
