"""The part of a server that tells: it takes notices from the outbox, and keeps a delivery for each endpoint of them."""

import asyncio
from collections.abc import Collection, Coroutine, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

import msgspec
import structlog

from agui_gate.concurrency import stop_tasks
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import Approval
from agui_gate.errors import ConfigurationError
from agui_gate.extension import Extension, Server
from agui_gate.extras.notices import steps
from agui_gate.extras.notices.delivery import Attempted, OnNotice, Target, Webhook, Worker, targets
from agui_gate.extras.notices.endpoints import Endpoint, read_endpoints
from agui_gate.extras.notices.notice import DEPUTIES, make_notice, read_row
from agui_gate.stores.base import Store
from agui_gate.stores.deliveries import DeliveringStore, Delivery, DeliveryStore
from agui_gate.stores.outbox import Notice as Row
from agui_gate.stores.outbox import NoticeKind

if TYPE_CHECKING:
    from agui_gate.http.server import HttpServer

log = structlog.get_logger("agui_gate.notices")

AT_ONCE = 20
"""Notices whose records are read at the same time."""
_NO_STORE = "This store keeps no deliveries: leave out on_notice, AGUI_GATE_WEBHOOKS and Gate(remind=…, escalate=…)."


class Notices(Extension):
    """Tells ``targets`` of the approvals of one server, and does the steps of those that wait."""

    notice_kinds: Collection[NoticeKind] = ("approval_pending", "approval_decided", "approval_notice")

    def __init__(self, targets: Sequence[Target], public_url: str = "", attempted: Attempted | None = None) -> None:
        self._targets, self._public_url, self._attempted = targets, public_url, attempted
        self._workers: list[Worker] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._server: HttpServer | None = None
        self._deliveries: DeliveryStore | None = None

    async def start(self, server: Server) -> None:
        """Begins to work. Raises `ConfigurationError` if the store keeps no deliveries."""
        if not hasattr(server.store, "deliveries"):
            raise ConfigurationError(_NO_STORE)
        self._server = cast("HttpServer", server)
        self._deliveries = cast(DeliveringStore, server.store).deliveries()
        name = uuid4().hex
        engine = self._server.engine
        may_go = partial(steps.may_go_unasked, engine.members)
        work = (server.store, self._deliveries, name, self._attempted, may_go)
        self._workers = [Worker(target, *work) for target in self._targets]
        job = steps.StepJob(
            self._deliveries,
            partial(engine.written, what="approvals"),
            reminds=self._is_wanted("reminder"),
            orphans=steps.orphans_of(server.store) if self._is_wanted("orphaned") else None,
            held=engine.leases,
        )
        works: dict[str, Coroutine[Any, Any, None]] = {f"to {one.target.name}": one.work() for one in self._workers}
        works["steps"] = job.work()
        self._tasks = [asyncio.create_task(work, name=f"agui-gate notices {name}") for name, work in works.items()]

    def replace_secrets(self, endpoints: Sequence[Endpoint]) -> bool | None:
        """Signs by the secrets of these endpoints from now on. Returns whether nothing else of them has changed; None
        if nothing at all has.
        """
        hooks = {one.name: one for one in self._targets if isinstance(one, Webhook)}
        if {one.name: one for one in endpoints} == {name: hook.endpoint for name, hook in hooks.items()}:
            return None
        same = [one for one in endpoints if one.name in hooks and _is_same(one, hooks[one.name].endpoint)]
        for endpoint in same:
            hooks[endpoint.name].sign_by(endpoint)
        return len(same) == len(endpoints) == len(hooks)

    async def stop(self) -> None:
        """Ends what is at work. What waits is in the store."""
        tasks, self._tasks = self._tasks, []
        await stop_tasks(tasks)
        for target in self._targets:
            target.close()

    async def notices(self, batch: Sequence[Row]) -> None:
        """Keeps a delivery of each for each endpoint that wants it."""
        assert self._server is not None  # it has started
        assert self._deliveries is not None
        added: list[Delivery] = []
        taken = partial(self._taken, self._server.store, self._deliveries)
        for place in range(0, len(batch), AT_ONCE):  # it has a few seconds, and a store may be far away
            for some in await asyncio.gather(*map(taken, batch[place : place + AT_ONCE])):
                added += some
        await self._deliveries.add(added)
        for worker in self._workers:
            if any(delivery.endpoint == worker.target.name for delivery in added):
                worker.wake()

    async def _taken(self, store: Store, deliveries: DeliveryStore, row: Row) -> Iterable[Delivery]:
        """Returns the deliveries of a row. The steps of what is asked are kept."""
        if (said := read_row(row)) is None:
            return ()
        # An emergency is told to everybody, whatever they want to be told.
        wanted = [one.name for one in self._targets if said.kind in one.kinds or said.kind == "break_glass"]
        if not wanted and said.kind != "asked":
            return ()
        if said.kind in DEPUTIES:
            notice = make_notice(row, said, None, self._public_url)
            return [Delivery(name, notice.id, row.about, msgspec.json.encode(notice).decode()) for name in wanted]
        approval = await store.approval(row.principal, row.about)
        if approval is None and (approval := await deliveries.approval(row.about)) is not None:  # it was handed on
            row = msgspec.structs.replace(row, principal=approval.principal)
        if said.kind == "asked" and approval is not None:
            await self._plan(deliveries, approval)
        if approval is not None and steps.went_unasked(approval):
            return ()
        if said.state == "deleted" and await self._was_decided(store, row):
            return ()
        notice = make_notice(row, said, approval, self._public_url)
        body = msgspec.json.encode(notice).decode()
        return [Delivery(name, notice.id, row.about, body) for name in wanted]

    async def _plan(self, deliveries: DeliveryStore, approval: Approval) -> None:
        assert self._server is not None
        agent = self._server.engine.members.get(approval.agent)
        gate = await steps.gate_of(agent, approval)
        if gate is None and agent is not None and agent.sources and not approval.is_held:
            means = "Its tool's source is away, so nobody is reminded of this call, and it is not escalated."
            log.warning("steps_not_planned", approval=approval.id, tool=approval.tool, means=means)
        if gate is not None and (gate.remind or gate.escalate):
            await deliveries.plan(steps.steps_of(approval, gate), approval.asked_at)

    async def _was_decided(self, store: Any, row: Row) -> bool:
        """Returns whether a call whose thread was deleted had been decided before: that was told."""
        return bool(await store.tombstones(row.principal, approval_id=row.about, limit=1))

    def _is_wanted(self, kind: str) -> bool:
        assert self._server is not None
        others = (one for one in self._server.engine.extensions.consumers if one is not self)
        return any(kind in target.kinds for target in self._targets) or any(
            "approval_notice" in one.notice_kinds and type(one).__module__.partition(".")[0] != "agui_gate"
            for one in others
        )


def _is_same(one: Endpoint, other: Endpoint) -> bool:
    return msgspec.structs.replace(one, secrets=other.secrets) == other


def notices(settings: Settings, on_notice: OnNotice | None, meter: Any) -> Notices:
    """Returns the part that a server with these settings has. ``meter`` counts attempts; None: nobody does. Raises
    `ConfigurationError`.
    """
    if on_notice is not None and not callable(on_notice):
        raise ConfigurationError("on_notice takes a function that gets a Notice")
    endpoints = read_endpoints(settings.webhooks) if settings.webhooks else ()
    return Notices(targets(endpoints, on_notice), settings.public_url, getattr(meter, "attempted", None))
