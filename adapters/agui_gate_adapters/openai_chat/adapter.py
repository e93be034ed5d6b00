"""`OpenAIChat`: any server that speaks the Chat Completions API, as a model."""

import os
import secrets
import string
from typing import TYPE_CHECKING

from agui_gate.adapter import Abilities, OutputSpec, TurnRequest
from agui_gate_adapters.common.names import stream_named
from agui_gate_adapters.common.output_schemas import strict_schema
from agui_gate_adapters.common.provider_model import ProviderModel
from agui_gate_adapters.common.provider_turn import Batches, Opened, run_turn, sent
from agui_gate_adapters.common.transport import host_of

from .failures import ChatLadder, api_of
from .machine import ChatMachine
from .profiles import Profile, profile_of
from .request import Settings, body, history_name
from .transport import ChatTransport

if TYPE_CHECKING:
    import openai

_DEFAULT_URL = "https://api.openai.com/v1"


class OpenAIChat(ProviderModel):
    """A model behind a Chat Completions server: OpenAI, Azure, vLLM, Ollama, llama.cpp, DeepSeek, Kimi, Mistral, ….

    ``profile`` says which (a name of `PROFILES`, or a `Profile` of your own); ``lenient`` is for unknown ones.
    ``base_url`` and ``api_key`` fall back to OPENAI_BASE_URL and OPENAI_API_KEY; with an address and no key anywhere a
    placeholder is sent, since local servers need none. ``client`` is an `openai.AsyncOpenAI` (or a subclass) of your
    own, which stays yours to close. ``temperature``, ``max_output_tokens`` and ``reasoning_effort`` are passed on.
    ``timeout`` is how many seconds the provider may be silent. ``declares`` is what you know of the model, for those
    who ask what an agent can do.

    The provider remembers nothing: every turn sends the whole conversation, so `TurnDone.ref` is always None.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        profile: str | Profile = "openai",
        client: "openai.AsyncOpenAI | None" = None,
        temperature: float | None = None,
        max_output_tokens: int | None = None,
        reasoning_effort: str | None = None,
        timeout: float = 60.0,
        declares: Abilities | None = None,
    ) -> None:
        url = str(client.base_url) if client is not None else base_url or os.environ.get("OPENAI_BASE_URL")
        host = host_of(url or _DEFAULT_URL)
        super().__init__(model, f"openai-chat:{host}:{model}", host, declares)
        self._settings = Settings(
            model=model,
            origin=self.origin,
            profile=profile_of(profile),
            temperature=temperature,
            max_output_tokens=max_output_tokens,
            reasoning_effort=reasoning_effort,
        )
        self._transport = ChatTransport(
            api_of(model),
            model=model,
            path="/chat/completions",
            base_url=base_url,
            api_key=api_key,
            client=client,
            timeout=timeout,
        )
        self._transport.lists_models = self._settings.profile.lists_models

    @property
    def vendor(self) -> str:
        """Whose handles of files it can use: as in `Usage.provider`."""
        return self._settings.profile.name

    @property
    def abilities(self) -> Abilities:
        """What is known of the model: what this kind of server is never sent, and what is declared."""
        profile = self._settings.profile
        known = Abilities(
            reasoning=True if self._settings.reasoning_effort not in (None, "none") else None,
            image=None if profile.images else False,
            audio=None if profile.audio else False,
            video=False,
            pdf=None if profile.documents else False,
            file=None if profile.documents else False,
        )
        return known.updated(self._declares)

    def tells_output(self, output: OutputSpec, *, tools: bool) -> bool:
        """Whether this kind of server can be told this form of an answer."""
        takes = self._settings.profile.output_schema
        return (takes == "always" or (takes == "without_tools" and not tools)) and bool(strict_schema(output.schema))

    def stream(self, request: TurnRequest) -> Batches:
        """Run one turn; a batch is what one network read brought. See `agui_gate.adapter.Adapter.stream`."""
        return stream_named(request, lambda named: run_turn(self._begin, named, ChatLadder(), self._sleep))

    async def _begin(self, request: TurnRequest) -> Opened:
        """Send one request. Raises `Failure`."""
        settings = self._settings
        profile = settings.profile
        machine = ChatMachine(
            settings.model, self._transport.api, self._new_call_id, provider=profile.name, says_end=profile.says_end
        )
        name = history_name(request, settings) if request.large else ""
        return Opened(await sent(self._transport, request, lambda: body(request, settings), name), machine)

    def _new_call_id(self) -> str:
        """Makes an id for a call that came without one, of the kind that the server accepts."""
        if self._settings.profile.call_ids == "nine":
            return "".join(secrets.choice(_ALPHANUMERIC) for _ in range(9))
        return f"call_{secrets.token_hex(16)}"


_ALPHANUMERIC = string.ascii_letters + string.digits
