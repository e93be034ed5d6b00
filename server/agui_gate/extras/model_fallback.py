"""Asks the next model of a list where the one before it can't answer: `Agent(model=[primary, fallback])`.

Theory of operation
-------------------
Each request begins with the first model. If that is rate limited, down, silent or unreachable, after what its own
adapter does about it, the next one is asked. From the first event of an answer on there is no way back: what was said
is said. Any other refusal (a key, a schema, the length of the conversation) is an answer, and goes on to the caller.

A model that has failed `MOST_FAILURES` times in a row is left out for `OPEN_SECONDS` (a *circuit breaker*). Then one
request tries it; the others go on without it. One that answers is back; one that fails is left out again. Where all are
left out, the first one is asked all the same. A breaker belongs to the model's origin and to this process.

The thread stays legal for each of them, whoever answers. A turn is recorded with the origin of the model that made it
(`TurnDone.origin`), and adapters use private parts and references of their own origin alone. A handle of a file is sent
to its own provider alone. What a person has agreed to, and a provider holds, is for the model that holds it: such a
request goes to that one, and no further.
"""

import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any

import msgspec
import structlog

from agui_gate.adapter import (
    Adapter,
    AssistantTurn,
    ChecksSetup,
    Finding,
    Media,
    ModelEvent,
    OutputSpec,
    SettledCall,
    Text,
    Transcript,
    TurnDone,
    TurnRequest,
    UserTurn,
    tells_output,
)
from agui_gate.core.media import FOREIGN, is_foreign, placeholder
from agui_gate.core.model_capabilities import Abilities, abilities_of, vendor_of
from agui_gate.errors import AguiGateError, ConfigurationError, ProviderError, ProviderUnavailable, RateLimited
from agui_gate.extras.observation import names_of

MOST_FAILURES = 5
"""Failures in a row after which a model is left out."""
OPEN_SECONDS = 30.0
"""Seconds for which it is left out before a request tries it again."""
MOST_BREAKERS = 1_000
"""Models that are remembered; of more, the one that was asked for first is forgotten."""
MOST_MODELS = 10
"""Models in one list."""

log = structlog.get_logger("agui_gate.models")


class Breaker:
    """Says whether a model is asked. ``clock``: seconds that only grow."""

    __slots__ = ("_clock", "_failures", "_tried_at")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._tried_at = 0.0

    def admits(self) -> bool:
        """Returns whether a request may go to the model. While it is left out: one each `OPEN_SECONDS`."""
        if self._failures < MOST_FAILURES:
            return True
        if self._clock() - self._tried_at < OPEN_SECONDS:
            return False
        self._tried_at = self._clock()
        return True

    def answered(self) -> bool:
        """Closes it. Returns whether the model was left out before."""
        was, self._failures = self._failures, 0
        return was >= MOST_FAILURES

    def failed(self) -> bool:
        """Counts a failure. Returns whether the model is left out from now on, and wasn't before."""
        self._failures += 1
        self._tried_at = self._clock()
        return self._failures == MOST_FAILURES


_breakers: dict[str, Breaker] = {}


def breaker_of(origin: str) -> Breaker:
    """Returns the breaker of the model with this origin."""
    found = _breakers.get(origin)
    if found is None:
        found = _breakers[origin] = Breaker()
        if len(_breakers) > MOST_BREAKERS:
            del _breakers[next(iter(_breakers))]
    return found


class Attempt(msgspec.Struct):
    """A request to one model of a list. ``begun``: by `time.perf_counter`, as ``seconds`` are. ``code``: why it failed;
    "" if it answered, or was called off.
    """

    adapter: Adapter
    begun: float
    code: str = ""
    seconds: float = 0.0


_attempts: "ContextVar[tuple[FallbackModels, list[Attempt]] | None]" = ContextVar("attempts", default=None)


class FallbackModels:
    """An adapter over several, in the order in which they are asked. Its origin is that of the first one."""

    def __init__(self, adapters: Sequence[Adapter], breaker: Callable[[str], Breaker] = breaker_of) -> None:
        self.adapters = tuple(adapters)
        self._breaker = breaker

    def __repr__(self) -> str:
        return f"<FallbackModels {' → '.join(self.origins)}>"

    @property
    def origin(self) -> str:
        """The origin of the first one."""
        return self.adapters[0].origin

    @property
    def origins(self) -> tuple[str, ...]:
        """The origins of all."""
        return tuple(adapter.origin for adapter in self.adapters)

    @property
    def vendor(self) -> str:
        """The vendor of the first one; handles of its files are kept from the others."""
        return vendor_of(self.adapters[0])

    @property
    def model(self) -> str:
        """The name of the first one."""
        return names_of(self.adapters[0])[1]

    @property
    def abilities(self) -> Abilities:
        """What all of them can; and that people are asked, if one of them asks."""
        every = [abilities_of(adapter) for adapter in self.adapters]
        known = {name: {getattr(one, name) for one in every} for name in Abilities.__struct_fields__}
        same = {name: found.pop() for name, found in known.items() if len(found) == 1}
        return Abilities(**same | {"asks": True if any(one.asks for one in every) else same.get("asks")})

    def tells_output(self, output: OutputSpec, *, tools: bool) -> bool:
        """Returns whether each can tell this form: else all are told it in the instructions."""
        return all(tells_output(adapter, output, tools=tools) for adapter in self.adapters)

    async def check_setup(self) -> Sequence[Finding]:
        """Says what is missing for any of them."""
        checking = [adapter for adapter in self.adapters if isinstance(adapter, ChecksSetup)]
        return [finding for adapter in checking for finding in await adapter.check_setup()]

    async def check(self) -> Sequence[Finding]:
        """Checks each; what is found says of which it is."""
        found = []
        for number, adapter in enumerate(self.adapters, 1):
            place = f"model {number} of {len(self.adapters)} ({adapter.origin})"
            found += [msgspec.structs.replace(one, what=f"{place}: {one.what}") for one in await adapter.check()]
        return found

    async def aclose(self) -> None:
        """Closes all of them."""
        for adapter in self.adapters:
            await adapter.aclose()

    @property
    def attempts(self) -> Sequence[Attempt]:
        """The requests that the last turn of this task has made. The last one answered, or failed last."""
        found = _attempts.get()
        return found[1] if found is not None and found[0] is self else ()

    def pop_attempts(self) -> Sequence[Attempt]:
        """Returns `attempts`, and forgets them."""
        found = self.attempts
        _attempts.set(None)
        return found

    async def stream(self, request: TurnRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """Runs one turn: see `Adapter.stream`. Raises `RateLimited` if all are, and `ProviderUnavailable` if none can
        be asked.
        """
        attempts: list[Attempt] = []
        _attempts.set((self, attempts))
        failures: list[ProviderError] = []
        is_kept = False  # by the one whose reference the request has
        for adapter in self._asked(request.transcript):
            if failures:
                told = {"model": attempts[-1].adapter.origin, "code": attempts[-1].code, "why": failures[-1].message}
                log.warning("model_replaced", **told, by=adapter.origin)
            attempt = Attempt(adapter, time.perf_counter())
            attempts.append(attempt)
            answered = False
            try:
                async with aclosing(adapter.stream(self._for(adapter, request))) as batches:
                    async for batch in batches:
                        if not answered:
                            answered = True
                            self._answered(adapter)
                        yield self._signed(adapter, batch)
                if answered:
                    return
                raise ProviderUnavailable("The provider's answer ended early.")
            except (RateLimited, ProviderUnavailable) as error:
                _end(attempt, error.code)
                if answered:
                    raise
                failures.append(error)
                is_kept |= error.reached and request.ref is not None and request.ref.origin == adapter.origin
                self._failed(adapter)
            except AguiGateError as error:
                _end(attempt, error.code)
                if is_kept and isinstance(error, ProviderError):
                    error.reached = True
                raise
        raise _none_answered(failures)

    def _asked(self, transcript: Transcript) -> Iterator[Adapter]:
        """Yields those that are asked, one after the other."""
        holder = _holder(transcript)
        if holder:  # a yes is told in one request ever, and to nobody else
            yield next((one for one in self.adapters if one.origin == holder), self.adapters[0])
            return
        left_out = True
        for adapter in self.adapters:
            if self._breaker(adapter.origin).admits():
                left_out = False
                yield adapter
        if left_out:
            yield self.adapters[0]

    def _for(self, adapter: Adapter, request: TurnRequest) -> TurnRequest:
        """Returns the request as ``adapter`` may have it: without another's reference, and without handles of the files
        of another vendor.
        """
        if request.ref is not None and request.ref.origin != adapter.origin:
            request = msgspec.structs.replace(request, ref=None)
        vendor = vendor_of(adapter)
        if vendor == self.vendor or not vendor:
            return request
        turns = tuple(_without_foreign(turn, vendor) for turn in request.transcript)
        if all(turn is before for turn, before in zip(turns, request.transcript, strict=True)):
            return request
        return msgspec.structs.replace(request, transcript=turns, beginning=None)

    def _signed(self, adapter: Adapter, batch: Sequence[ModelEvent]) -> Sequence[ModelEvent]:
        """Returns the events; the end of a turn says whose it is, where that isn't the first model."""
        if adapter is self.adapters[0] or type(end := batch[-1] if batch else None) is not TurnDone:
            return batch
        return [*batch[:-1], msgspec.structs.replace(end, origin=adapter.origin)]

    def _answered(self, adapter: Adapter) -> None:
        if self._breaker(adapter.origin).answered():
            log.info("model_is_back", model=adapter.origin)

    def _failed(self, adapter: Adapter) -> None:
        if self._breaker(adapter.origin).failed():
            log.warning("model_left_out", model=adapter.origin, failures=MOST_FAILURES, seconds=OPEN_SECONDS)


def adapter_of(agent: str, models: Sequence[Any]) -> Adapter:
    """Returns the adapter for a list of models: adapters and names. Raises `ConfigurationError`."""
    from agui_gate.agents.model_names import adapter_for

    if not models:
        raise ConfigurationError(f"agent {agent}: model=[] has no model; name at least one")
    if len(models) > MOST_MODELS:
        raise ConfigurationError(f"agent {agent}: a list of models has at most {MOST_MODELS}")
    for place, model in enumerate(models):
        if any(model is one or (isinstance(model, str) and model == one) for one in models[:place]):
            raise ConfigurationError(f"agent {agent}: {model!r} is in the list of models twice")
    adapters = [adapter_for(model) if isinstance(model, str) else model for model in models]
    for adapter in adapters:
        if not isinstance(adapter, Adapter) or isinstance(adapter, FallbackModels):
            raise ConfigurationError(
                f"agent {agent}: a list of models has provider adapters, such as OpenAIResponses(…), or their names; "
                f"{adapter!r} is none"
            )
        if getattr(adapter, "shares_state", False) is True and len(adapters) > 1:
            raise ConfigurationError(
                f"agent {agent}: {adapter!r} is a remote agent, which runs tools of its own, so no other model can "
                "stand in for it, nor it for another"
            )
    return FallbackModels(adapters) if len(adapters) > 1 else adapters[0]


def _end(attempt: Attempt, code: str) -> None:
    attempt.code, attempt.seconds = code, time.perf_counter() - attempt.begun


def _none_answered(failures: Sequence[ProviderError]) -> ProviderError:
    """Returns the failure of all: what the first one said, and what is true of every one of them."""
    first = failures[0]
    if len(failures) == 1:
        return first
    message = f"{first.message} None of {len(failures)} models could answer."
    if all(isinstance(one, RateLimited) for one in failures):
        return RateLimited(message)
    return ProviderUnavailable(message, reached=any(getattr(one, "reached", False) for one in failures))


def _holder(transcript: Transcript) -> str:
    """Returns the origin of the turn whose held call its provider is told to run with this request; "" if none is."""
    for turn in reversed(transcript):
        if isinstance(turn, AssistantTurn) and any(call.consent for call in turn.calls):
            return turn.origin
    return ""


def _without_foreign(turn: UserTurn | AssistantTurn, vendor: str) -> UserTurn | AssistantTurn:
    if isinstance(turn, UserTurn):
        if not any(isinstance(part, Media) and is_foreign(part, vendor) for part in turn.content):
            return turn
        return msgspec.structs.replace(turn, content=tuple(_told(part, vendor) for part in turn.content))
    results = (part for call in turn.calls for part in call.output.parts or ())
    if not any(isinstance(part, Media) and is_foreign(part, vendor) for part in results):
        return turn
    parts = tuple(_call_without(part, vendor) if isinstance(part, SettledCall) else part for part in turn.parts)
    return msgspec.structs.replace(turn, parts=parts)


def _call_without(call: SettledCall, vendor: str) -> SettledCall:
    parts = call.output.parts
    if not parts:
        return call
    output = msgspec.structs.replace(call.output, parts=tuple(_told(part, vendor) for part in parts))
    return msgspec.structs.replace(call, output=output)


def _told(part: Any, vendor: str) -> Any:
    return Text(placeholder(part, FOREIGN)) if isinstance(part, Media) and is_foreign(part, vendor) else part
