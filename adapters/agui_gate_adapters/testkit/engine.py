"""The emulator: one object that checks, decides, remembers and keeps a journal. No I/O; the routes drive it.

    emulator = Emulator(script=[{"output": [{"type": "message", "text": "Hello"}]}])
    async with serve(emulator) as base_url:
        ...
    assert emulator.refusals == []

What the model says comes from the script, or from the demo brain when there is none. What the provider accepts is
decided before either of them is asked. One script serves all APIs: whichever is asked plays the next turn.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec
from starlette.types import ASGIApp

from agui_gate_adapters.testkit.anthropic import AnthropicProfile, AnthropicProfileName, Messages
from agui_gate_adapters.testkit.api import Api, routes_of
from agui_gate_adapters.testkit.chat import CHAT_PROFILES, Chat, ChatProfile, ChatProfileName
from agui_gate_adapters.testkit.faults import Reply
from agui_gate_adapters.testkit.host import Host
from agui_gate_adapters.testkit.memory import Clock
from agui_gate_adapters.testkit.responses.api import Responses
from agui_gate_adapters.testkit.responses.exchange import Exchange
from agui_gate_adapters.testkit.responses.profiles import PROFILES, Profile, ProfileName
from agui_gate_adapters.testkit.responses.state import ProviderState
from agui_gate_adapters.testkit.routes import create_app
from agui_gate_adapters.testkit.script import Chunking

__all__ = ["Emulator"]


class Emulator(Host):
    """A strict stand-in for a model provider.

    `script`: anything `load_script` takes; None lets the demo brain answer. `profile`: a name or a `Profile` of the
    Responses API; `chat`: a name or a `ChatProfile` of Chat Completions; `anthropic`: a name or an `AnthropicProfile`
    of the Messages API. `zdr`: zero data retention. `reject_call_id_replay` and `strict_reasoning_groups`: the two
    switches that are stricter than the real Responses API; both default to what the profile says. `api_key`: None
    accepts any key but insists on one. `models`: None accepts any. `pace`: seconds before each streamed delta.
    `chunk`: how bodies are cut unless the script says otherwise. Not thread-safe: one event loop, one emulator.
    """

    def __init__(
        self,
        script: Any = None,
        *,
        profile: ProfileName | Profile = "openai",
        chat: ChatProfileName | ChatProfile = "openai",
        anthropic: AnthropicProfileName | AnthropicProfile = "anthropic",
        zdr: bool = False,
        reject_call_id_replay: bool | None = None,
        strict_reasoning_groups: bool | None = None,
        api_key: str | None = None,
        models: frozenset[str] | None = None,
        pace: float = 0.0,
        chunk: Chunking = "event",
        seed: int = 0,
        clock: Clock | None = None,
    ) -> None:
        state = ProviderState(seed=seed, clock=clock)
        super().__init__(state, api_key=api_key, models=models, pace=pace, chunk=chunk, seed=seed)
        base = PROFILES[profile] if isinstance(profile, str) else profile
        switches = {
            "reject_call_id_replay": reject_call_id_replay,
            "reasoning_groups_unstored": strict_reasoning_groups,
        }
        chosen = {name: value for name, value in switches.items() if value is not None}
        self.responses = Responses(self, state, msgspec.structs.replace(base, zdr=zdr or base.zdr, **chosen))
        self.chat = Chat(self, CHAT_PROFILES[chat] if isinstance(chat, str) else chat)
        self.messages = Messages(self, anthropic)
        self.apis: list[Api] = [self.responses, self.chat, self.messages]
        if script is not None:
            self.load(script)

    @property
    def state(self) -> ProviderState:
        """What the Responses API remembers; the clock and the ids are everybody's."""
        return self.responses.state

    @property
    def profile(self) -> Profile:
        """The strictness of the Responses API."""
        return self.responses.profile

    @profile.setter
    def profile(self, profile: Profile) -> None:
        self.responses.profile = profile

    @cached_property
    def app(self) -> ASGIApp:
        """The ASGI application of this emulator; it serves the APIs that are registered when it is first asked for."""
        return create_app(self, self.responses, self.apis)

    def register(self, api: Api) -> None:
        """Add an API, or replace the one that serves the same paths."""
        mine = {*api.paths, *routes_of(api)}
        self.apis = [known for known in self.apis if not mine & {*known.paths, *routes_of(known)}] + [api]

    def forget(self) -> None:
        """Lose all that any API remembers."""
        for api in self.apis:
            if callable(forget := getattr(api, "forget", None)):
                forget()

    def create(self, raw: bytes) -> Exchange | Reply:
        """Handle one body of `POST /v1/responses` without HTTP."""
        return self.responses.create(raw)

    def reset(self) -> None:
        """Forget everything and empty the journal; the script stays where it is."""
        super().reset()
        self.forget()
