"""`AnthropicMessages`: Anthropic's Messages API, and hosts that speak it, as a model."""

import os
import re
from collections.abc import Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

from agui_gate.adapter import Abilities, OutputSpec, TurnRequest, off_loop
from agui_gate.errors import ConfigurationError
from agui_gate_adapters.common.failures import Failure, Kind, log
from agui_gate_adapters.common.large_requests import is_long
from agui_gate_adapters.common.names import LONGEST, stream_named
from agui_gate_adapters.common.output_schemas import strict_schema
from agui_gate_adapters.common.provider_model import ProviderModel
from agui_gate_adapters.common.provider_turn import Batches, Opened, run_turn, sent
from agui_gate_adapters.common.retries import Once, Step
from agui_gate_adapters.common.transport import host_of

from .machine import MessageMachine
from .request import Plan, Settings, plan
from .transport import MessagesTransport

if TYPE_CHECKING:
    import anthropic


# What is tried after a failure, as long as nothing of the turn was shown (B27).
#
# | failure | tried | how often |
# |---|---|---|
# | transient, ambiguous | the same request, after a short wait | once |
# | thinking refused (A7, A8, A9) | the same without thinking, as the API itself advises | once |
# | mismatch (A1 to A6, A10 to A12) | nothing: the request is a function of the transcript | |
#
# A thinking block can be refused without a bug of ours. A signature is good for one model and its key. On some models
# it is good for one very conversation, instructions and tools included. A mismatch would be a bug and is logged as one.


class ThinkingLadder:
    """The steps of one request. ``plain`` plans it without thinking."""

    def __init__(self, plain: Callable[[], Plan]) -> None:
        self._plain = plain
        self._once = Once[Plan]()

    def next(self, failure: Failure, plan: Plan) -> Step[Plan] | None:
        """Returns the step that may help after this failure of this plan; None when there is none left."""
        if failure.kind is Kind.MISMATCH:
            log.error("adapter bug: the provider finds a request inconsistent: %s", failure.error.message)
            return None
        if failure.kind is not Kind.FORGOTTEN:
            return self._once.next(failure, plan)
        if plan.plain:
            return None
        log.warning("the provider does not take back the thinking of this conversation; going on without it")
        return Step(0.0, self._plain())


LONGEST_NAME = 128
"""Characters of a tool's name at Anthropic. Other hosts of this API may take only as many as most providers do."""

_DEFAULT_URL = "https://api.anthropic.com"
_DEFAULT_OUTPUT = 8192
"""Tokens of an answer beside its thinking: every model of the last two years can write as many."""

_HELD_TO_FORM = re.compile(r"claude-(?:opus|sonnet|haiku)-(?:4-(?:[5-9]|1\d)|[5-9]|1\d)(?!\d)")
"""Models that take `output_config.format`: those since 4.5. Older ones refuse it."""

_SAMPLING_VERSION = "2023-06-01"
"""The last version of the API with `temperature`; newer ones refuse it, whatever its value."""


class AnthropicMessages(ProviderModel):
    """A model behind the Messages API.

    ``base_url`` and ``api_key`` fall back to the SDK's environment variables (ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY or
    ANTHROPIC_AUTH_TOKEN). ``client`` is an `anthropic.AsyncAnthropic` (or a subclass) of your own, which stays yours to
    close. ``max_output_tokens`` is 8192 beside what thinking may use. ``thinking`` (such as
    ``{"type": "enabled", "budget_tokens": 2048}`` or ``{"type": "adaptive"}``) is passed on; models differ in the kinds
    they know. ``temperature`` is too, and only the API's older version and models know it.
    ``cache``: mark what the provider's prompt cache may keep. ``hosted_tools`` are the provider's own, as the API wants
    them (such as ``{"type": "web_search_20250305", "name": "web_search"}``). ``timeout`` is how many seconds the
    provider may be silent. ``declares`` is what you know of the model, for those who ask what an
    agent can do. Raises `ConfigurationError` for settings that exclude each other.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: "anthropic.AsyncAnthropic | None" = None,
        max_output_tokens: int | None = None,
        thinking: dict[str, Any] | None = None,
        temperature: float | None = None,
        cache: bool = True,
        hosted_tools: Sequence[dict[str, Any]] = (),
        timeout: float = 60.0,
        declares: Abilities | None = None,
    ) -> None:
        budget = _budget(thinking, temperature)
        if not all(isinstance(tool, dict) for tool in hosted_tools):  # of a dict, these are its keys
            raise ConfigurationError("hosted_tools is a list of objects, as the API has them.")
        if max_output_tokens is not None and max_output_tokens <= budget:
            raise ConfigurationError("max_output_tokens must be greater than thinking's budget_tokens.")
        url = base_url or os.environ.get("ANTHROPIC_BASE_URL")
        # The SDK's paths begin with /v1; other SDKs' addresses end with it, and people copy them.
        url = url.rstrip("/").removesuffix("/v1") if url else None
        host = host_of(str(client.base_url) if client is not None else url or _DEFAULT_URL)
        self._is_anthropic = host == host_of(_DEFAULT_URL)
        super().__init__(model, f"anthropic-messages:{host}:{model}", host, declares)
        self._settings = Settings(
            model=model,
            origin=self.origin,
            max_tokens=max_output_tokens or _DEFAULT_OUTPUT + budget,
            thinking=thinking,
            temperature=temperature,
            cache=cache,
            hosted_tools=tuple(hosted_tools),
        )
        self._transport: MessagesTransport = MessagesTransport(
            model=model,
            base_url=url,
            api_key=api_key,
            client=client,
            timeout=timeout,
            version=None if temperature is None else _SAMPLING_VERSION,
        )

    @property
    def vendor(self) -> str:
        """Whose handles of files it can use: as in `Usage.provider`."""
        return "anthropic"

    @property
    def abilities(self) -> Abilities:
        """What is known of the model: what this API never carries, what it was set to do, and what is declared."""
        asked = self._settings.thinking or {}
        thinks = asked.get("type") in ("enabled", "adaptive") or None
        code = any(str(tool.get("type", "")).startswith("code_execution") for tool in self._settings.hosted_tools)
        known = Abilities(
            reasoning=thinks,
            reasoning_shown=(thinks and asked.get("display") == "summarized") or None,
            reasoning_sealed=thinks,
            audio=False,
            video=False,
            runs_code=code or None,
            sandboxed=code or None,
        )
        return known.updated(self._declares)

    def tells_output(self, output: OutputSpec, *, tools: bool) -> bool:
        """Whether the model can be told this form of an answer. Not beside hosted tools: what cites can't be held."""
        known = _HELD_TO_FORM.search(self.model) is not None and not self._settings.hosted_tools
        return known and bool(strict_schema(output.schema, recursive=False))

    def stream(self, request: TurnRequest) -> Batches:
        """Run one turn; a batch is what one network read brought. See `agui_gate.adapter.Adapter.stream`.

        A turn that the provider pauses goes on in further requests, a few times; then it ends as incomplete.
        """
        return stream_named(request, self._stream, longest=LONGEST_NAME if self._is_anthropic else LONGEST)

    async def _stream(self, request: TurnRequest) -> Batches:
        paused, plain = None, False
        while True:
            planned = partial(plan, request, self._settings, paused=paused)
            turn = _Attempt(self._transport, self.model)
            ladder = ThinkingLadder(partial(planned, plain=True))
            first = await off_loop(planned, plain=plain) if is_long(request) else planned(plain=plain)
            async with aclosing(run_turn(turn.begin, first, ladder, self._sleep)) as batches:
                async for batch in batches:
                    yield batch
            paused = turn.machine.paused
            if paused is None:
                return
            plain = turn.plan.plain or not paused.thinking_fits


class _Attempt:
    """Sends requests and remembers the last: its plan, and the machine that reads its answer."""

    plan: Plan
    machine: MessageMachine

    def __init__(self, transport: MessagesTransport, model: str) -> None:
        self._transport = transport
        self._model = model

    async def begin(self, current: Plan) -> Opened:
        """Send one request. Raises `Failure`."""
        self.plan = current
        self.machine = MessageMachine(self._model, current.paused, may_pause=current.may_pause)
        response = await sent(self._transport, current.request, lambda: current.body, current.name)
        return Opened(response, self.machine)


def _budget(thinking: dict[str, Any] | None, temperature: float | None) -> int:
    """Returns the tokens that thinking may use. Raises `ConfigurationError` for what the API always refuses."""
    if thinking is None:
        return 0
    mode, budget = thinking.get("type"), thinking.get("budget_tokens", 0)
    if not isinstance(mode, str) or not isinstance(budget, int):
        raise ConfigurationError('thinking is such as {"type": "enabled", "budget_tokens": 2048}.')
    if mode in ("enabled", "adaptive") and temperature not in (None, 1):
        raise ConfigurationError("temperature can't be set together with thinking.")
    return budget
