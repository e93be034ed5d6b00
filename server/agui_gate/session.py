"""Runs an agent in this process, without HTTP: for jobs, scripts and tests (docs/jobs.md).

    async with agent.session(store="sqlite:///desk.db", principal=Principal("job", "acme")) as session:
        result = await session.run("Refund order A1")
        for approval in result.pending:
            result = await result.thread.decide(approval.id, {"approved": True}, principal=ben)
        print(result.text)

It is the engine of a server, on a store that servers may have open as well. So threads, questions, decisions, the audit
trail and the limits are the same, and whoever may decide a call may do so here or there.
"""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypedDict

import msgspec

from agui_gate import errors
from agui_gate.agents.agent import Agent
from agui_gate.bus.base import Bus, FellBehind, Reader
from agui_gate.concurrency import to_the_end
from agui_gate.config.backends import bus_from, store_from
from agui_gate.config.limits import Limits
from agui_gate.core.approvals import LOCAL, SEPARATOR, Approval
from agui_gate.core.events import PROTOCOL_VERSION
from agui_gate.core.principals import By, Principal, caller
from agui_gate.core.sse import SSESplitter
from agui_gate.core.transcript import Entry, TextPart, TurnEntry, UserEntry
from agui_gate.errors import AguiGateError, ApprovalRefused, ConfigurationError, InvalidRequest, NotFound, ThreadBusy
from agui_gate.extra_loader import load
from agui_gate.logs import ensure_configured
from agui_gate.protocol import run_input
from agui_gate.protocol.dialects.base import Deployment, stopped
from agui_gate.protocol.late_answers import already
from agui_gate.protocol.run_input import RunInput, check_id
from agui_gate.runs.engine import Engine
from agui_gate.stores.base import Store
from agui_gate.stores.lookup import capabilities

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from agui_gate.config.settings import Settings

LOOK_SECONDS = 0.5
"""Seconds between two looks of `Thread.wait`."""

Message = str | Sequence[Mapping[str, Any]]
"""What a user says: a text, or the parts of an AG-UI message."""

RUNS, DECIDES, READS = ("POST", "/agents/{name}"), ("POST", "/approvals/{id}"), ("GET", "/threads/{id:path}")
"""The routes whose roles are asked for here, too."""


class Where(TypedDict, total=False):
    """What `Session` takes beside the agent."""

    store: str | Store | None
    principal: str
    settings: "Settings | None"
    app: "Starlette | None"


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What a thread has come to, after a run or a decision."""

    thread: "Thread"
    text: str
    """What the agent said since the last message of the user, its messages joined by a blank line. "" for nothing."""
    pending: tuple[Approval, ...]
    """The calls that wait for a person, oldest first."""
    output: Any = None
    """The answer as an instance of the agent's ``output``, if it has one and this run has given it."""
    stopped: str = ""
    """Why the answer is not complete, though nothing failed: somebody stopped the run, a limit of the provider cut it
    off, or the conversation could not go on after a decision. "" if it is complete, or if something waits.
    """


class Session:
    """Runs of one agent over one store, which is opened once.

    ``store``: a URL or a store object, as `create_app` takes it. ``settings``: limits, the bus, and the store if none
    is given; from the environment if None. ``principal``: who runs and decides where a call doesn't say so: a
    `Principal`, or an id. ``app``: the application that has this agent and is served in this process. Its engine is
    used then, and neither opened nor closed here; a store that it has open can't be used in another way.

    Use it as a context manager: what it opens is closed at the end. Runs that are not over then may end within
    `Settings.drain_seconds`; if the block fails or is cancelled, they are stopped. A call outside of the block opens
    the store for itself, and closes it. Runs may be at work at the same time, up to `Settings.principal_runs` of one
    principal; a thread has one at a time.

    Raises `ConfigurationError` for what is wrong with these, `InvalidRequest` for what is no principal.
    """

    def __init__(
        self,
        agent: Agent,
        *,
        store: str | Store | None = None,
        principal: str = LOCAL,
        settings: "Settings | None" = None,
        app: "Starlette | None" = None,
    ) -> None:
        self.agent, self._principal = agent, principal
        identify(principal)
        self._served = None if app is None else _engine_of(app, agent)
        if app is not None and (store is not None or settings is not None):
            raise ConfigurationError("session(app=…) uses the application's store and settings: leave out the others")
        if settings is None:
            from agui_gate.config.settings import load_settings

            settings = load_settings()
        self._settings = settings
        if self._served is None:
            ensure_configured(settings.log_level, settings.log_principals)
            self._store = store_from(settings, store)
            self._bus_of = store if isinstance(store, str | None) else capabilities(store).shared.bus_url
        self._use: _Use | None = None
        self._blocks: list[_Use] = []
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self._blocks.append(await self._enter())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        use = self._blocks.pop()
        await self._leave(use, drain=kind is None, everybody=not self._blocks)

    async def run(
        self, message: Message | None = None, *, thread: str | None = None, principal: str | None = None
    ) -> Result:
        """Runs the agent with ``message``, on the thread of that id or on a new one. See `Thread.run`."""
        return await self.thread(thread, principal=principal).run(message)

    def thread(self, thread_id: str | None = None, *, principal: str | None = None) -> "Thread":
        """Returns a thread of that principal's owner: a new one, or one of an earlier time. Raises `InvalidRequest`."""
        thread_id = uuid.uuid4().hex if thread_id is None else thread_id
        check_id(thread_id, "thread")
        return Thread(self, thread_id, self.who(principal))

    def who(self, principal: str | None) -> str:
        """Returns who acts: ``principal``, or else the one of the session."""
        return self._principal if principal is None else principal

    @asynccontextmanager
    async def engine(self) -> AsyncGenerator[Engine, None]:
        """Within: the engine, started."""
        use = await self._enter()
        assert use.engine is not None  # it is open
        try:
            yield use.engine
        except BaseException:
            await self._leave(use, drain=False)
            raise
        await self._leave(use, drain=True)

    async def _enter(self) -> "_Use":
        if self._served is not None:
            await self._served.start()
            return _Use(self._served)
        use = self._use = self._use or _Use()
        use.users += 1
        try:
            await to_the_end(self._open(use))
        except BaseException:
            await self._leave(use, drain=False)
            raise
        return use

    async def _open(self, use: "_Use") -> None:
        async with self._lock:  # what was open before is closed by then
            if use.engine is not None:
                return
            bus = bus_from(self._settings, store=self._bus_of)
            engine = make_engine([self.agent], self._store, self._settings, bus)
            try:
                await engine.start()
            except BaseException:
                await engine.aclose()
                raise
            use.engine = engine

    async def _leave(self, use: "_Use", *, drain: bool, everybody: bool = False) -> None:
        """Closes what is open when its last user leaves, or when ``everybody`` has to."""
        if self._served is not None:
            return
        use.users -= 1
        if use.users and not everybody:
            return
        if self._use is use:
            self._use = None
        await to_the_end(self._close(use, self._settings.drain_seconds if drain else 0.0))

    async def _close(self, use: "_Use", seconds: float) -> None:
        async with self._lock:
            engine, use.engine = use.engine, None
            if engine is not None:
                try:
                    await engine.drain(seconds)
                finally:
                    await engine.aclose()


@dataclass(slots=True)
class _Use:
    """An opening of a session's store, and how many calls and blocks use it."""

    engine: Engine | None = None
    users: int = 0


class Thread:
    """A conversation with the agent of a session, of the owner for whom ``principal`` acts."""

    def __init__(self, session: Session, thread_id: str, principal: str) -> None:
        self.id = thread_id
        self._session, self._principal = session, principal
        self._owner, self._by = identify(principal)

    async def run(self, message: Message | None = None) -> Result:
        """Runs the agent, with a new message of the user or with none: then it goes on with what it has.

        Returns when the agent is done, or when a call waits for a person: see `Result.pending`. With a message, what
        waited before is treated by the agent's ``on_unanswered``.

        Cancelling it stops the run as a stop over HTTP does, and returns when that has ended, after some seconds at
        most. What was saved stays.

        Raises `ThreadBusy`, `ApprovalPending`, `RateLimited`, `LimitReached`, `InvalidRequest`, `Forbidden` and
        `Unavailable`, and what a run ends with: `ProviderError`, `Internal` and the others of docs/errors.md.
        """
        self._check_right(RUNS)
        messages = [] if message is None else [_message(message)]
        run = RunInput(self.id, uuid.uuid4().hex, messages, protocol_version=PROTOCOL_VERSION)
        async with self._session.engine() as engine:
            live = await engine.run(
                self._session.agent, run, self._owner, stop_alone=False, way="code", reads_stops=True, by=self._by
            )
            return await self._followed(engine, live.key)

    async def decide(
        self, approval_id: str, decision: bool | Mapping[str, Any], *, principal: str | None = None
    ) -> Result:
        """Decides a call of this thread, carries it out, and goes on with the conversation if nothing else waits.

        ``decision``: True, False, or an object as `POST /approvals/{id}` takes it: ``{"approved": True}``, with
        ``reason``, ``edited_arguments`` and ``effective_arguments``; a misspelt edit is refused. ``principal``: who
        decides. While a run is at work on the thread, it waits for its end, ten seconds at most.

        The call runs once, whoever else decides it, here or over HTTP. Cancelling it stops the tool, whose record is
        ``unknown`` then, or the run that follows. Where more persons have to agree, the call is still in
        `Result.pending`.

        Raises `ApprovalRefused` for an edit that the gate doesn't allow and for a call that was decided before,
        `MayNotDecide`, `Frozen`, `NotFound`, `InvalidRequest`, `Forbidden`, `ThreadBusy`, `DecisionStopped` and
        `Unavailable`, and what a run ends with. If nothing was decided, the call stays pending.
        """
        owner, by = identify(self._session.who(principal), DECIDES)
        payload = {"approved": decision} if isinstance(decision, bool) else dict(decision)
        async with self._session.engine() as engine:
            asked = await engine.store.approval(self._owner, approval_id)
            thread = await engine.store.read_thread(self._owner, self.id, whole=False)
            if asked is None or thread is None or asked.thread_id != thread.id:
                raise NotFound("There is no such approval.")
            decided = await engine.decide(owner, approval_id, payload, way="code", go_on=True, by=by)
            if not decided.ours:
                raise ApprovalRefused(already(decided.record, engine.store.now()))
            if decided.run_key is not None:
                return await self._followed(engine, decided.run_key)
            return await self._result(engine, stopped=decided.not_continued or "")

    async def wait(self, seconds: float) -> Result:
        """Waits until nothing waits for a person any more, wherever that is decided. Then it goes on with the
        conversation, if nobody else has.

        Returns after ``seconds`` if something waits still, which is in `Result.pending`, or is at work elsewhere.
        Raises what `run` does, and `NotFound` for a thread that isn't there. Cancelling it is as for `run`.
        """
        self._check_right(RUNS)
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        async with self._session.engine() as engine:
            while True:
                if not await self._is_waiting(engine):
                    try:
                        return await self.run()
                    except ThreadBusy:  # who decided is at work, or goes on with it
                        pass
                if (left := until - loop.time()) <= 0:
                    return await self._result(engine)
                await asyncio.sleep(min(LOOK_SECONDS, left))

    async def read(self) -> Result:
        """Returns what the thread has come to, as it is now. Raises `NotFound` for one that isn't there."""
        self._check_right(READS)
        async with self._session.engine() as engine:
            return await self._result(engine)

    def _check_right(self, route: tuple[str, str]) -> None:
        identify(self._principal, route)

    async def _is_waiting(self, engine: Engine) -> bool:
        """Returns whether a call waits for a person, or something is at work."""
        calls = await engine.store.read_calls(self._owner, self.id)
        if calls is None:
            raise NotFound("There is no such thread.")
        now = engine.store.now()
        return calls.head.run_status == "running" or any(approval.waits_at(now) for approval in calls.approvals)

    async def _followed(self, engine: Engine, run_key: str) -> Result:
        """Returns what a run has come to, which is stopped if the caller is cancelled."""
        try:
            event = msgspec.json.decode(await _last_frame(engine, self._owner, run_key))
        except asyncio.CancelledError:
            live = engine.following(self._owner, self.id)
            if live is not None and live.key == run_key:
                await engine.cancel(self._owner, self.id, live.run_id)
            raise
        why = stopped(event)
        if event["type"] != "RUN_FINISHED" and why is None:
            raise error_of(event.get("code", ""), event["message"])
        if why is not None and why.reason is None and why.code == errors.LimitReached.code:
            raise errors.LimitReached(why.message)
        output = (event.get("result") or {}).get("output") if why is None else None
        if output is not None and self._session.agent.output is not None:
            output = self._session.agent.output.model_validate(output)
        return await self._result(engine, output, "" if why is None else why.message)

    async def _result(self, engine: Engine, output: Any = None, stopped: str = "") -> Result:
        found = await engine.read_thread(self._owner, self.id)
        if found is None:
            raise NotFound("There is no such thread.")
        thread, reservation = found
        reservation.release()
        pending = tuple(approval for approval in thread.approvals if approval.waits_at(thread.now))
        text = "\n\n".join(reversed(list(_texts(thread.entries))))
        return Result(thread=self, text=text, pending=pending, output=output, stopped="" if pending else stopped)


def make_engine(agents: Sequence[Agent], store: Store, settings: "Settings", bus: Bus) -> Engine:
    """Returns an engine for a process that serves nobody. Raises `ConfigurationError`."""
    meter = load("usage.meter").UsageMeter(settings) if settings.usage or settings.budgets else None
    if meter is not None:
        store = meter.store(store)
    if settings.limits:
        load("quotas").enforce_on_store(store, settings.limits)
    dialect, limits = Deployment(settings.dialect), Limits.from_settings(settings)
    engine = Engine(agents, store, dialect, bus, limits=limits, meter=meter)
    if settings.jwt_revoked or settings.tokens:
        load("people.givers").check_logins(engine, settings)
    # It tells nobody, so it leaves the notices to the servers that do: who takes one removes it.
    engine.offers = msgspec.structs.replace(engine.offers, outbox=None)
    return engine


def identify(principal: Any, route: tuple[str, str] | None = None) -> tuple[str, By]:
    """Returns the key of the owner for whom a principal acts, and who that is, as `auth` would have it over HTTP.

    Raises `InvalidRequest` for what is no principal, `Forbidden` if none of its roles opens ``route``.
    """
    if not isinstance(principal, str) or not principal or SEPARATOR in principal:
        raise InvalidRequest("principal is a Principal or the id of one.", well_formed=True)
    if not isinstance(principal, Principal):
        return str.__str__(principal), None  # the value, also of an enum
    if principal.roles and route is not None:
        load("people.rights").check_right(*route, principal)
    return principal.owner, caller(principal)


def error_of(code: str, message: str) -> AguiGateError:
    """Returns the error that a run has ended with."""
    if code in _WORDLESS:
        error = _WORDLESS[code]()
        error.message, error.args = message, (message,)
        return error
    return _KINDS.get(code, errors.Unavailable)(message)


_KINDS: dict[str, type[AguiGateError]] = {
    kind.code: kind
    for kind in (
        *(errors.ApprovalPending, errors.ApprovalRefused, errors.InvalidRequest, errors.NotFound, errors.ThreadBusy),
        *(errors.ContextLength, errors.LimitReached, errors.OutputUnfit, errors.RateLimited, errors.TooLarge),
        *(errors.ProviderAuth, errors.ProviderRejected, errors.ProviderUnavailable, errors.Unavailable),
    )
}
_WORDLESS = {kind.code: kind for kind in (errors.Internal, errors.Interrupted, errors.LeaseLost)}


def _engine_of(app: "Starlette", agent: Agent) -> Engine:
    engine = getattr(getattr(app, "state", None), "engine", None)
    if not isinstance(engine, Engine) or engine.agents.get(agent.name) is not agent:
        raise ConfigurationError("session(app=…) takes the application that create_app made with this agent")
    return engine


def _message(said: Message) -> run_input.Message:
    content: Any = said if isinstance(said, str) else [dict(part) for part in said]
    try:
        msgspec.json.encode(content)
    except (TypeError, ValueError):
        raise InvalidRequest("The message is not JSON, or not UTF-8 text.", well_formed=True) from None
    if not content or (isinstance(content, str) and not content.strip()):
        raise InvalidRequest("The message is empty.", well_formed=True)
    return run_input.Message("user", id=uuid.uuid4().hex, content=content)


async def _last_frame(engine: Engine, owner: str, run_key: str) -> bytes:
    """Returns the last event of a run, as JSON, when it has ended."""
    last, splitter = b"", SSESplitter()
    reader = await _reader(engine, owner, run_key, -1)
    try:
        while True:
            try:
                if not (data := await reader.read()):
                    return last
            except FellBehind:  # only the end of it matters
                reader.close()
                found = await engine.published(owner, run_key)
                reader = await _reader(engine, owner, run_key, found[0].next - 2 if found else -1)
                splitter = SSESplitter()
            else:
                last = [last, *splitter.feed(data)][-1]
    finally:
        reader.close()


async def _reader(engine: Engine, owner: str, run_key: str, after: int) -> Reader:
    found = await engine.published(owner, run_key)
    live = found[1] if found else None
    reader = await (live.read(after) if live is not None else engine.read(run_key, after))
    if reader is None:
        raise errors.Unavailable("The end of this run can't be read any more. Read its thread.")
    return reader


def _texts(entries: Sequence[Entry]) -> Iterator[str]:
    """Yields what the agent said since the last message of the user, newest first."""
    for entry in reversed(entries):
        if isinstance(entry, UserEntry) and entry.role == "user":
            return
        if isinstance(entry, TurnEntry) and not entry.task and not entry.unfit:
            yield from (part.text for part in reversed(entry.parts) if isinstance(part, TextPart) and part.text)
