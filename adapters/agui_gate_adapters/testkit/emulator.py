"""The emulator: one object that checks, decides, remembers and keeps a journal. No I/O; the routes drive it.

    emulator = Emulator(script=[{"output": [{"type": "message", "text": "Hello"}]}])
    async with serve(emulator) as base_url:
        ...
    assert emulator.refusals == []

What the model says comes from the script, or from the demo model when there is none. What the provider accepts is
decided before either of them is asked. One script serves all APIs: whichever is asked plays the next turn.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from agui_gate_adapters.testkit.anthropic import AnthropicProfile, AnthropicProfileName, Messages
from agui_gate_adapters.testkit.api import Api, Create, Handle, routes_of
from agui_gate_adapters.testkit.api import Request as Asking
from agui_gate_adapters.testkit.chat import CHAT_PROFILES, Chat, ChatProfile, ChatProfileName
from agui_gate_adapters.testkit.delivery import AnswerResponse
from agui_gate_adapters.testkit.faults import Refused, Reply, Violation
from agui_gate_adapters.testkit.host import Host
from agui_gate_adapters.testkit.journal import Clock
from agui_gate_adapters.testkit.openai.violations import no_such_model, no_such_route
from agui_gate_adapters.testkit.responses.api import Responses
from agui_gate_adapters.testkit.responses.exchange import Exchange
from agui_gate_adapters.testkit.responses.profiles import PROFILES, Profile, ProfileName
from agui_gate_adapters.testkit.responses.routes import ROUTES
from agui_gate_adapters.testkit.responses.state import ProviderState
from agui_gate_adapters.testkit.script import Chunking, ScriptError
from agui_gate_adapters.testkit.wire import Json, decode, encode

# The HTTP routes: the creating path of every API, `/v1/responses` and its kin, `/v1/models`, and the control routes.
#
# Thin: every rule is elsewhere.

Handler = Callable[[Request], Awaitable[Any]]


def create_app(host: Host, responses: Responses, apis: Sequence[Api]) -> ASGIApp:
    """Return the ASGI application that serves these APIs of one host."""
    creating = [
        Route(path, _guarded(host, api, _creating(create)), methods=["POST"])
        for api in apis
        for path, create in api.paths.items()
    ]
    found = next((api for api in apis if isinstance(api, Messages)), None)
    models = _model_routes(host, responses, found)
    exposed = [
        Route(path, _guarded(host, api, _handling(handle)), methods=[method])
        for api in apis
        for (method, path), handle in routes_of(api).items()
    ]
    return Starlette(routes=[*creating, *exposed, *models, *_responses_routes(host, responses), *_control_routes(host)])


def _guarded(host: Host, api: Api, handler: Handler) -> Handler:
    """Authorizes, runs and sends, and turns a `Refused` into its recorded HTTP answer."""

    async def endpoint(request: Request) -> Any:
        try:
            api.authorize(request.headers)
            answer = await handler(request)
        except Refused as refused:
            answer = host.refuse(api, request.method, request.url.path, refused.violation)
        if isinstance(answer, Reply):
            return _plain(answer)
        return answer if isinstance(answer, Response) else AnswerResponse(host, answer)

    return endpoint


def _creating(create: Create) -> Handler:
    async def handler(request: Request) -> Any:
        return create(await request.body(), request.headers)

    return handler


def _handling(handle: Handle) -> Handler:
    async def handler(request: Request) -> Any:
        ids = dict(request.path_params)
        body = await request.body()
        return handle(Asking(request.method, request.url.path, ids, request.headers, request.query_params, body))

    return handler


def _plain(reply: Reply) -> Response:
    return Response(reply.body, reply.status, dict(reply.headers), reply.media_type)


def _json(value: object, status: int = 200) -> Reply:
    return Reply(status, encode(value))


# -- responses ---------------------------------------------------------------------------------------------------


def _responses_routes(host: Host, responses: Responses) -> list[Route]:
    def route(path: str, method: str, handler: Callable[[Responses, Request], Awaitable[Any]]) -> Route:
        async def bound(request: Request) -> Any:
            return await handler(responses, request)

        return Route(f"/v1{path}", _guarded(host, responses, bound), methods=[method])

    return [route(path, method, handler) for path, method, handler in ROUTES]


# -- models ------------------------------------------------------------------------------------------------------


def _model_routes(host: Host, responses: Responses, messages: Messages | None) -> list[Route]:
    """Serve `/v1/models` in the shape of the API that the client speaks: a version header makes it Anthropic's."""

    async def listed(_request: Request) -> Reply:
        names = sorted(host.models or ("gpt-5.4-mini",))
        return _json({"object": "list", "data": [_model_view(name) for name in names]})

    async def one(request: Request) -> Reply:
        name = request.path_params["id"]
        if not responses.profile.describes_models:
            raise Refused(no_such_route("GET", request.url.path))
        if host.models is not None and name not in host.models:
            raise Refused(no_such_model(name))
        return _json(_model_view(name))

    def route(path: str, handler: Handler, view: Callable[[Messages, Request], Json]) -> Route:
        async def anthropic(request: Request) -> Reply:
            assert messages is not None
            return _json(view(messages, request))

        ours = _guarded(host, responses, handler)
        theirs = ours if messages is None else _guarded(host, messages, anthropic)

        async def endpoint(request: Request) -> Any:
            return await (theirs if "anthropic-version" in request.headers else ours)(request)

        return Route(f"/v1/models{path}", endpoint, methods=["GET"])

    return [
        route("", listed, lambda api, _request: api.models()),
        route("/{id}", one, lambda api, request: api.model(request.path_params["id"])),
    ]


def _model_view(name: str) -> Json:
    return {"id": name, "object": "model", "created": 1_700_000_000, "owned_by": "emulator"}


# -- control -----------------------------------------------------------------------------------------------------


def _control_routes(host: Host) -> list[Route]:
    async def journal(_request: Request) -> Response:
        entries = host.journal.entries
        refused = sum(not entry.accepted for entry in entries)
        return _plain(_json({"entries": entries, "accepted": len(entries) - refused, "refused": refused}))

    async def reset(_request: Request) -> Response:
        host.reset()
        return _plain(_json({"ok": True}))

    async def script(request: Request) -> Response:
        try:
            host.load(await request.body())
        except ScriptError as error:
            violation = Violation("script", 400, str(error), None, "emulator_script_invalid")
            return _plain(_json(violation.body, 400))
        return _plain(_json({"turns": host.remaining_turns}))

    async def clock(request: Request) -> Response:
        try:
            seconds = float(decode(await request.body())["advance"])
        except (msgspec.DecodeError, KeyError, TypeError, ValueError):
            violation = Violation("clock", 400, 'Send {"advance": seconds}.', "advance", "invalid_value")
            return _plain(_json(violation.body, 400))
        host.memory.clock.advance(seconds)
        return _plain(_json({"now": host.memory.clock.now()}))

    return [
        Route("/emulator/journal", journal, methods=["GET"]),
        Route("/emulator/reset", reset, methods=["POST"]),
        Route("/emulator/script", script, methods=["PUT"]),
        Route("/emulator/clock", clock, methods=["POST"]),
    ]


class Emulator(Host):
    """A strict stand-in for a model provider.

    `script`: anything `load_script` takes; None lets the demo model answer. `profile`: a name or a `Profile` of the
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
        """Makes all APIs forget what they remember."""
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
