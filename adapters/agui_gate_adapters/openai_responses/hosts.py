"""The hosts of the Responses API and their differences: OpenAI, Azure OpenAI, Azure AI Foundry.

The Azure hosts speak the plain v1 API, so that nothing of the SDK's older Azure client is needed. A key or an Entra
token travels as the bearer. They never fall back to OPENAI_API_KEY, which would send one vendor's key to another.
"""

import inspect
import os
import re
from collections.abc import Awaitable, Callable

import anyio.to_thread
import msgspec

from agui_gate.errors import ConfigurationError, ProviderAuth
from agui_gate_adapters.common.failures import Api, Failure, log
from agui_gate_adapters.common.key_files import find_key_file
from agui_gate_adapters.common.openai_transport import ApiKey

from .failures import API

TokenProvider = Callable[[], str | Awaitable[str]]
"""Returns an Entra token; `azure.identity.get_bearer_token_provider` (also of `azure.identity.aio`) makes one."""

AZURE_SCOPE = "https://cognitiveservices.azure.com/.default"
FOUNDRY_SCOPE = "https://ai.azure.com/.default"

_RESOURCE = re.compile(r"[A-Za-z0-9-]+")
_OPERATION = re.compile(r"/deployments/[^/]+(/.*)?$|/(responses|chat/completions)$")
"""How addresses end that name an operation, as the portals show them."""

KEY = "AZURE_OPENAI_API_KEY"
ENDPOINT = "AZURE_OPENAI_ENDPOINT"
PROJECT_ENDPOINT = "AZURE_AI_PROJECT_ENDPOINT"

OUTPUT_WINDOW_MS = 570_000
"""Foundry takes outputs for ten minutes; half a minute is left for clocks and for the way."""


_KEEPING = re.compile(
    r"(?:[a-z0-9.-]+\.)?(?:api\.openai\.com|openai\.azure\.(?:com|us|cn)|cognitiveservices\.azure\.(?:com|us|cn)"
    r"|services\.ai\.azure\.com)",
    re.IGNORECASE,
)
"""Hosts that are known to keep responses."""


def keeps_state(address: str) -> bool:
    """Whether who answers at this ``host[:port]`` is known to keep responses, so that they can be continued."""
    return _KEEPING.fullmatch(address.partition(":")[0]) is not None


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """``base_url`` is where requests go if nothing else is said; ``api`` names the key in what people are told."""

    api: Api
    base_url: str = "https://api.openai.com/v1"
    newest_sealed_only: bool = False
    """It refuses sealed reasoning of more than one turn."""
    output_window_ms: int | None = None
    """How long it waits for the outputs of a response's calls."""
    knows_models: bool = True
    """Its list of models has the names that requests give them. (On Azure those are names of deployments.)"""


OPENAI = Host(api=API)
AZURE = Host(api=Api(API.name, KEY, API.known, ENDPOINT), newest_sealed_only=True, knows_models=False)
FOUNDRY = Host(
    api=Api(API.name, KEY, API.known, PROJECT_ENDPOINT),
    newest_sealed_only=True,
    output_window_ms=OUTPUT_WINDOW_MS,
    knows_models=False,
)


def with_tokens(host: Host, token_provider: TokenProvider | None) -> Host:
    """Returns the host with messages for people who use tokens instead of a key."""
    if token_provider is None:
        return host
    return msgspec.structs.replace(host, api=msgspec.structs.replace(host.api, key="token_provider"))


def azure_url(endpoint: str | None, resource: str | None) -> str:
    """Returns the v1 address of a resource. Raises `ConfigurationError`."""
    if endpoint and resource:
        raise ConfigurationError("azure: give endpoint or resource, not both")
    if resource:
        if not _RESOURCE.fullmatch(resource):
            raise ConfigurationError("azure: resource is a name, such as my-resource; an address is given as endpoint")
        return f"https://{resource}.openai.azure.com/openai/v1"
    found = endpoint or os.environ.get(ENDPOINT)
    if not found:
        raise ConfigurationError(f"azure: set {ENDPOINT}, or give endpoint (https://RESOURCE.openai.azure.com)")
    return _v1(found)


def foundry_url(endpoint: str | None, project: str | None) -> str:
    """Returns the v1 address of a project. Raises `ConfigurationError`."""
    found = endpoint or os.environ.get(PROJECT_ENDPOINT)
    if not found:
        example = "https://RESOURCE.services.ai.azure.com/api/projects/PROJECT"
        raise ConfigurationError(f"foundry: set {PROJECT_ENDPOINT}, or give endpoint ({example})")
    if project and "/api/projects/" not in found:
        found = f"{found.rstrip('/')}/api/projects/{project}"
    return _v1(found)


def check_mode(mode: str, *, conversations: bool) -> None:
    """Raise `ConfigurationError` for conversations on a resource that has none."""
    if mode == "conversation" and not conversations:
        raise ConfigurationError(
            "Azure OpenAI resources have no conversations: use mode='chain' (or conversations=True if yours has them; "
            "Foundry projects have: OpenAIResponses.foundry)"
        )


def key_of(api_key: str | None, token_provider: TokenProvider | None, scope: str) -> ApiKey:
    """Returns the key, or a function of tokens. Raises `ConfigurationError` if neither or both were given, or its
    file can't be read.
    """
    if api_key and token_provider:
        raise ConfigurationError("azure: give api_key or token_provider, not both")
    if token_provider is not None and not callable(token_provider):
        raise ConfigurationError("azure: token_provider is a callable that returns a token; a token itself expires")
    if token_provider is not None:
        return _tokens(token_provider)
    key = api_key or find_key_file(KEY) or os.environ.get(KEY)
    if not key:
        raise ConfigurationError(
            f"azure: set {KEY}, give api_key, or give token_provider for the scope {scope} "
            "(such as azure.identity.get_bearer_token_provider(DefaultAzureCredential(), scope))"
        )
    return key


def _v1(endpoint: str) -> str:
    """Returns the v1 address for any address of a resource or project. Raises `ConfigurationError`."""
    if not endpoint.startswith(("https://", "http://")):
        raise ConfigurationError("azure: an endpoint begins with https://")
    url = _OPERATION.sub("", endpoint.partition("?")[0].rstrip("/"))
    return url if url.endswith("/v1") else f"{url.removesuffix('/openai')}/openai/v1"


def _tokens(provider: TokenProvider) -> Callable[[], Awaitable[str]]:
    """Returns ``provider`` as the SDK requires it. A sync one may use the network, so it runs in a thread."""

    async def token() -> str:
        try:
            found = provider() if inspect.iscoroutinefunction(provider) else await anyio.to_thread.run_sync(provider)
            return found if isinstance(found, str) else await found
        except Exception as error:
            log.debug("token_provider failed", exc_info=error)
            message = f"There is no Entra token: token_provider failed ({type(error).__name__})."
            raise Failure(ProviderAuth(message)) from error

    return token
