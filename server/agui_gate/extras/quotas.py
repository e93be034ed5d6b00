"""Quotas: how much an owner and a tenant may have at once, by `AGUI_GATE_LIMITS`.

Runs, threads and waiting calls are counted in the store, over all processes on it (`stores/sql/quotas.py`). Requests
and streams are counted by each process, as they are its own: behind a balancer each replica admits so many.

A run that is over a limit is refused before a model is asked. A call that would wait over the limit, in a run that goes
on, is refused to the model with the reason, and not run.
"""

import re
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from agui_gate.core import result_texts
from agui_gate.core.approvals import Approval, Decision, State
from agui_gate.core.principals import owner_key, tenant_of
from agui_gate.errors import ConfigurationError, RateLimited
from agui_gate.extension import Extension
from agui_gate.http.auth import Guard
from agui_gate.runs.engine import Engine
from agui_gate.stores.base import Store
from agui_gate.stores.sql.quotas import Kind, StoredQuota, count, enforce
from agui_gate.stores.sql.store import SQLStore

if TYPE_CHECKING:
    from agui_gate.runs.run_context import RunContext

MOST_KEYS = 10_000
"""Owners and tenants whose requests are counted at a time."""
IN_STORE = ("runs", "threads", "approvals")
PERIODS = {"s": 1, "m": 60, "h": 3600}
"""Seconds of a period of requests."""
RETRY: dict[str, int] = {"runs": 5, "streams": 5, "approvals": 30, "threads": 60}
"""Seconds after which to try again where a limit is reached."""

_HELD = "agui_gate.streams"
_OPENS = "agui_gate.opens_stream"
"""The key in a request's scope of what a route calls that opens a stream, where the path alone doesn't say it."""
_STREAMS = re.compile(
    r"POST (/|/agents/[^/]+(/connect)?|/copilotkit/agent/[^/]+/(run|connect|suggest))"
    r"|GET (/runs/[^/]+/events|/approvals/events|/copilotkit/threads/.+/events)"
)
"""The requests that are answered by a stream. ``POST /copilotkit`` says that in its body: see `_OPENS`."""
_WORDS = {
    "runs": ("{n} runs of {whose} are in progress", "Wait until one ends."),
    "streams": ("{n} streams of {whose} are open here", "Close one."),
    "threads": ("{who} {n} threads", "Delete some."),
    "approvals": ("{n} calls of {whose} wait for a person", "Have some of them decided first."),
}


class Quota(NamedTuple):
    """A limit: so ``most`` of a ``kind`` for each ``principal`` or ``tenant``; of requests, in ``seconds``."""

    scope: str
    kind: str
    most: int
    seconds: int = 0

    def message(self, but: str = "") -> str:
        """Returns what is said where it is reached."""
        name = f"AGUI_GATE_LIMITS, {self.scope}:{self.kind}"
        mine = self.scope == "principal"
        if self.kind == "requests":
            return (
                f"{'You have' if mine else 'Your tenant has'} sent too many requests ({name}). Try again in a moment."
            )
        first, then = _WORDS[self.kind]
        whose, who = ("yours", "You have") if mine else ("your tenant", "Your tenant has")
        return f"{first.format(n=f'{self.most:,}', whose=whose, who=who)}, which is the limit ({name}). {but or then}"

    def refused(self, seconds: int = 0) -> RateLimited:
        """Returns the error."""
        error = RateLimited(self.message())
        error.retry_after = seconds or RETRY[self.kind]
        return error


def read_quotas(said: Sequence[str]) -> list[Quota]:
    """Returns the limits of a setting, which was checked when it was read."""
    found = []
    for one in said:
        name, _, amount = one.partition("=")
        scope, _, kind = name.partition(":")
        most, _, period = amount.partition("/")
        found.append(Quota(scope, kind, int(most), PERIODS[period] if period else 0))
    return found


def enforce_on_store(store: Store, said: Sequence[str]) -> None:
    """Holds the runs of a store to the limits on what is in it. Raises `ConfigurationError`."""
    every = [
        StoredQuota(one.scope, cast(Kind, one.kind), one.most) for one in read_quotas(said) if one.kind in IN_STORE
    ]
    inner = _store_of(store)
    if every and inner is None:
        raise ConfigurationError(
            "This store can't count runs, threads and approvals: leave them out of AGUI_GATE_LIMITS."
        )
    if every and inner is not None:
        enforce(inner, every, lambda held: Quota(*held).refused())


async def refuse_excess(scope: "RunContext", asked: Sequence[Approval]) -> None:
    """Refuses as many of these calls, just recorded, as there are waiting calls over a limit: the model is told.

    Each process counts after it has recorded its own. So no more than the limit go on waiting; where several ask at the
    same moment, perhaps fewer. What a provider holds back is counted, and stays.
    """
    thread = scope.thread
    waiting = [one for one in asked if not one.is_held and thread.approvals[one.call_id].is_pending]
    store = _store_of(thread.lease.store)
    if not waiting or store is None:
        return
    for limit in read_quotas(thread.limits.limits):
        if limit.kind != "approvals":
            continue
        held = StoredQuota(limit.scope, "approvals", limit.most)
        over = await count(store, held, thread.thread.principal) - limit.most
        reason = limit.message("This call was not executed.")
        for approval in waiting[max(0, len(waiting) - over) :] if over > 0 else ():
            waiting.remove(approval)
            output = result_texts.status("rejected", "Too many calls wait for a person.", reason)
            decision = Decision(False, reason=reason, way="rule")
            await scope.gated_calls.close([approval], State.REJECTED, output, decision)


def _store_of(store: Any) -> SQLStore | None:
    while not isinstance(store, SQLStore):
        store = getattr(store, "__dict__", {}).get("_inner")
        if store is None:
            return None
    return store


class Quotas(Extension):
    """The limits of one served engine: those of this process, and what is used of all of them."""

    def __init__(self, engine: Engine, said: Sequence[str]) -> None:
        self._engine, self._every = engine, read_quotas(said)
        self._streams = [one for one in self._every if one.kind == "streams"]
        self._requests = [one for one in self._every if one.kind == "requests"]
        self._open: Counter[tuple[str, str]] = Counter()
        self._full_at: dict[tuple[str, str], float] = {}

    def admit(self, owner: str, request: Request) -> None:
        """Counts a request, and a stream that it opens. Raises `RateLimited`."""
        for limit in self._requests:
            self._count_request(limit, (limit.scope, _whose(limit.scope, owner)))
        held = request.scope.get(_HELD)
        if held is None or not self._streams:
            return
        request.scope[_OPENS] = partial(self._count_stream, owner, held)
        if _is_stream(request):
            self._count_stream(owner, held)

    def _count_stream(self, owner: str, held: list[tuple[str, str]]) -> None:
        keys = [(limit, (limit.scope, _whose(limit.scope, owner))) for limit in self._streams]
        for limit, key in keys:
            if self._open[key] >= limit.most:
                raise limit.refused()
        for _, key in keys:
            self._open[key] += 1
            held.append(key)

    def _count_request(self, limit: Quota, key: tuple[str, str]) -> None:
        """Lets a request through as long as no more than ``most`` came in the last ``seconds``, at a steady rate.

        What is kept is when the requests so far would have come, at that rate (the generic cell rate algorithm).
        """
        now = time.monotonic()
        each = limit.seconds / limit.most if limit.most else float("inf")
        next_at = max(now, self._full_at.get(key, 0.0)) + each
        if (wait := next_at - now - limit.seconds) > 1e-9:
            raise limit.refused(max(1, -int(-min(wait, limit.seconds) // 1)))
        self._full_at.pop(key, None)
        self._full_at[key] = next_at
        if len(self._full_at) > MOST_KEYS:
            self._full_at = {name: at for name, at in self._full_at.items() if at > now}
            for name in list(self._full_at)[: len(self._full_at) - MOST_KEYS * 9 // 10]:  # rarely, as it takes 2 ms
                del self._full_at[name]

    def release(self, held: Sequence[tuple[str, str]]) -> None:
        """Counts these streams no longer."""
        for key in held:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]

    async def report(self, tenant: str | None) -> list[dict[str, Any]]:
        """Returns each limit, and what the tenant has used of it; of those of each owner ``used`` is None."""
        return [
            {
                "name": f"{one.scope}:{one.kind}",
                "most": one.most,
                "used": await self._used(one, tenant or "") if one.scope == "tenant" else None,
                "of": f"{one.seconds} s" if one.seconds else "",
            }
            for one in self._every
        ]

    async def _used(self, limit: Quota, tenant: str) -> int | None:
        store = _store_of(self._engine.store)
        if limit.kind == "streams":
            return self._open["tenant", tenant]
        if limit.kind == "requests" or store is None:
            return None
        return await count(store, StoredQuota(limit.scope, cast(Kind, limit.kind), limit.most), owner_key(tenant, ""))


class HeldStreams:
    """Middleware around ``app`` that counts streams no longer when they are over."""

    def __init__(self, app: ASGIApp, limits: Quotas) -> None:
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        held = scope[_HELD] = list[tuple[str, str]]()
        try:
            await self._app(scope, receive, send)
        finally:
            self._limits.release(held)


def enforce_on_app(app: Starlette, said: Sequence[str]) -> None:
    """Holds an application to these limits."""
    engine, guard = cast(Engine, app.state.engine), cast(Guard, app.state.guard)
    enforce_on_store(engine.store, said)
    limits = Quotas(engine, said)
    engine.extensions.add(limits)
    ask = guard.principal

    async def principal(request: Request) -> str:
        owner = await ask(request)
        limits.admit(owner, request)
        return owner

    guard.principal = principal  # type: ignore[method-assign]  # each route asks it
    app.add_middleware(HeldStreams, limits=limits)


def _is_stream(request: Request) -> bool:
    path = request.scope["path"].removeprefix(request.scope.get("root_path", "")) or "/"
    return _STREAMS.fullmatch(f"{request.method} {path}") is not None


def _whose(scope: str, owner: str) -> str:
    return owner if scope == "principal" else tenant_of(owner)
