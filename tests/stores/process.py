"""What the test processes do: `python -m tests.stores.process JOB PATH`.

Each prints a line when it is ready, and is then killed or told to go on. ``hold``: take the lease of the thread
``held`` and keep it. ``decide``: record three approvals, claim the first and finish it, claim the second and stay in
the middle of running it. ``race``: claim all that alice has pending; print what was won. ``lock``: keep a write lock.
"""

import asyncio
import sys

from agui_gate.core.approvals import Decision, State
from agui_gate.core.transcript import Output
from agui_gate.errors import Frozen, IllegalMove
from agui_gate.stores.base import Change
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate.stores.sqlite.database import Database
from tests.stores.support import gated, pending, said


async def hold(store: FullStore) -> None:
    await store.lease_thread("alice", "held", "support", "r-held")
    ready()


async def decide(store: FullStore) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    change = Change(entries=said("refund it"), approvals=[gated("a1"), gated("a2"), gated("a3")], status="waiting")
    await store.commit(thread, change, "r1")
    thread = await store.lease_thread("alice", "t", "support", "r2")
    await store.move("a1", State.CLAIMED, decision=Decision(True, by="alice"))
    await store.move("a1", State.DONE, output=Output("refunded"))
    await store.move("a2", State.CLAIMED, decision=Decision(True, by="alice"))
    await store.commit(thread, Change(entries=said("more")), "r2")
    ready()


async def race(store: FullStore) -> None:
    waiting = await pending(store, "alice")
    ready()
    won = []
    for approval in waiting:
        try:
            await store.move(approval.id, State.CLAIMED)
            won.append(approval.id)
        except IllegalMove:
            continue
    print(*won, flush=True)


async def click(store: FullStore) -> None:
    """Claims what waits until that is frozen. It is ready after its first claim, and again before its last one."""
    first, *waiting = await pending(store, "alice")
    await store.move(first.id, State.CLAIMED)
    ready()
    frozen = 0
    for approval in waiting:
        if approval is waiting[-1]:
            ready()
        try:
            await store.move(approval.id, State.CLAIMED)
        except IllegalMove:
            continue
        except Frozen:
            frozen += 1
    print(frozen, flush=True)


async def lock(store: FullStore) -> None:
    def keep(db: Database) -> None:
        with db.transaction(durable=False):
            ready()

    assert isinstance(store, SQLiteStore)
    await store._run(keep)


def ready() -> None:
    """Say so, and wait for a line (or, more likely, for the end)."""
    print("ready", flush=True)
    sys.stdin.readline()


async def main(job: str, path: str) -> None:
    store = PostgresStore(path) if path.startswith("postgres") else SQLiteStore(path)
    await store.start()
    await {"hold": hold, "decide": decide, "race": race, "click": click, "lock": lock}[job](store)
    await store.aclose()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
