"""Runs tools: validated arguments in, an `Output` out, whatever the tool does.

Every call ends in `Toolbox`: one that nobody has to approve, one that was approved in a run, and one that was approved
out of band. So a tool can't tell which button was pressed. What it sees is made of its thread and of its call, and
never of the request that brought the answer.

Async tools run in tasks of their own, sync ones in daemon threads (`tool_threads`). So neither a blocking tool nor one
that never returns can hold the event loop or the process's exit. A time limit ends the waiting. A tool that can't be
stopped is abandoned and its late result ignored: a sync one, or one that ignores its cancellation.

Between the claim of an approved call and its tool something may come: a stop, or a sleep of the whole process that is
longer than the lease. Who was approved is told what came of it, so exactly one of two things holds for each call
(`ToolStart`). Either its tool has begun, and then only the tool knows how it ends. Or it is called off, and then it
never begins.

`call_function` runs the other functions that a deployment declares (a gate's predicate, dynamic instructions) in the
same places.
"""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import structlog

from agui_gate.agents.tool import Tell, Told, Tool, ToolContext
from agui_gate.concurrency import NoSlot, undisturbed
from agui_gate.config.limits import DEFAULTS, Limits
from agui_gate.core import result_texts
from agui_gate.core.approvals import SEPARATOR, Approval
from agui_gate.core.json_text import parse_object
from agui_gate.core.sequencer import Emit
from agui_gate.core.transcript import Output
from agui_gate.errors import AguiGateError, ToolError
from agui_gate.threads.lease import Lease

if TYPE_CHECKING:
    from agui_gate.threads.leased_thread import LeasedThread
    from agui_gate.turns.tool_threads import Slot, ToolThreads

DEFAULT_TIMEOUT = 300.0
"""Seconds; for tools that set none. Every wait is bounded."""

STOP_SECONDS = 0.5
"""Seconds that a cancelled async tool may take to end, before nobody waits for it any more."""

LARGE = 32 * 1024
"""Characters of a call's arguments from which on they are read in a thread."""

MAX_RESULT = 4 * 1024 * 1024
"""Characters of a result that are kept."""

T = TypeVar("T")

log = structlog.get_logger("agui_gate.tools")
gated_log = structlog.get_logger("agui_gate.gated_calls")


class ToolStart:
    """The start of one call, under the thread's ``lease``; None: nobody had to approve it, so nobody is told of it
    either.
    """

    def __init__(self, lease: Lease | None = None, name: str = "") -> None:
        self._lease, self._name = lease, name
        self._lock = threading.Lock()
        self._begun = self._called_off = False

    async def may_begin(self) -> bool:
        """Returns whether the lease is still held. Asks the store only if more than a moment has passed since it was
        known.
        """
        if self._lease is None:
            return True
        try:
            await self._lease.confirm_if_old()
        except AguiGateError as error:
            gated_log.warning("not_started", approval=self._name, why=error.message)
            self.call_off()
            return False
        return True

    def begin(self) -> bool:
        """Begins the tool now, in whichever thread. Returns False if it was called off."""
        with self._lock:
            self._begun = not self._called_off
            return self._begun

    def call_off(self) -> bool:
        """Keeps the tool from beginning any more. Returns False if it has begun."""
        with self._lock:
            self._called_off = not self._begun
            return self._called_off


async def run_tool(
    tool: Tool | None,
    name: str,
    arguments: str,
    context: ToolContext,
    limits: Limits = DEFAULTS,
    start: ToolStart | None = None,
    *,
    judged: bool = False,
) -> Output:
    """Runs one call. Never raises, except for cancellation (then an async tool has been cancelled too, and has ended
    unless it ignores that). ``judged``: the arguments are what `Tool.judged` made; they run as they are or not at all.
    ``start`` is asked right before the tool begins.
    """
    if tool is None:
        return result_texts.failed(f"There is no tool called {name}.")
    problem, kwargs = await off_loop(arguments, lambda: _read(tool, arguments, judged))
    if problem is not None:
        return result_texts.failed(problem)
    return await _run(tool, kwargs, context, limits, start or ToolStart())


async def _run(tool: Tool, kwargs: dict[str, Any], context: ToolContext, limits: Limits, start: ToolStart) -> Output:
    limit = tool.timeout or DEFAULT_TIMEOUT
    deadline = asyncio.timeout(limit)
    try:
        if tool.is_async:
            if not await start.may_begin():
                return result_texts.NOT_STARTED
            async with deadline:
                value = await in_task(_begun(tool, tool.bind(kwargs, context), start))
        else:
            from agui_gate.turns.tool_threads import tool_threads

            threads = tool_threads(limits.tool_threads)
            async with threads.slot(context.principal, limit) as slot:
                if not await start.may_begin():
                    return result_texts.NOT_STARTED
                async with deadline:
                    value = await _in_thread(threads, slot, tool, tool.bind(kwargs, context), start)
        return Output(_as_text(value))
    except NoSlot:
        return result_texts.failed(f"{tool.name} was not started: too many tools are running. Try again later.")
    except ToolError as error:
        said = str(getattr(error, "message", error))  # made by the tool: it may be anything
        return result_texts.failed(_clean(said))
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # whatever a tool raises ends its call, not the run
        if isinstance(error, asyncio.CancelledError) and is_cancelled():
            raise
        if isinstance(error, TimeoutError) and deadline.expired():
            return result_texts.failed(f"{tool.name} did not finish within {limit:g} seconds.")
        log.exception("tool_failed", tool=tool.name, call_id=context.call_id)
        return result_texts.failed(f"{tool.name} failed: {type(error).__name__}.")


def is_cancelled() -> bool:
    """Returns whether it is the run that is cancelled, not something that the tool waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def off_loop(arguments: str, work: Callable[[], T]) -> T:
    """Returns ``work()`` on ``arguments``; in a thread where they are so large that others would wait for it."""
    return work() if len(arguments) < LARGE else await asyncio.to_thread(work)


def _read(tool: Tool, arguments: str, judged: bool) -> tuple[str | None, dict[str, Any]]:
    """Returns the problem with the arguments (None if there is none), and the keyword arguments that they stand for."""
    try:
        if judged:
            return None, tool.exactly(arguments)
        if (parsed := parse_object(arguments)) is not None:
            return None, tool.validate(parsed)
    except ToolError as error:
        return error.message, {}
    return f"The arguments of {tool.name} are not a JSON object.", {}


async def _begun(tool: Tool, kwargs: dict[str, Any], start: ToolStart) -> Any:
    """Returns an async tool, which begins with the first step of its task: a stop before that keeps it from
    beginning.
    """
    return await tool.fn(**kwargs) if start.begin() else None


async def _in_thread(threads: "ToolThreads", slot: "Slot", tool: Tool, kwargs: dict[str, Any], start: ToolStart) -> Any:
    value = await threads.run(slot, lambda: tool.fn(**kwargs) if start.begin() else None)
    return await in_task(value) if asyncio.iscoroutine(value) else value


async def call_function(
    function: Callable[[Any], Any], argument: Any, purpose: str, owner: str, limits: Limits, seconds: float
) -> Any:
    """Returns what a deployment's function returns: an async one in a task, a sync one in a thread with slots for this
    ``purpose`` alone, of which one of ``owner`` is awaited for up to ``seconds``. The caller limits the time.

    A `SystemExit` in a task would end the process: it is returned, and is as good as any other wrong answer.
    """
    if inspect.iscoroutinefunction(function):
        return await in_task(_survived(function(argument)))
    from agui_gate.turns.tool_threads import tool_threads

    threads = tool_threads(limits.tool_threads, purpose)
    async with threads.slot(owner, seconds) as slot:
        said = await threads.run(slot, lambda: function(argument))
    return await in_task(_survived(said)) if inspect.isawaitable(said) else said


async def _survived(work: Awaitable[Any]) -> Any:
    try:
        return await work
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as left:
        return left


async def in_task(work: Coroutine[Any, Any, Any]) -> Any:
    """Runs ``work`` in a task. Cancelling cancels it, and abandons it if it goes on."""
    task = asyncio.ensure_future(_contained(work))
    try:
        value, left = await undisturbed(task)
    except asyncio.CancelledError:
        if not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=STOP_SECONDS)
        if not task.done():
            log.warning("tool_ignores_cancellation")
            _abandoned.add(task)
        task.add_done_callback(_forget)
        raise
    if left is not None:
        raise left
    return value


async def _contained(work: Coroutine[Any, Any, Any]) -> tuple[Any, BaseException | None]:
    """Returns what ``work`` returns. A task that raises `SystemExit` would end the whole loop, its like the task
    group.
    """
    try:
        return await work, None
    except (Exception, asyncio.CancelledError, KeyboardInterrupt):
        raise
    except GeneratorExit:  # passed on as it is, it would look as if the run itself were thrown away
        return None, RuntimeError("the tool raised GeneratorExit")
    except BaseException as left:
        return None, left


_abandoned: set["asyncio.Task[Any]"] = set()
"""The loop keeps weak references only."""


def _forget(task: "asyncio.Task[Any]") -> None:
    _abandoned.discard(task)
    if not task.cancelled():
        task.exception()  # seen: its result is nobody's


def _as_text(value: Any) -> str:
    if value is None:
        return "null"
    text = _clean(value) if isinstance(value, str) else _encode(value)
    return text if len(text) <= MAX_RESULT else f"{text[:MAX_RESULT]}… (cut)"


def _clean(text: str) -> str:
    """Returns ``text`` with unpaired surrogates replaced, which no stream or store can carry."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _encode(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        from pydantic_core import to_json

        return to_json(value, fallback=str).decode()


def nobody(event: Told) -> None:
    """Ignores an event: there is no stream."""


TellOf = Callable[[str], Emit]
"""Returns the function to which a call's tool tells its events, by the call's id."""


class Toolbox:
    """Runs tools on one open thread, whosever they are. What they do to the shared state is told, and stays in it."""

    def __init__(self, thread: "LeasedThread", tell_of: TellOf = lambda _: nobody) -> None:
        self._thread, self._tell_of = thread, tell_of

    async def approved(self, tool: Tool | None, approval: Approval, start: ToolStart) -> Output:
        """Runs the call of a claimed approval with its ``tool``, and the arguments that were agreed to.

        Records from before arguments were judged have no digest, and records from before runs were noted no run id.
        """
        run_id, judged = approval.run_id or approval.run_key, approval.schema_digest is not None
        arguments, by = approval.effective_arguments, approval.principal
        if approval.asker is not None:
            from agui_gate.core.principals import on_behalf

            by = on_behalf(approval.asker, approval.principal).principal
        output = await self.run(tool, approval.tool, approval.call_id, run_id, arguments, start, judged=judged, by=by)
        self._thread.capacity.add_output(output)
        return output

    async def run(
        self,
        tool: Tool | None,
        name: str,
        call_id: str,
        run_id: str,
        arguments: str,
        start: ToolStart | None = None,
        *,
        judged: bool,
        by: str | None = None,
    ) -> Output:
        """Runs one call of ``tool``, by the ``name`` that it was called by. It was made in the run ``run_id``.

        ``tool`` None: there is none of that name, and the output says so. ``start``, ``judged``: see `run_tool`. ``by``
        is the principal for whom it runs; None: who acts on the thread.
        """
        thread = self._thread
        stream = self._tell_of(call_id)
        with thread.parts.tool(tool, call_id, stream) as state:
            told = WhileAtWork(partial(thread.parts.tell, emit=stream))
            context = self._context(call_id, run_id, state, told, by)
            work = run_tool if thread.meter is None else thread.meter.run_tool
            try:
                output = await work(tool, name, arguments, context, thread.limits, start, judged=judged)
            finally:
                told.over()
        return thread.capacity.fitted(output)

    def _context(self, call_id: str, run_id: str, state: Any, tell: Tell, by: str | None) -> ToolContext:
        thread = self._thread.thread
        return ToolContext(
            thread_id=thread.id,
            run_id=run_id,
            call_id=call_id,
            principal=self._thread.actor if by is None else by,
            owner=thread.principal.rpartition(SEPARATOR)[2],
            idempotency_key=f"{thread.key}:{call_id}",
            state=state,
            tell=tell,
        )


class WhileAtWork:
    """Hands on what one call's tool tells, in order, from whichever thread it does; nothing after `over`."""

    def __init__(self, tell: Tell) -> None:
        self._tell: Tell = tell
        self._loop, self._thread = asyncio.get_running_loop(), get_ident()

    def __call__(self, event: Told) -> None:
        """Tells one event."""
        if get_ident() == self._thread:
            self._tell(event)
        else:
            with suppress(RuntimeError):  # the loop is closed: nobody is there any more
                self._loop.call_soon_threadsafe(self._hand_on, event)

    def over(self) -> None:
        """Tells nothing any more: the call has ended, or nobody waits for it."""
        self._tell = nobody

    def _hand_on(self, event: Told) -> None:
        self._tell(event)
