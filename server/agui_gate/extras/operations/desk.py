"""What an operator reads and does, on a store: for the routes of a server, and for commands that open one.

Everything returns what is shown as JSON. Nothing that was said is in a list; of a single call there are the arguments,
as who settles it has to know what ran. Each change is in the audit trail, with who made it and why.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, get_args
from uuid import uuid4

import msgspec
import structlog

from agui_gate.approvals.expiry import with_result
from agui_gate.core.approvals import SEPARATOR, State
from agui_gate.core.freezes import Freeze
from agui_gate.core.json_text import parse_object
from agui_gate.core.principals import checked_name, owner_key, tenant_of
from agui_gate.core.transcript import Output
from agui_gate.errors import ApprovalRefused, InvalidRequest, NotFound, ThreadBusy, Unavailable
from agui_gate.log_events import name_of
from agui_gate.protocol.cards import iso
from agui_gate.runs.stop_and_delete import was_lost
from agui_gate.stores.base import Change, Store, Thread
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.lease import DECIDES
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.operators import Act, OwnedCall, OwnedThread, Run, WhichCalls

Json = dict[str, Any]
Stopped = Literal["stopped", "asked", "idle", "lost"]
"""``stopped``: it has ended. ``asked``: it was asked to, and has not ended yet. ``idle``: nothing was at work.
``lost``: its process has died, or hangs; it has lost the thread, and can't be asked.
"""

MAX_REASON = 500
"""Characters of a reason."""
MAX_NAME = 256
"""Characters of a name that a freeze is about."""
MAX_RESULT = 20_000
"""Characters of what was found out about a call."""
MAX_PAGE = 200
"""Rows of a page."""
MOST_RUNS = 1_000
"""Runs that are listed."""
STOP_SECONDS = 10.0
"""Seconds that a stop waits for the end of what was asked to stop."""
LOOK_SECONDS = 0.2
"""Seconds between two looks whether it has ended."""
MOST_SHOWN = 100
"""Threads and grants of a principal that `who` shows."""

log = structlog.get_logger("agui_gate.operations")

Stop = Callable[[str, str], Awaitable[Any]]
"""Stops what is at work on a principal's thread: `Engine.cancel`."""


class Desk:
    """The desk of one operator, called ``by``, on a ``store``. ``tenant``: only owners of that tenant; None: all.

    ``stop`` is what stops at once what works in this process.
    """

    def __init__(self, store: Store, by: str, tenant: str | None = None, stop: Stop | None = None) -> None:
        if not hasattr(store, "operators"):
            raise Unavailable("This store has no operations for operators.")
        self._store: FullStore = store  # type: ignore[assignment]  # what is used of it is looked for
        self._by, self._tenant, self._stop = by, tenant, stop
        self._all = self._store.operators

    @property
    def by(self) -> str:
        """Who acts here."""
        return self._by

    @property
    def tenant(self) -> str | None:
        """The tenant whose owners it may see; None: all."""
        return self._tenant

    # --- lists

    async def runs(self) -> Json:
        """Returns what is at work, and what was when its process died. ``more``: there are more than `MOST_RUNS`."""
        found = (await self._all.runs(self._tenant, MOST_RUNS + 1)).items
        return {"runs": [_run_view(run) for run in found[:MOST_RUNS]], "more": len(found) > MOST_RUNS}

    async def threads(self, *, owner: str | None = None, limit: int = 50, cursor: str | None = None) -> Json:
        """Returns threads, by owner; of one ``owner`` those that changed last."""
        if owner is None:
            found = await self._all.threads(self._tenant, limit, cursor)
            return {"threads": [_thread_view(thread) for thread in found.items], "next_cursor": found.next_cursor}
        key = self.owner(owner)
        page = await self._store.list_threads(key, limit=limit, cursor=cursor, archived=None)
        shown = (msgspec.structs.asdict(head) for head in page.threads)
        threads = (msgspec.convert({**head, "principal": key, "bytes": 0}, OwnedThread) for head in shown)
        views = [{name: value for name, value in _thread_view(one).items() if name != "bytes"} for one in threads]
        return {"threads": views, "next_cursor": page.next_cursor}

    async def approvals(self, state: str = "pending", *, limit: int = 50, cursor: str | None = None) -> Json:
        """Returns gated calls in a state, by owner, oldest first. Raises `InvalidRequest`."""
        if state not in get_args(WhichCalls):
            raise InvalidRequest(f"state must be one of: {', '.join(get_args(WhichCalls))}.", well_formed=True)
        which: WhichCalls = state  # type: ignore[assignment]  # it is one of them
        found = await self._all.calls(which, self._tenant, limit, cursor)
        return {"approvals": [_call_view(call) for call in found.items], "next_cursor": found.next_cursor}

    async def approval(self, approval_id: str) -> Json:
        """Returns one call with its arguments and what came of it. Raises `NotFound`."""
        call = await self._call(approval_id)
        record = await self._store.approval(call.principal, call.id)
        if record is None:
            raise NotFound("There is no such approval.")
        decision = record.decision
        shown = with_result(record).output
        return {
            **_call_view(call),
            "arguments": parse_object(record.effective_arguments) or {},
            "decision": None if decision is None else {"approved": decision.approved, "by": decision.by},
            "result": None if shown is None else shown.content,
        }

    async def _call(self, approval_id: str) -> OwnedCall:
        call = await self._all.call(approval_id)
        if call is None or self._tenant not in (None, tenant_of(call.principal)):
            raise NotFound("There is no such approval.")
        return call

    async def who(self, name: str) -> Json:
        """Returns what belongs to an owner: what is at work, threads, calls, and grants for their calls or by them."""
        key = self.owner(name)
        runs = [run for run in await self._running() if run.principal == key]
        page = await self._store.list_threads(key, limit=MOST_SHOWN, archived=None)
        lists = {
            which: await self._store.list_approvals(key, limit=MOST_SHOWN, which=which)
            for which in ("pending", "claimed", "unknown")
        }
        grants = {grant.id: grant for whose in ("owner", "giver") for grant in await self._store.grants(whose, key)}
        heads = page.threads
        return {
            **_owner(key),
            "runs": [_run_view(run) for run in runs],
            "threads": {"number": len(heads), "more": page.next_cursor is not None, "ids": [head.id for head in heads]},
            "approvals": {
                which: [{"id": a.id, "thread_id": a.thread_id, "tool": a.tool} for a in found.approvals]
                for which, found in lists.items()
            },
            "grants": [
                {"id": grant.id, "owner": grant.owner.rpartition(SEPARATOR)[2], "by": grant.giver, "tool": grant.tool}
                for grant in list(grants.values())[:MOST_SHOWN]
            ],
        }

    # --- changes

    async def stop(self, thread_id: str, reason: str, owner: str | None = None) -> Json:
        """Stops what is at work on a thread, in whichever process. ``thread_id``: the thread's id, or a run's key.

        What is lost is told, and nothing is changed. Raises `NotFound` if nothing is at work there, and
        `InvalidRequest` where it could be several.
        """
        act = self._act(reason)
        found = [run for run in await self._running() if thread_id in (run.thread_id, run.run_key)]
        if owner is not None:
            found = [run for run in found if run.principal == self.owner(owner)]
        if not found:
            raise NotFound(f"Nothing is at work on such a thread.{await self._left(thread_id, owner)}")
        found = [run for run in found if not run.is_lost] or found
        if len(found) > 1:
            names = ", ".join(run.principal.rpartition(SEPARATOR)[2] for run in found[:10])
            raise InvalidRequest(f"Several owners have a thread of this id: {names}. Say whose.", well_formed=True)
        run = found[0]
        view = {"thread_id": run.thread_id, **_owner(run.principal), "run": run.run_key}
        if run.is_lost:
            return {**view, "state": "lost"}
        lapses_at = self._store.now() + run.lease_ms
        if await self._all.ask_to_stop(run.principal, run.thread_id, act, run.run_key) is None:
            return {**view, "state": "idle"}
        if self._stop is not None:
            await self._stop(run.principal, run.thread_id)
        state = await self._ended(run, lapses_at)
        self._log("stopped", run=run.run_key, thread=run.thread_id, principal=name_of(run.principal), state=state)
        return {**view, "state": state, "unknown": await self._unknown(run) if state == "stopped" else []}

    async def _left(self, thread_id: str, owner: str | None) -> str:
        """Returns what is to be said of calls of such a thread, among the first that are unknown. None: anybody's."""
        calls = (await self._all.calls("unknown", self._tenant, MAX_PAGE)).items
        if owner is not None:
            calls = [call for call in calls if call.principal == self.owner(owner)]
        names = ", ".join([call.id for call in calls if call.thread_id == thread_id][:10])
        if not names:
            return ""
        return f" Unknown calls of it: {names}. If the process hangs that ran one, end it, then settle the call."

    async def _unknown(self, run: Run) -> list[str]:
        """Returns the calls of the thread of which nobody knows what came of them."""
        found = await self._store.list_approvals(run.principal, limit=MOST_SHOWN, which="unknown")
        return [one.id for one in found.approvals if one.thread_id == run.thread_id]

    async def _ended(self, run: Run, lapses_at: int) -> Stopped:
        """Returns what came of it. ``lapses_at``: the moment of the store's clock at which its lease was to lapse, when
        it was asked. Where another process has the thread after that, it may have taken it from one that hangs.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + STOP_SECONDS
        while True:
            now = await self._store.read_thread(run.principal, run.thread_id, whole=False)
            if now is None or (now.run_key, now.run_status) != (run.run_key, "running"):
                return "lost" if was_lost(now, run.run_key, lapses_at) else "stopped"
            if loop.time() >= until:
                return "asked"
            await asyncio.sleep(LOOK_SECONDS)

    async def settle(self, approval_id: str, done: bool, result: str, reason: str) -> Json:
        """Says what came of a call that ended ``unknown``: the model is told in the thread's next run.

        Raises `NotFound`; `ThreadBusy` while something is at work on its thread; `ApprovalRefused` for a call in
        another state, and for a task that is said to be done: what comes of one is in its conversation.
        """
        act = self._act(reason)
        if not result.strip() or len(result) > MAX_RESULT:
            raise InvalidRequest(f"result has 1 to {MAX_RESULT:,} characters: what was found out.", well_formed=True)
        call = await self._call(approval_id)
        if call.state is not State.UNKNOWN:
            raise ApprovalRefused(f"This call is {call.state.public}. Only one whose outcome is unknown is settled.")
        if done and call.runner == "agent":
            raise ApprovalRefused("This call was to begin a task, which has not begun. Settle it as failed.")
        thread, run_key = await self._leased(call.principal, call.thread_id, call.agent)
        try:
            to = State.DONE if done else State.FAILED
            await self._all.settle(call.id, to, _found_out(done, result), act, run_key)
        finally:
            await self._give_back(thread, run_key)
        ids = {"approval": call.id, "tool": call.tool, "thread": call.thread_id, "principal": name_of(call.principal)}
        self._log("settled", **ids, state=str(to))
        return await self.approval(approval_id)

    async def hand_on(self, name: str, to: str, reason: str) -> Json:
        """Gives an owner's threads, with their approvals, to another one of the same tenant.

        Threads at which something is at work stay, and those of whose id the other one has one already: they are named
        with why. Grants and the audit trail stay as they are. Raises `InvalidRequest` for a store in memory.
        """
        act, key, new = self._act(reason), self.owner(name), self._new_owner(to)
        if isinstance(self._store, MemoryStore):
            raise InvalidRequest("A store in memory can't hand on threads.", well_formed=True)
        if key == new:
            raise InvalidRequest("They belong to this owner already.", well_formed=True)
        if tenant_of(key) != tenant_of(new):
            raise InvalidRequest("They can be handed on within their tenant alone.", well_formed=True)
        handed: list[str] = []
        left: dict[str, str] = {}
        cursor: str | None = None
        while True:
            page = await self._store.list_threads(key, limit=MAX_PAGE, cursor=cursor, archived=None)
            for head in page.threads:
                try:
                    await self._hand_on(key, head.id, head.agent, new, act)
                    handed.append(head.id)
                    self._log("handed_on", thread=head.id, principal=name_of(key), to=name_of(new))
                except (ThreadBusy, InvalidRequest, NotFound) as error:
                    left[head.id] = error.message
            if (cursor := page.next_cursor) is None:
                return {"from": _owner(key), "to": _owner(new), "threads": handed, "left": left}

    async def _hand_on(self, key: str, thread_id: str, agent: str, to: str, act: Act) -> None:
        there = await self._store.read_thread(to, thread_id, whole=False)
        if there is not None and there.id == thread_id:  # what is left isn't touched
            raise InvalidRequest(f"The new owner has a thread {thread_id!r} already, so it stays.", well_formed=True)
        thread, run_key = await self._leased(key, thread_id, agent)
        try:
            await self._all.hand_on(thread, to, act, run_key)
        finally:
            await self._give_back(thread, run_key)

    async def freeze(self, wanted: Freeze, *, lift: bool = False) -> Json:
        """Freezes calls, or ends just this freeze; returns what is frozen, and whether there was one to lift."""
        act = self._act(wanted.reason, may_lack=lift)
        names = (wanted.tool, wanted.agent, wanted.of_tenant)
        if "" in names[:2] or any(name and (len(name) > MAX_NAME or not name.isprintable()) for name in names):
            raise InvalidRequest(f"tool, agent and tenant are names of up to {MAX_NAME} characters.", well_formed=True)
        if self._tenant is not None and wanted.of_tenant is None:
            wanted = msgspec.structs.replace(wanted, of_tenant=self._tenant)
        if self._tenant not in (None, wanted.of_tenant):
            raise InvalidRequest("You may freeze calls of your own tenant alone.", well_formed=True)
        if changed := await self._all.freeze(wanted, act, lift=lift):
            self._log("lifted" if lift else "frozen", tool=wanted.tool, agent=wanted.agent, tenant=wanted.of_tenant)
        return {"changed": changed, **await self.freezes()}

    async def freezes(self) -> Json:
        """Returns what is frozen, for a tenant also with all others."""
        whose = (None, self._tenant)
        found = [one for one in await self._store.freezes() if self._tenant is None or one.of_tenant in whose]
        return {"freezes": [_freeze_view(one) for one in found]}

    # --- what they share

    def _log(self, event: str, **about: str | None) -> None:
        """Logs what the operator did. Why is in the audit trail, encrypted: it is what somebody said."""
        named = {name: value for name, value in about.items() if value is not None}
        log.warning(event, by=name_of(owner_key(self._tenant or "", self._by)), **named)

    def owner(self, name: str) -> str:
        """Returns the key of an owner: ``name``, or ``tenant/name`` where one may say which tenant."""
        if not name or SEPARATOR in name:
            raise InvalidRequest("Name an owner.", well_formed=True)
        if self._tenant is not None:
            return owner_key(self._tenant, name)
        tenant, slash, rest = name.partition("/")
        return owner_key(tenant, rest) if slash else name

    def _new_owner(self, name: str) -> str:
        """Returns the key of an owner who gets something: somebody may have that name."""
        key = self.owner(name)
        try:
            checked_name(key.rpartition(SEPARATOR)[2], "id")
        except ValueError as error:
            raise InvalidRequest(f"Nobody can have this name: {error}.", well_formed=True) from None
        return key

    async def _running(self) -> Sequence[Run]:
        """Returns all that is at work."""
        return (await self._all.runs(self._tenant, sys.maxsize)).items

    def _act(self, reason: str, *, may_lack: bool = False) -> Act:
        said = " ".join(reason.split())
        if not (said or may_lack) or len(said) > MAX_REASON or not said.isprintable():
            raise InvalidRequest(f"Say why: reason has 1 to {MAX_REASON} characters.", well_formed=True)
        return Act(self._by, said)

    async def _leased(self, principal: str, thread_id: str, agent: str) -> tuple[Thread, str]:
        run_key = f"{DECIDES}{uuid4().hex}"
        thread = await self._store.lease_thread(principal, thread_id, agent, run_key, whole=False, create=False)
        return thread, run_key

    async def _give_back(self, thread: Thread, run_key: str) -> None:
        await self._store.commit(thread, Change(status=thread.run_status or "cancelled"), run_key)


def _found_out(done: bool, result: str) -> Output:
    """Returns the output of a call that was settled: what the model, the user and the record are told."""
    took = "took effect" if done else "did not take effect"
    body = {
        "status": "done" if done else "failed",
        "message": f"It was interrupted while it ran. An operator has found out since that it {took}.",
        "result": result,
    }
    return Output(msgspec.json.encode(body).decode(), not done)


def _owner(key: str) -> Json:
    tenant, _, name = key.rpartition(SEPARATOR)
    return {"owner": name, "tenant": tenant}


def _run_view(run: Run) -> Json:
    return {
        "run": run.run_key,
        **_owner(run.principal),
        "thread_id": run.thread_id,
        "agent": run.agent,
        "saved_at": iso(run.updated_at),
        "kind": "decision" if run.run_key.startswith(DECIDES) else "run",
        "state": "lost" if run.is_lost else "running",
        "lease_seconds": max(0, run.lease_ms) // 1000,
    }


def _thread_view(thread: OwnedThread) -> Json:
    return {
        "id": thread.id,
        **_owner(thread.principal),
        "agent": thread.agent,
        "created_at": iso(thread.created_at),
        "updated_at": iso(thread.updated_at),
        "archived": thread.archived,
        "run": {"key": thread.run_key, "status": thread.run_status} if thread.run_key else None,
        "pending": thread.pending,
        "bytes": thread.bytes,
    }


def _call_view(call: OwnedCall) -> Json:
    return {
        "id": call.id,
        **_owner(call.principal),
        "thread_id": call.thread_id,
        "agent": call.agent,
        "tool": call.tool,
        "state": "orphaned" if call.is_orphaned else str(call.state.public),
        "asked_at": iso(call.asked_at),
        "decided_at": None if call.decided_at is None else iso(call.decided_at),
        "expires_at": None if call.expires_at is None else iso(call.expires_at),
        "run": call.run_key,
        "run_id": call.run_id,
        "idempotency_key": call.idempotency_key,
    }


def _freeze_view(freeze: Freeze) -> Json:
    return {
        "tool": freeze.tool,
        "agent": freeze.agent,
        "tenant": freeze.of_tenant,
        "reason": freeze.reason,
        "since": iso(freeze.at),
    }


def page_size(limit: Sequence[str]) -> int:
    """Returns the rows of a page that were asked for. Raises `InvalidRequest`."""
    if not limit:
        return 50
    if not (limit[0].isascii() and limit[0].isdigit() and len(limit[0]) < 6 and 1 <= int(limit[0]) <= MAX_PAGE):
        raise InvalidRequest(f"limit must be a number from 1 to {MAX_PAGE}.", well_formed=True)
    return int(limit[0])
