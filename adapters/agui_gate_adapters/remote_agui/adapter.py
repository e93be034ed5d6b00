"""Uses a remote AG-UI server as a model: a turn here is a run there."""

import asyncio
import uuid
import weakref
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio

from agui_gate.adapter import TRACE_HEADERS, Finding, ModelEvent, TurnRequest
from agui_gate.client import ClientError, Json, Limits, Refused, Run, Unreachable, events
from agui_gate.client.connection import Connection
from agui_gate.errors import ProviderError, ProviderRejected, ProviderUnavailable, RateLimited
from agui_gate_adapters.common.failures import Api, ErrorReply, classify_status, log, plain
from agui_gate_adapters.common.large_requests import work_through

from .machine import Machine
from .request import planned

if TYPE_CHECKING:
    import httpx2

# What goes wrong at a remote agent, as the errors that an adapter raises. None has a word of the remote's in it.

API = Api("AG-UI agent", "the headers of RemoteAgent")


def failed(error: ClientError) -> ProviderError:
    """Returns the error for a failure of the client."""
    if isinstance(error, Refused):
        log.debug("the remote agent refused: %s", error.http_status)
        return _refused(error.http_status)
    if isinstance(error, Unreachable) and not error.sent:  # its message has an address, which is for operators alone
        return ProviderUnavailable("The remote agent failed. Nothing is listening at its address.", reached=False)
    return ProviderUnavailable(f"The remote agent failed. {error.message}")


def _refused(status: int) -> ProviderError:
    if status == 409:  # it surely did nothing
        return RateLimited("The remote agent is busy with this conversation (409).")
    if 300 <= status < 400:
        return ProviderRejected(f"The remote agent is elsewhere ({status}): correct the url of RemoteAgent.")
    if status == 404:
        return ProviderRejected("There is no AG-UI agent at this address (404): check the url of RemoteAgent.")
    return classify_status(status, ErrorReply(), API).error


def ended_with(code: str) -> ProviderError:
    """Returns the error for a run that reported its failure."""
    log.debug("the remote agent's run failed: code=%r", plain(code))
    return ProviderUnavailable("The remote agent's run failed.")


AT_ONCE = 50
"""Model events in one batch: who takes them lets others in between two batches."""

STOP_SECONDS = 2.0
"""How long telling a remote that nobody listens any more may take."""


class RemoteAgui:
    """The adapter. ``limits`` bounds what the remote may take; the engine's own limit of a turn counts as well.

    Requests that fail before anything was sent are made once more; no other one is. Cancelling a turn stops the
    remote's run: an agui-gate is asked to, others see the connection close.
    """

    shares_state = True
    """Where the agent has a model of it: see `TurnRequest.state`."""

    def __init__(self, url: str, *, headers: Mapping[str, str] | None = None, limits: Limits | None = None) -> None:
        self._url, self._headers, self._limits = url, dict(headers or {}), limits or Limits()
        self._new()  # says at once what is wrong with the address
        parts = urlsplit(url)
        self._origin = f"remote-agui:{parts.hostname}:{parts.port or parts.scheme}{parts.path.rstrip('/')}"
        self._own: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Connection] = weakref.WeakKeyDictionary()

    @property
    def origin(self) -> str:
        """The address."""
        return self._origin

    async def stream(self, request: TurnRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """Yields the events of a run at the remote. Raises `ProviderError` without any text of the remote's."""
        body = await work_through(request, planned, request, self._origin, uuid.uuid4().hex)
        body["threadId"] = body["threadId"] or uuid.uuid4().hex
        lent = frozenset(tool.name for tool in request.tools)
        again = True
        while True:
            try:
                machine = await work_through(request, Machine, body["messages"], lent, request.state)
                async with aclosing(self._run(body, machine, large=request.large)) as batches:
                    async for batch in batches:
                        again = False
                        yield batch
                return
            except Unreachable as error:
                if error.sent or not again:
                    raise failed(error) from error
                again = False
            except ClientError as error:
                raise failed(error) from error

    async def _run(self, body: Json, machine: Machine, *, large: bool) -> AsyncGenerator[Sequence[ModelEvent], None]:
        told = _Told(machine)
        run = Run(self._connection(), told, body, large=large)
        try:
            async for event in run:
                if told.over:
                    break  # one run was asked for
                if isinstance(event, events.RunStarted):
                    continue  # no proof yet that it took what it was told
                if isinstance(event, events.RunError):
                    raise ended_with(event.code or "")
                for start in range(0, max(len(told.batch), 1), AT_ONCE):
                    yield told.batch[start : start + AT_ONCE]
            if not machine.ended:
                raise ProviderUnavailable("The remote agent's answer ended early.")
        except ClientError:
            if not machine.ended:
                raise
        finally:
            if run.outcome is None:
                with anyio.move_on_after(STOP_SECONDS, shield=True):
                    await run.stop()
            await run.aclose()

    async def check(self) -> Sequence[Finding]:
        """Whether anybody answers there. Asks for nothing that would begin a run."""
        what = f"remote agent {urlsplit(self._url).hostname}"
        try:
            async with self._connection().stream("GET", self._url):
                return [Finding(what, True, "answers")]
        except Unreachable as error:
            return [Finding(what, False, error.message, "Start it, or correct the url of RemoteAgent.")]
        except ClientError:
            return [Finding(what, True, "answers")]

    async def aclose(self) -> None:
        """Close the connections that were opened here. Safe to call twice."""
        own = self._own.pop(asyncio.get_running_loop(), None)
        if own is not None:
            await own.aclose()

    def _connection(self) -> Connection:
        loop = asyncio.get_running_loop()
        found = self._own.get(loop)
        if found is None:
            found = self._own[loop] = self._new()
        return found

    def _new(self) -> Connection:
        return _Traced(self._url, self._headers, self._limits)


class _Traced(Connection):
    """A connection whose requests say of which trace they are part."""

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        url: str,
        *,
        body: Json | None = None,
        headers: Mapping[str, str] | None = None,
        large: bool = False,
    ) -> AsyncGenerator["httpx2.Response", None]:
        """See `Connection.stream`."""
        head = {**(headers or {}), **TRACE_HEADERS.get()}
        async with super().stream(method, url, body=body, headers=head, large=large) as response:
            yield response


class _Told:
    """What the machine makes of a run's events: ``batch`` of the last one. ``over``: something came after the end."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.batch: list[ModelEvent] = []
        self.over = False

    def apply(self, event: events.AnyEvent) -> None:
        """Applies an event."""
        if self._machine.ended:
            self.over = True
        else:
            self.batch = self._machine.feed(event)

    def leave(self) -> None:
        """Does nothing."""
