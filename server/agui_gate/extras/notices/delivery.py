"""Delivers notices to one endpoint: a webhook, or a function of the application.

A worker takes what is due from the store, one notice an approval at a time, and makes an attempt for each, side by
side. What fails is tried again with growing delays; after a day it is a dead letter (`stores/deliveries.py`). Each
endpoint has a worker in each replica, of which one works at a time. So one that is dead, or slow, delays no other.
"""

import asyncio
import inspect
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from typing import Any, Protocol

import msgspec
import structlog

from agui_gate.concurrency import bounded
from agui_gate.core.approvals import Approval
from agui_gate.errors import AguiGateError, ConfigurationError
from agui_gate.extras.notices.connection import Connection, Undelivered
from agui_gate.extras.notices.endpoints import CODE, Endpoint
from agui_gate.extras.notices.notice import KINDS, Notice, notice_of, payload, with_arguments
from agui_gate.extras.notices.steps import went_unasked
from agui_gate.stores.base import Store
from agui_gate.stores.deliveries import DeliveryStore, Waiting
from agui_gate.turns.tool_threads import tool_threads

BATCH = 64
"""Deliveries that a worker takes at once."""
LOOK_SECONDS = 3.0
"""Seconds between two looks for what other processes have added."""
FIRST_MS, LONGEST_MS = 2_000, 3_600_000
"""Milliseconds until the second attempt, and between two attempts at most."""
CALL_SECONDS = 10.0
"""Seconds that a function may take. Less than an endpoint is left to its worker."""
CALLS = 8
"""Sync functions that run at the same time, in threads of their own."""
UNASKED_SECONDS = 0.8
"""Seconds after its question in which a rule or a grant lets a call go, if it does: until then nobody is told."""
LEAVE_SECONDS = 1.0
"""Seconds that a worker which ends may take to say so."""

OnNotice = Callable[[Notice], Any]
"""A function of the application: sync or async."""

MayGo = Callable[[Approval], Awaitable[bool]]
"""Says whether a rule or a grant may let a call go."""

Attempted = Callable[[str, str], None]
"""Is told the endpoint and the outcome of each attempt."""

log = structlog.get_logger("agui_gate.notices")


async def _never(_: Approval) -> bool:
    return False


class Target(Protocol):
    """Where notices of some kinds go."""

    name: str
    kinds: frozenset[str]
    with_arguments: bool

    async def send(self, notice: Notice) -> None:
        """Makes one attempt. Raises `Undelivered`."""
        ...

    def close(self) -> None:
        """Lets go what it holds."""
        ...


class Webhook:
    """A POST by the rules of Standard Webhooks. Raises `ConfigurationError` if the package for that is not there."""

    def __init__(self, endpoint: Endpoint, connection: Connection | None = None) -> None:
        try:
            self._signer = import_module("standardwebhooks").Webhook
        except ModuleNotFoundError:
            raise ConfigurationError('AGUI_GATE_WEBHOOKS needs a package: pip install "agui-gate[webhooks]".') from None
        self.name, self.kinds, self.with_arguments = endpoint.name, endpoint.kinds, endpoint.with_arguments
        self._connection = connection or Connection(endpoint)
        self.sign_by(endpoint)

    def sign_by(self, endpoint: Endpoint) -> None:
        """Signs by the secrets of ``endpoint`` from the next attempt on. It is this one, but for these."""
        self.endpoint = endpoint
        self._signers = [self._signer(secret) for secret in endpoint.secrets]

    async def send(self, notice: Notice) -> None:
        """See `Target`."""
        body, now = payload(notice), datetime.now(UTC)
        signatures = " ".join(signer.sign(notice.id, now, body.decode()) for signer in self._signers)
        headers = {
            "content-type": "application/json",
            "user-agent": "agui-gate",
            "webhook-id": notice.id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": signatures,
        }
        status = await self._connection.post(body, headers)
        if 300 <= status < 400:
            raise Undelivered("redirect", f"it answered {status}, and redirects are not followed")
        if not 200 <= status < 300:
            raise Undelivered("refused", f"it answered {status}", is_final=status == 410)

    def close(self) -> None:
        """See `Target`."""
        self._connection.close()


class Callback:
    """The application's function: `create_app(on_notice=…)`. A sync one runs in a thread."""

    name, kinds, with_arguments = CODE, frozenset(KINDS), True

    def __init__(self, function: OnNotice) -> None:
        self._function = function

    async def send(self, notice: Notice) -> None:
        """See `Target`."""
        try:
            await bounded(self._call(notice), CALL_SECONDS)
        except TimeoutError:
            raise Undelivered("timeout", f"it took longer than {CALL_SECONDS:g} seconds") from None
        except Exception as error:
            log.exception("on_notice_failed", approval=notice.approval_id, kind=notice.kind)
            raise Undelivered("failed", f"it raised {type(error).__name__}") from None

    async def _call(self, notice: Notice) -> None:
        if inspect.iscoroutinefunction(self._function):
            await self._function(notice)
            return
        threads = tool_threads(CALLS, "on_notice")
        async with threads.slot("", CALL_SECONDS) as slot:
            result = await threads.run(slot, partial(self._function, notice))
        if isinstance(result, Awaitable):
            await result

    def close(self) -> None:
        """Holds nothing: a function that hangs is waited for by nobody, not even when the process ends."""


class Worker:
    """Delivers to one target, as ``name``, which no other process has."""

    def __init__(
        self,
        target: Target,
        store: Store,
        deliveries: DeliveryStore,
        name: str,
        attempted: Attempted | None = None,
        may_go: MayGo = _never,
    ) -> None:
        self.target, self._may_go = target, may_go
        self._store, self._deliveries, self._name = store, deliveries, name
        self._attempted = attempted
        self._added = asyncio.Event()
        self._is_working = self._is_failing = False

    def wake(self) -> None:
        """Says that something was added here."""
        self._added.set()

    async def work(self) -> None:
        """Delivers for ever. Cancelled, it lets another one go on at once, if the store is there."""
        try:
            while True:
                self._added.clear()
                wait = await self._round()
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._added.wait()
        finally:
            with suppress(AguiGateError, TimeoutError):
                async with asyncio.timeout(LEAVE_SECONDS):
                    await self._leave()

    async def _round(self) -> float:
        """Delivers what is due; returns the seconds until it is time to look again."""
        try:
            while (wait_ms := await self.deliver()) == 0:
                pass
            await self._leave()
        except Exception as error:
            if not self._is_failing:
                known = isinstance(error, AguiGateError)
                log.warning("not_delivered_yet", endpoint=self.target.name, error=str(error), exc_info=not known)
            self._is_failing = True
            return LOOK_SECONDS
        self._is_failing = False
        return LOOK_SECONDS if wait_ms is None else min(wait_ms / 1000, LOOK_SECONDS)

    async def deliver(self) -> int | None:
        """Makes an attempt for what is due, the first of each approval. Returns in how many ms more is due: 0, perhaps
        now; None: nothing that is known of.
        """
        taken = await self._deliveries.take(self.target.name, self._name, BATCH)
        if not taken.deliveries:
            return taken.wait_ms or None  # due, but another worker's: it is looked for later
        self._is_working = True
        first: dict[str, Waiting] = {}
        for delivery in taken.deliveries:
            first.setdefault(delivery.approval_id, delivery)
        for failure in await asyncio.gather(*map(self._attempt, first.values()), return_exceptions=True):
            if failure is not None:
                raise failure
        return 0

    async def _leave(self) -> None:
        if self._is_working:
            self._is_working = False
            await self._deliveries.leave(self.target.name, self._name)

    async def _attempt(self, delivery: Waiting) -> None:
        try:
            notice = notice_of(delivery)
            if notice.kind == "asked" and await self._went_unasked(notice):
                await self._deliveries.delivered(delivery)
                return
            if self.target.with_arguments:
                notice = with_arguments(notice, await self._record(notice))
            await self.target.send(notice)
        except msgspec.DecodeError:
            await self._failed(delivery, Undelivered("failed", "another version wrote it", is_final=True))
        except Undelivered as error:
            await self._failed(delivery, error)
        else:
            self._count("delivered")
            await self._deliveries.delivered(delivery)

    async def _went_unasked(self, notice: Notice) -> bool:
        """Returns whether a rule or a grant has let the call go. It waits a moment where one may do so."""
        approval = await self._record(notice)
        if approval is not None and approval.is_pending and await self._may_go(approval):
            left = UNASKED_SECONDS - (self._store.now() - approval.asked_at) / 1000
            if left > 0:
                await asyncio.sleep(left)
                approval = await self._record(notice)
        return approval is not None and went_unasked(approval)

    async def _record(self, notice: Notice) -> Approval | None:
        """Returns the record of a notice, also where its thread was handed on since."""
        found = await self._store.approval(notice.owner_key, notice.approval_id)
        return found or await self._deliveries.approval(notice.approval_id)

    async def _failed(self, delivery: Waiting, error: Undelivered) -> None:
        self._count(error.outcome)
        again = None if error.is_final else again_ms(delivery.attempts, delivery.gives_up_at - self._store.now())
        if again is None or delivery.attempts == 0:  # not each time
            event = "not_delivered" if again is not None else "dead_letter"
            about = {"endpoint": self.target.name, "notice": delivery.notice, "approval": delivery.approval_id}
            log.warning(event, why=error.why, **about)
        await self._deliveries.failed(delivery, error.why, again)

    def _count(self, outcome: str) -> None:
        if self._attempted is not None:
            self._attempted(self.target.name, outcome)


def again_ms(attempts: int, left_ms: int, chance: Callable[[], float] = random.random) -> int | None:
    """Returns in how many ms to try again after ``attempts`` and one more; None if there is no time left for that.

    The delay doubles. A part of it is chance, so that those that failed together don't come together again.
    """
    delay = min(LONGEST_MS, FIRST_MS * 2 ** min(attempts, 20))
    again = int(delay * (0.5 + chance() / 2))
    return again if again < left_ms else None


def targets(endpoints: Sequence[Endpoint], on_notice: OnNotice | None) -> list[Target]:
    """Returns where notices go."""
    function: list[Target] = [] if on_notice is None else [Callback(on_notice)]
    return [*function, *map(Webhook, endpoints)]
