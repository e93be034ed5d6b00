"""`OpenAIResponses`: OpenAI's Responses API, and servers that speak it, as a model."""

import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import urlsplit

import anyio
import msgspec

from agui_gate.adapter import ConversationRef, Finding, ModelEvent, TurnRequest
from agui_gate.errors import ConfigurationError, ProviderRejected, ProviderUnavailable

from . import doctor
from .failures import Failure, Kind, unreachable
from .machine import ResponseMachine
from .recovery import Ladder
from .request import Mode, Plan, Settings, plan
from .sse import SSESplitter
from .transport import Transport, read

if TYPE_CHECKING:
    import httpx2
    import openai

_DEFAULT_URL = "https://api.openai.com/v1"
_DRAIN_SECONDS = 0.25
"""How long to wait for the end of the body after the terminal event, so that the connection can be used again."""
_CLOSE_SECONDS = 2.0


class OpenAIResponses:
    """A model behind the Responses API.

    ``mode`` says who keeps the history: ``chain`` (the provider, linked by `previous_response_id`), ``conversation``
    (the provider, in a conversation object; once that is lost, as with ``chain``) or ``stateless`` (only this server).
    ``base_url`` and ``api_key`` fall back to OPENAI_BASE_URL and OPENAI_API_KEY. ``client`` is an `openai.AsyncOpenAI`
    (or a subclass) of your own, which stays yours to close. ``reasoning`` (such as
    ``{"effort": "low", "summary": "auto"}``), ``temperature`` and
    ``max_output_tokens`` are passed on. ``timeout`` is how many seconds the provider may be silent.
    """

    def __init__(
        self,
        model: str,
        *,
        mode: Mode = "chain",
        base_url: str | None = None,
        api_key: str | None = None,
        client: "openai.AsyncOpenAI | None" = None,
        reasoning: dict[str, Any] | None = None,
        temperature: float | None = None,
        max_output_tokens: int | None = None,
        timeout: float = 60.0,
    ) -> None:
        if mode not in get_args(Mode):
            raise ConfigurationError(f"mode is one of {', '.join(get_args(Mode))}, not {mode!r}.")
        url = str(client.base_url) if client is not None else base_url or os.environ.get("OPENAI_BASE_URL")
        host = _host(url or _DEFAULT_URL)
        self._settings = Settings(
            model=model,
            mode=mode,
            origin=f"openai-responses:{mode}:{host}:{model}",
            newest_sealed_only=host.partition(":")[0].endswith(".azure.com"),
            reasoning=reasoning,
            temperature=temperature,
            max_output_tokens=max_output_tokens,
        )
        self._host = host
        self._transport = Transport(model=model, base_url=base_url, api_key=api_key, client=client, timeout=timeout)
        self._sleep: Callable[[float], Awaitable[None]] = anyio.sleep

    def __repr__(self) -> str:
        return f"<OpenAIResponses {self.origin}>"

    @property
    def origin(self) -> str:
        """Names API, mode, host and model: what makes refs and sealed reasoning usable again."""
        return self._settings.origin

    async def stream(self, request: TurnRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """Run one turn; a batch is what one network read brought. See `agui_gate.adapter.Adapter.stream`."""
        ladder = Ladder()
        current = self._plan(request)
        while True:
            shown = False
            try:
                async with aclosing(self._attempt(current)) as batches:
                    async for batch in batches:
                        shown = True
                        yield batch
                return
            except Failure as failure:
                step = None if shown else ladder.next(failure, current)
                if step is None:
                    raise failure.error from failure
            if step.wait:
                await self._sleep(step.wait)
            if step.plain:
                current = self._plan(request, plain=True)

    async def check(self) -> Sequence[Finding]:
        """Whether package, key, address and model work; within 10 s, never raises."""
        return [await doctor.check(self._transport, self._settings.model, self._host)]

    async def aclose(self) -> None:
        """Close the connections that this adapter opened. Safe to call twice."""
        await self._transport.aclose()

    def _plan(self, request: TurnRequest, *, plain: bool = False) -> Plan:
        return plan(request, self._settings, now_ms=time.time_ns() // 1_000_000, plain=plain)

    async def _attempt(self, current: Plan) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """One request and its stream. Raises `Failure`."""
        conversation_id = current.conversation_id
        body = current.body
        if conversation_id is not None:
            conversation_id = conversation_id or await self._transport.create_conversation()
            body = body | {"conversation": conversation_id}
        machine = ResponseMachine(self._settings.model, lambda response_id: self._ref(response_id, conversation_id))
        response = await self._transport.open(_encoded(body))
        chunks = read(response)
        try:
            async with aclosing(_decoded(chunks, machine)) as batches:
                async for batch in batches:
                    yield batch
        finally:
            await _leave(response, chunks, finished=machine.done)

    def _ref(self, response_id: str, conversation_id: str | None) -> ConversationRef | None:
        """What the provider remembers after this response, in the form that this mode continues from."""
        if conversation_id:
            return ConversationRef(turn_id="", origin=self.origin, conversation_id=conversation_id)
        if self._settings.mode != "stateless" and response_id:
            return ConversationRef(turn_id="", origin=self.origin, previous_response_id=response_id)
        return None


async def _decoded(
    chunks: AsyncGenerator[bytes, None], machine: ResponseMachine
) -> AsyncGenerator[Sequence[ModelEvent], None]:
    """Batches until the terminal event. Raises `Failure` when the response fails, or ends without one."""
    splitter = SSESplitter()
    try:
        async for chunk in chunks:
            batch = machine.feed(splitter.feed(chunk))
            if batch:
                yield batch
            if machine.done or machine.failure is not None:
                break
        else:
            # A frame without its end is one only if its JSON has an end.
            batch = machine.feed([payload for payload in splitter.flush() if payload.endswith(b"}")])
            if batch:
                yield batch
    except ProviderUnavailable as error:
        raise Failure(error, Kind.AMBIGUOUS) from error
    if machine.failure is not None:
        raise machine.failure
    if not machine.done:
        raise unreachable("The provider's answer was cut off.", sent=True)


async def _leave(response: "httpx2.Response", chunks: AsyncGenerator[bytes, None], *, finished: bool) -> None:
    """Give the connection back if the answer is complete, else close it; neither may take long or be interrupted."""
    if finished:
        with anyio.move_on_after(_DRAIN_SECONDS, shield=True):
            try:
                async for _ in chunks:
                    pass
            except Failure:
                pass  # nothing that comes after the terminal event matters
    with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
        await chunks.aclose()
        await response.aclose()


def _encoded(body: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(body)
    except (TypeError, ValueError) as error:  # lone surrogates, or a schema that is not JSON
        raise Failure(ProviderRejected("The request can't be written as JSON.")) from error


def _host(url: str) -> str:
    """Host and, where it is said, port: without user, path or query, as origins are stored and logged."""
    return urlsplit(url).netloc.rpartition("@")[2] or url
