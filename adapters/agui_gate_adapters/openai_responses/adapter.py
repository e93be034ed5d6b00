"""`OpenAIResponses`: OpenAI's Responses API, and servers that speak it, as a model."""

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self, get_args

import msgspec

from agui_gate.adapter import Abilities, ConversationRef, OutputSpec, TurnRequest
from agui_gate.errors import ConfigurationError
from agui_gate_adapters.common.failures import Failure
from agui_gate_adapters.common.large_requests import is_long
from agui_gate_adapters.common.names import stream_named
from agui_gate_adapters.common.openai_transport import ApiKey
from agui_gate_adapters.common.output_schemas import strict_schema
from agui_gate_adapters.common.provider_model import ProviderModel
from agui_gate_adapters.common.provider_turn import Batches, Opened, prepared, run_turn, sent
from agui_gate_adapters.common.retries import Step
from agui_gate_adapters.common.transport import host_of
from agui_gate_adapters.openai_responses.retries import Agreement, ReplayLadder, continues, remember_stateless

from .hosted_tools import Hosting, checked_hosted_tools, where_servers_are
from .hosts import (
    AZURE,
    AZURE_SCOPE,
    FOUNDRY,
    FOUNDRY_SCOPE,
    OPENAI,
    Host,
    TokenProvider,
    azure_url,
    check_mode,
    foundry_url,
    keeps_state,
    key_of,
    with_tokens,
)
from .machine import ResponseMachine
from .request import Mode, Plan, Settings, Shape, plan
from .transport import ResponsesTransport

if TYPE_CHECKING:
    import openai


MOST_ITEMS = 10_000
"""Items of a conversation that are deleted with it."""


class OpenAIResponses(ProviderModel):
    """A model behind the Responses API.

    ``mode`` says who keeps the history: ``chain`` (the provider, linked by `previous_response_id`), ``conversation``
    (the provider, in a conversation object; once that is lost, as with ``chain``) or ``stateless`` (only this server).
    Not given, it is ``chain`` for hosts that are known to keep responses (OpenAI, Azure), else ``stateless``. Where a
    continuation turns out to be refused or ignored, everything is sent, for the life of the process.
    ``base_url`` and ``api_key`` fall back to OPENAI_BASE_URL and OPENAI_API_KEY. ``client`` is an `openai.AsyncOpenAI`
    (or a subclass) of your own, which stays yours to close. ``reasoning`` (such as
    ``{"effort": "low", "summary": "auto"}``), ``temperature`` and
    ``max_output_tokens`` are passed on. ``timeout`` is how many seconds the provider may be silent.

    ``hosted_tools`` are tools that the provider runs itself, in its own words: ``{"type": "web_search"}``,
    ``{"type": "mcp", "server_label": "crm", "server_url": "https://…", "require_approval": "always"}``. Where such an
    MCP server's call needs approval, a person is asked, as with a gate, for ``approval_expires_after`` seconds at most.
    ``declares`` is what you know of the model, for those who ask what an agent can do.
    """

    def __init__(
        self,
        model: str,
        *,
        mode: Mode | None = None,
        base_url: str | None = None,
        api_key: ApiKey | None = None,
        client: "openai.AsyncOpenAI | None" = None,
        hosted_tools: Sequence[dict[str, Any]] = (),
        approval_expires_after: float | None = None,
        reasoning: dict[str, Any] | None = None,
        temperature: float | None = None,
        max_output_tokens: int | None = None,
        timeout: float = 60.0,
        declares: Abilities | None = None,
        host: Host = OPENAI,
    ) -> None:
        if mode is not None and mode not in get_args(Mode):
            raise ConfigurationError(f"mode is one of {', '.join(get_args(Mode))}, not {mode!r}.")
        url = str(client.base_url) if client is not None else base_url or os.environ.get("OPENAI_BASE_URL")
        address = host_of(url or host.base_url)
        self._keeps_state = host is not OPENAI or keeps_state(address)
        mode = mode or ("chain" if self._keeps_state else "stateless")
        super().__init__(model, f"openai-responses:{mode}:{address}:{model}", address, declares)
        self._settings = Settings(
            model=model,
            mode=mode,
            origin=self.origin,
            newest_sealed_only=host.newest_sealed_only or address.partition(":")[0].endswith(".azure.com"),
            output_window_ms=host.output_window_ms,
            hosted_tools=checked_hosted_tools(hosted_tools, approval_expires_after),
            reasoning=reasoning,
            temperature=temperature,
            max_output_tokens=max_output_tokens,
        )
        self._alone = msgspec.structs.replace(self._settings, mode="stateless")
        self._hosting = Hosting(approval_expires_after, servers=where_servers_are(self._settings.hosted_tools))
        self._transport: ResponsesTransport = ResponsesTransport(
            host.api,
            model=model,
            path="/responses",
            base_url=base_url,
            api_key=api_key,
            client=client,
            timeout=timeout,
            knows_models=host.knows_models,
        )
        self._now_ms: Callable[[], int] = _now_ms

    @classmethod
    def azure(
        cls,
        model: str,
        *,
        endpoint: str | None = None,
        resource: str | None = None,
        api_key: str | None = None,
        token_provider: TokenProvider | None = None,
        mode: Mode = "chain",
        conversations: bool = False,
        **options: Any,
    ) -> Self:
        """Makes a model of an Azure OpenAI deployment (``model``), through its v1 API; ``options`` as for the class.

        ``endpoint`` such as ``https://RESOURCE.openai.azure.com`` falls back to AZURE_OPENAI_ENDPOINT (or name the
        ``resource``), ``api_key`` to AZURE_OPENAI_API_KEY. Instead of a key, ``token_provider`` is a sync or async
        callable that returns an Entra token for the scope `AZURE_SCOPE`. ``conversations``: the resource has them.
        """
        check_mode(mode, conversations=conversations)
        url = azure_url(endpoint, resource)
        key = key_of(api_key, token_provider, AZURE_SCOPE)
        return cls(model, mode=mode, base_url=url, api_key=key, host=with_tokens(AZURE, token_provider), **options)

    @classmethod
    def foundry(
        cls,
        model: str,
        *,
        endpoint: str | None = None,
        project: str | None = None,
        api_key: str | None = None,
        token_provider: TokenProvider | None = None,
        mode: Mode = "chain",
        **options: Any,
    ) -> Self:
        """Makes a model of an Azure AI Foundry project's deployment (``model``); ``options`` as for the class.

        ``endpoint`` such as ``https://RESOURCE.services.ai.azure.com/api/projects/PROJECT`` falls back to
        AZURE_AI_PROJECT_ENDPOINT; with ``project``, ``endpoint`` may be the resource's. Keys and tokens as for `azure`;
        the scope is `FOUNDRY_SCOPE`. A person may take longer to approve than Foundry waits for outputs (ten minutes):
        then everything is sent again.
        """
        url = foundry_url(endpoint, project)
        key = key_of(api_key, token_provider, FOUNDRY_SCOPE)
        return cls(model, mode=mode, base_url=url, api_key=key, host=with_tokens(FOUNDRY, token_provider), **options)

    @classmethod
    def of_origin(cls, origin: str) -> Self | None:
        """Returns the adapter of that origin, as the environment sets up key and address; None for that of another."""
        parts = origin.split(":", 2)
        modes: dict[str, Mode] = {"chain": "chain", "conversation": "conversation"}
        if len(parts) != 3 or parts[0] != "openai-responses" or parts[1] not in modes:
            return None
        for start in (place for place, letter in enumerate(parts[2]) if letter == ":"):
            made = cls(
                parts[2][start + 1 :], mode=modes[parts[1]]
            )  # a model's name, or a host's port, may have one, too
            if made.origin == origin:
                return made
        return None

    async def forget(self, refs: Sequence[ConversationRef]) -> int:
        """Deletes the responses and conversations that these refer to, with their items. Returns how many there were.

        Raises `ProviderRejected`, `ProviderUnavailable` and the like; what was deleted until then stays so.
        """
        number = 0
        try:
            for ref in refs:
                if ref.conversation_id:
                    number += await self._forget_conversation(ref.conversation_id)
                elif ref.previous_response_id:
                    number += await self._transport.delete(f"/responses/{ref.previous_response_id}")
        except Failure as failure:
            raise failure.error from failure
        return number

    async def _forget_conversation(self, conversation_id: str) -> int:
        """Deletes a conversation. Its items would outlive it."""
        for _ in range(MOST_ITEMS // 100):
            items = await self._transport.items_of(conversation_id)
            for item in items:
                await self._transport.delete(f"/conversations/{conversation_id}/items/{item}")
            if not items:
                break
        return await self._transport.delete(f"/conversations/{conversation_id}")

    @property
    def vendor(self) -> str:
        """Whose handles of files it can use: as in `Usage.provider`."""
        return "openai"

    @property
    def abilities(self) -> Abilities:
        """What is known of the model: what this API never carries, what it was set to do, and what is declared."""
        asked = self._settings.reasoning or {}
        thinks = asked.get("effort") not in (None, "none") or bool(asked.get("summary")) or None
        hosted = self._settings.hosted_tools
        code = any(tool["type"].startswith("code_interpreter") for tool in hosted) or None
        asks = any(tool["type"] == "mcp" and tool.get("require_approval") != "never" for tool in hosted) or None
        known = Abilities(
            reasoning=thinks,
            reasoning_shown=bool(asked.get("summary")) or None,
            reasoning_sealed=thinks if self._settings.mode == "stateless" else None,
            audio=False,
            video=False,
            runs_code=code,
            sandboxed=code,
            asks=asks,
        )
        return known.updated(self._declares)

    def tells_output(self, output: OutputSpec, *, tools: bool) -> bool:
        """Whether the provider can be told this form of an answer. Of an unknown server without memory nobody knows."""
        return (self._keeps_state or self._settings.mode != "stateless") and bool(strict_schema(output.schema))

    def stream(self, request: TurnRequest) -> Batches:
        """Run one turn; a batch is what one network read brought. See `agui_gate.adapter.Adapter.stream`."""
        return stream_named(request, self._stream)

    def _stream(self, request: TurnRequest) -> Batches:
        turn = _Turn(self, request)
        begun = partial(run_turn, turn.begin, ladder=turn, sleep=self._sleep)
        return prepared(request, self._plan, begun, heavy=is_long(request))

    def _plan(self, request: TurnRequest, *, plain: bool = False, alone: bool = False) -> Plan:
        if not alone and continues(self.origin):
            return plan(request, self._settings, now_ms=self._now_ms(), plain=plain)
        return msgspec.structs.replace(plan(request, self._alone, now_ms=self._now_ms()), instead=alone)

    async def _begin(self, current: Plan) -> Opened:
        """Send one request. Raises `Failure`."""
        conversation_id = current.conversation_id
        if conversation_id == "":
            conversation_id = await self._transport.create_conversation()
        more = {} if conversation_id is None else {"conversation": conversation_id}
        keeps = current.shape is not Shape.SEALED
        machine = ResponseMachine(
            self._settings.model,
            partial(self._ref, conversation_id) if keeps else _no_ref,
            self._hosting._replace(keeps_lists=not keeps),
            self._forgot if current.continues_response and not self._keeps_state else None,
        )
        response = await sent(self._transport, current.request, lambda: current.body | more, current.name)
        if current.instead:
            self._forgot()
        return Opened(response, machine)

    def _forgot(self) -> None:
        remember_stateless(self.origin)

    def _ref(self, conversation_id: str | None, response_id: str) -> ConversationRef | None:
        """Returns the reference that this mode continues from after this response."""
        if conversation_id:
            return ConversationRef(turn_id="", origin=self.origin, conversation_id=conversation_id)
        if response_id:
            return ConversationRef(turn_id="", origin=self.origin, previous_response_id=response_id)
        return None


class _Turn:
    """One turn: how its requests begin, and are planned again. It is its own ladder, made when something fails."""

    __slots__ = ("_adapter", "_agreement", "_ladder", "_request")

    def __init__(self, adapter: OpenAIResponses, request: TurnRequest) -> None:
        self._adapter, self._request, self._agreement = adapter, request, Agreement()
        self._ladder: ReplayLadder | None = None

    def next(self, failure: Failure, plan: Plan) -> Step[Plan] | None:
        """See `ReplayLadder`."""
        if self._ladder is None:
            self._ladder = ReplayLadder(partial(self._adapter._plan, self._request))
        return self._ladder.next(failure, plan)

    async def begin(self, current: Plan) -> Opened:
        """Sends one request. Raises `Failure`."""
        self._agreement.check(current)
        return await self._adapter._begin(current)


def _no_ref(response_id: str) -> None:
    """Returns no reference: of this request nothing is kept."""


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
