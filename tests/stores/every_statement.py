"""Every statement that a store in SQL sends: all of its methods, in all their variants, on a small store.

Nobody keeps a list of the statements. `recorded` takes each one where the code makes it, and `places` is every place in
the code that makes one: a place that `use_everything` does not come to is a test that fails.
"""

import ast
import importlib
import re
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, cast, get_args

import msgspec
import pytest

import agui_gate.stores
from agui_gate.core import audit
from agui_gate.core.approvals import Decision, State
from agui_gate.core.deputies import Deputy, Side
from agui_gate.core.freezes import Freeze
from agui_gate.core.grants import Grant, GrantLimits, Use, Whose
from agui_gate.core.terms import Seen, Sum, Terms
from agui_gate.core.transcript import ConversationRef, Output
from agui_gate.errors import InvalidRequest, NotFound, RateLimited, Unreadable
from agui_gate.extras.audit.keys import Keys
from agui_gate.stores.audit import Link, Part
from agui_gate.stores.base import LEASE_MS, Change, JournalVersion, Named, StopRequest, Thread, Which
from agui_gate.stores.deliveries import Delivery, Step
from agui_gate.stores.lease import DECIDES
from agui_gate.stores.operators import Act, WhichCalls
from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.retention import BEGINNING, Ages
from agui_gate.stores.sql import operations
from agui_gate.stores.sql.quotas import Kind as QuotaKind
from agui_gate.stores.sql.quotas import StoredQuota, count, enforce
from agui_gate.stores.sql.usage import ledger_of
from agui_gate.stores.sql.usage_retention import Place as UsagePlace
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate.stores.usage import DAY_MS, ModelRequest, Spent, Want
from tests.stores.support import Clock, ask, gated, said

FOLDER = Path(agui_gate.stores.__file__).parent

TABLES = {"threads", "journal", "approvals", "approval_events", "tombstones", "outbox", "counted_calls", "grants"}
TABLES |= {"deliveries", "approval_steps", "deputies"}
TABLES |= {"model_requests", "usage_days", "budgets", "person_keys"}
"""Those that grow."""
USES = re.compile(rf"(?:FROM|INTO|UPDATE|JOIN) (?:{'|'.join(sorted(TABLES))})\b")
EPOCH = (
    "UPDATE approvals SET was = id",
    "SELECT thread, count(*) FROM approvals",
    "SELECT key, ref FROM threads",
)
"""The beginnings of what `begin_epoch` sends: before a store is used that was put back from a backup, it reads all."""

Used = SQLiteStore | PostgresStore

Place = tuple[str, int]
"""A module of `FOLDER`, and a line in it."""


class Said(msgspec.Struct, frozen=True):
    """A statement, as the code made it."""

    text: str
    values: Mapping[str, object]


class Record(msgspec.Struct):
    """What was made: the statements by their texts, and the places that made them."""

    statements: dict[str, Said]
    places: set[Place]


@contextmanager
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[Record]:
    """Within, each statement is remembered when it is made."""
    record = Record({}, set())

    def make(
        text: str, values: Mapping[str, object] = operations.NOTHING, *more: Any, **named: Any
    ) -> operations.Statement:
        frame = sys._getframe(1)
        record.places.add((str(Path(frame.f_code.co_filename).relative_to(FOLDER)), frame.f_lineno))
        record.statements.setdefault(text, Said(text, values))
        return operations.Statement(text, values, *more, **named)

    for file in (FOLDER / "sql").glob("[!_]*.py"):  # some of them are imported where they are used first
        importlib.import_module(f"agui_gate.stores.sql.{file.stem}")
    with monkeypatch.context() as patched:
        for name, module in list(sys.modules.items()):
            if name.startswith("agui_gate.stores.") and module is not operations and hasattr(module, "Statement"):
                patched.setattr(module, "Statement", make)
        yield record


def places(*folders: str) -> Iterator[tuple[str, int, int]]:
    """Every call of `Statement` in the modules of these folders: the module, its first line and its last."""
    for file in sorted(path for folder in folders for path in (FOLDER / folder).glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Statement":
                yield str(file.relative_to(FOLDER)), node.lineno, node.end_lineno or node.lineno


async def use_everything(store: Used, clock: Clock) -> None:
    """Calls every method of a store, in every way that makes a statement of its own."""
    await _threads(store, clock)
    await _approvals(store, clock)
    await _lists(store)
    await _trail(store)
    await _operators(store)
    await _forgotten(store, clock)
    await _unreadable(store)
    await _limits(store)


async def _operators(store: Used) -> None:
    operators, act = store.operators, Act("olga", "why")
    for which in get_args(WhichCalls):
        page = await operators.calls(which, None, 1)
        await operators.calls(which, "acme", 1, page.next_cursor)
    await operators.threads(None, 1)
    await operators.runs(None, 1)
    await ask(store, gated("o1"), thread_id="operated")
    await operators.call("o1")
    await store.move("o1", State.CLAIMED)
    await store.move("o1", State.UNKNOWN)
    thread = await store.lease_thread("alice", "operated", "support", "operates")
    for lists in (operators.threads, partial(operators.calls, "pending")):
        with suppress(InvalidRequest):
            await lists("acme", 1, "WzFd")  # behind the row of somebody whose name isn't told: [1]
    await operators.ask_to_stop("alice", "operated", act, "operates")
    await operators.settle("o1", State.DONE, Output("done"), act, "operates")
    store.trail.keys = Keys([b"k" * 32])
    await operators.hand_on(thread, "carl", act, "operates")
    store.trail.keys = None
    await store.commit(thread, Change(status="finished"), "operates")
    for lift in (False, True):
        await operators.freeze(Freeze(agent="nobody"), act, lift=lift)
    for event in (await store.read_events(limit=500)).events:
        await store.trail.reason(event)


async def _commit(store: Used, change: Change, run_key: str, thread_id: str = "t") -> Thread:
    thread = await store.lease_thread("alice", thread_id, "support", run_key)
    await store.commit(thread, change, run_key)
    return thread


async def _threads(store: Used, clock: Clock) -> None:
    whole = Change(
        entries=said("a", "b"),
        approvals=[gated("a1", expires_at=10), gated("a2")],
        state={"a": 1},
        ref=ConversationRef("t", "o", conversation_id="conv"),
        default_title="x",
        status="waiting",
    )
    await _commit(store, whole, "r1")
    branch = Change(keep=1, entries=said("c"), replaced=["a2"], happened=[_shown("a2")], status="finished")
    await _commit(store, branch, "r2")
    for name in ("t", "conv"):  # by the client's id, and by the provider's
        for is_whole in (True, False):
            run_key = f"run-{name}-{is_whole}"
            thread = await store.lease_thread("alice", name, "support", run_key, whole=is_whole)
            await store.read_thread("alice", name, whole=is_whole)
            await store.commit(thread, Change(after=2, status="finished"), run_key)
    old = JournalVersion("0", "r0", "finished", 1)
    thread = await store.lease_thread("alice", "t", "support", "known", known=old)
    await store.commit(thread, Change(status="finished"), "known")
    await _commit(store, Change(entries=said("d")), "left", "left")
    await store.ask_to_stop("alice", "left", StopRequest())
    await store.take_stops(["left"])
    await store.at_work([("alice", "left")])
    await store.renew(["left", "gone"])
    clock.advance(2 * LEASE_MS)
    await _commit(store, Change(status="finished"), "after", "left")  # a lease that lapsed is taken over
    await store.update_thread("alice", "t", title="y", archived=True)


def _shown(approval_id: str) -> audit.Happened:
    return audit.Happened(kind="shown", principal="alice", thread_id="t", approval_id=approval_id)


async def _approvals(store: Used, clock: Clock) -> None:
    await ask(store, *(gated(f"b{n}", runner="provider") for n in range(4)), thread_id="u")
    for to, more in (
        (State.CLAIMED, {"decision": Decision(True, "bob")}),
        (State.PASSED, {}),
        (State.GIVEN_BACK, {}),
        (State.UNKNOWN, {"output": Output("?")}),
    ):
        await store.move("b0", to, **more)
    await store.move("b1", State.CLAIMED)
    await store.is_agreed(gated("not in the trail"))
    await store.is_agreed(msgspec.structs.replace(gated("b1"), thread_id="u"))
    for to in (State.REJECTED, State.SUPERSEDED, State.CANCELLED, State.DONE, State.FAILED):
        made = f"c-{to}"
        await ask(store, gated(made), thread_id="u")
        if to in (State.DONE, State.FAILED):
            await store.move(made, State.CLAIMED)
        await store.move(made, to)
    looks: Sequence[Callable[[], Awaitable[object]]] = (
        lambda: store.approval("alice", "d0"),
        lambda: store.read_thread("alice", "u"),
        lambda: store.read_calls("alice", "u"),
        lambda: store.list_approvals("alice", limit=2),
        store.expire,
        lambda: store.lease_thread("alice", "u", "support", "expires"),
    )
    for number, look in enumerate(looks):
        await ask(store, gated(f"d{number}", expires_at=10), thread_id="u")
        clock.advance(100)
        await look()
    await store.approval("alice", "was-never")
    await store.orphans()
    await store.backlog()
    await store.unknown(2)
    await store.waiting_ids(["alice", "bob"], 10)
    await store.working_states(["alice", "bob"])
    for tenant in ("", "acme"):
        await store.people_waiting(tenant, 0, 10)
    await store.waiting_people(["alice", "bob"], 10)
    await store.emergencies(0)
    await store.people_approval("a1")
    await _counted(store)
    await _usage(store)
    await store.read_approvals("alice", ["b2", "b3"])
    await _delivered(store)


async def _counted(store: Used) -> None:
    wanted = Sum("owner", "alice", "refund", "amount", 0)
    await store.counted_calls(wanted)
    for lift in (False, True):
        await store.freeze(Freeze(tool="nothing"), lift=lift)
    await store.freezes()
    await ask(store, gated("counted"), thread_id="counted")
    limits = GrantLimits(3_600_000)
    grant = Grant(
        id="g1", owner="alice", agent="support", tool="refund", scope="thread", limits=limits, approval_id="counted",
        thread_id="counted", giver="alice",
    )  # fmt: skip
    await store.move("counted", State.CLAIMED, terms=Terms(seen=(Seen(wanted, 0.0),), given=grant))
    await ask(store, gated("granted"), thread_id="granted")
    await store.move("granted", State.CLAIMED, terms=Terms(by_grant=Use("g1", limits)))
    values = ("g1", "alice", "alice", "")
    for whose, value in zip(get_args(Whose), values, strict=True):
        assert [one.used for one in await store.grants(whose, value)] == [1]
    assert [await store.revoke_grant("g1", "alice") for _ in range(2)] == [True, False]
    deputies = store.deputies()
    now = store.now()
    named = await deputies.add(Deputy(id="d1", tenant="", absent="alice", deputy="dan", since=0, until=now + 1_000))
    await ask(store, gated("deputized"), thread_id="deputized")
    await store.move("deputized", State.CLAIMED, terms=Terms(deputies=("d1",), is_counted=False))
    for side, name in {"id": "d1", "absent": "alice", "deputy": "dan", "tenant": ""}.items():
        assert await deputies.find(cast(Side, side), "", name) == [named]
    assert [await deputies.remove("d1", "alice") for _ in range(2)] == [True, False]


async def _delivered(store: Used) -> None:
    deliveries = store.deliveries()
    await deliveries.add([Delivery("desk", name, "a1", "{}") for name in ("n1", "n2", "n3")])
    (first, second, third) = (await deliveries.take("desk", "one", 10)).deliveries
    await deliveries.delivered(first)
    await deliveries.failed(second, "away", 1)
    await deliveries.failed(third, "away", None)
    await deliveries.leave("desk", "one")
    await deliveries.listed(limit=10)
    assert [one.id for one in await deliveries.listed(limit=10, dead=True)] == [third.id]
    assert await deliveries.retry([third.id]) == 1
    await ask(store, gated("step"), gated("orphan"), thread_id="steps")
    await deliveries.hand_to("step", "bob", "alice")
    await deliveries.approval("step")
    steps = [Step("step", "reminder", 1), Step("step", "escalated", 2, "lead"), Step("was-never", "reminder", 1)]
    await deliveries.plan(steps, 0)
    assert (await deliveries.due_steps(10))[0] == steps[:1] + steps[2:] + steps[1:2]
    assert [await deliveries.take_step(step, tell=True) is not None for step in (*steps, *steps)] == [
        True,
        True,
        *[False] * 4,
    ]
    await store.move("orphan", State.CLAIMED)
    orphan = Named(seq=0, id="orphan", tool="refund", state=State.CLAIMED, principal="alice", thread_id="steps")
    assert [await deliveries.report_orphan(orphan) is not None for _ in range(2)] == [True, False]


async def _usage(store: Used) -> None:
    ledger = ledger_of(store)
    assert ledger is not None
    used = ModelRequest(
        id="q1", of_tenant="", owner="alice", principal="alice", thread_id="used", run_key="used", agent="support",
        provider="p", model="m", at=DAY_MS, first_ms=1, ms=2, outcome="ok", spent=[Spent("b", 1, 1)],
    )  # fmt: skip
    thread = await store.lease_thread("alice", "used", "support", "used")
    await ledger.commit(thread, Change(status="finished"), "used", [used])
    await ledger.reserve([Want("b", 10, None)], 1, 1)
    assert await ledger.spent("b") == (2, 2)
    for whose, value in (("owner", "alice"), ("of_tenant", "")):
        assert len((await ledger.days(whose, value, 0, 2))[0]) == len((await ledger.requests(whose, value))[0]) == 1
    assert len((await ledger.requests("owner", "alice", thread_id="used"))[0]) == 1
    await ledger.reserve([Want("all:1:", 10, None)], 1, 1)
    gone, place = await ledger.forget(1, UsagePlace())
    assert (gone, place) == (3, UsagePlace())


async def _lists(store: Used) -> None:
    for archived in (None, False, True):
        for agent in (None, "rare"):
            page = await store.list_threads("alice", limit=1, archived=archived, agent=agent)
            if page.next_cursor is not None:
                await store.list_threads("alice", limit=1, archived=archived, agent=agent, cursor=page.next_cursor)
    for which in get_args(Which):
        calls = await store.list_approvals("alice", limit=1, which=which)
        if calls.next_cursor is not None:
            await store.list_approvals("alice", limit=1, which=which, cursor=calls.next_cursor)


async def _trail(store: Used) -> None:
    await store.note([_shown("b2")])
    for principal in (None, "alice"):
        for thread_id in (None, "t"):
            for since in (0, 1):
                events = await store.read_events(limit=1, principal=principal, thread_id=thread_id, since=since)
                await store.read_events(
                    limit=1, principal=principal, thread_id=thread_id, since=since, cursor=events.next_cursor
                )
    newest = Link(2**63 - 1, 2**63 - 1, 2**31 - 1)
    for part in (Part(), Part(tenant=""), Part(tenant="", by="bob"), Part(owner="alice"), Part(approval_id="a1")):
        await store.trail.read(part, newest, 50)
    store.trail.keys = Keys([b"k" * 32])
    await store.trail.begin_keys()
    store.trail.keys = None
    await store.trail.begin_keys()
    assert not await store.trail.strays()
    await store.trail.unread("1")
    heads = await store.read_heads(limit=1)
    await store.read_heads(limit=1, cursor=heads.next_cursor)
    thread = await store.read_thread("alice", "t")
    assert thread is not None
    for key in (None, thread.key):
        await store.read_ledger(key)
    await store.want_runs(False)
    notices = await store.take_notices("one", limit=2)
    await store.take_notices("one", told=[notice.id for notice in notices], limit=2)
    await store.take_notices("one", told=[], limit=0)


async def _forgotten(store: Used, clock: Clock) -> None:
    await ask(store, gated("e1"), gated("e2", expires_at=10), thread_id="v")
    long = Output("x" * 10_000)
    await store.move("e1", State.CLAIMED)
    thread = await store.lease_thread("alice", "v", "support", "delete")
    await ask_long(store, long)
    clock.advance(100)
    await store.delete_thread(thread, "delete")
    with pytest.raises(NotFound):
        await store.move("e1", State.DONE, output=Output("late"))  # its thread is gone
    for thread_id in (None, "v"):
        for approval_id in (None, "e1"):
            await store.tombstones("alice", thread_id=thread_id, approval_id=approval_id)
    await store.tally()
    await store.begin_epoch()
    clock.advance(10_000)
    await store.sweep(Ages(threads=1000, records=1000), BEGINNING, 1)
    await store.sweep(Ages(threads=1000, records=1000))
    await prune(store, clock)


async def prune(store: Used, clock: Clock) -> None:
    """Old events: of no thread, of one that is there, and of one that is gone."""
    await store.operators.freeze(Freeze(tool="old"), Act("olga", ""), lift=False)
    await store.operators.freeze(Freeze(tool="old"), Act("olga", ""), lift=True)
    for name in ("kept", "gone"):
        await ask(store, gated(name, thread_id=name), thread_id=name)
        await store.move(name, State.CANCELLED)
        clock.advance(100_000)
        if name == "gone":
            thread = await store.lease_thread("alice", name, "support", f"{DECIDES}{name}")
            await store.delete_thread(thread, f"{DECIDES}{name}")
            clock.advance(100_000)
        place = BEGINNING
        for _ in range(3):
            place = (await store.sweep(Ages(trail=1000), place)).place


async def ask_long(store: Used, output: Output) -> None:
    """A call with a long result, whose thread is deleted."""
    await ask(store, gated("f1"), thread_id="w")
    await store.move("f1", State.CLAIMED)
    await store.move("f1", State.DONE, output=output)
    thread = await store.lease_thread("alice", "w", "support", f"{DECIDES}w")
    await store.delete_thread(thread, f"{DECIDES}w")


async def _unreadable(store: Used) -> None:
    """A thread that a newer version has written, and a lease that nobody knows of."""

    def spoil() -> operations.Steps[None]:
        yield [operations.Statement("UPDATE journal SET body = :body", {"body": '[{"type":"user","id":1}]'})]

    await _commit(store, Change(entries=said("a"), status="finished"), "x", "x")
    await store._do("write", spoil)
    with pytest.raises(Unreadable):
        await store.lease_thread("alice", "x", "support", "y")
    await store._do("write", lambda: store._sql.leases.void("y"))


async def _limits(store: Used) -> None:
    every = [StoredQuota(scope, kind, 1) for scope in ("principal", "tenant") for kind in get_args(QuotaKind)]
    enforce(store, every, lambda held: RateLimited(held.kind))
    for owner in ("zoe", "acme\x1fzoe"):
        with suppress(RateLimited):
            await store.lease_thread(owner, "limited", "support", "run_limited")
        for held in every:
            await count(store, held, owner)
