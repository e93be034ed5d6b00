"""Checks a provider with one request, and says what to do about the answer.

The question is about the model, as it costs nothing. Many servers that speak an API well have no such route (llama.cpp,
proxies, test servers). An answer that only says so is no finding about runs: then the check can't tell, and says what
can. The vendors' own hosts have the route, so there a missing one means a wrong address.
"""

from typing import Any, Protocol, runtime_checkable

import anyio

from agui_gate.adapter import Finding
from agui_gate.errors import ProviderAuth, ProviderError, ProviderRejected, RateLimited

from .failures import Api, Failure

LIMIT_SECONDS = 10.0

_DESCRIBING = frozenset({"api.openai.com", "api.anthropic.com"})
_NO_ROUTE = frozenset({400, 404, 405, 501})


class Asker(Protocol):
    """An object that can ask a provider about a model: any `Transport` or `Http`, or one of your own."""

    @property
    def api(self) -> Api:
        """The API's name, and where its key and address come from."""
        ...

    async def get_model(self) -> Any:
        """Returns the provider's description of the model, an object with an ``id``. Raises `Failure`."""
        ...


@runtime_checkable
class Maker(Protocol):
    """An object that makes a provider's client: any `Transport` or `Http`."""

    @property
    def api(self) -> Api:
        """The API's name, and where its key and address come from."""
        ...

    async def client(self) -> Any:
        """Returns the client. Raises `Failure` when the package or the key is missing."""
        ...


async def check(asker: Asker, model: str, host: str) -> Finding:
    """Whether package, key, address and model work. Never raises.

    The provider's time doesn't begin before the client is made: that loads a package, which may take longer.
    """
    what = f"model {model} at {host}"
    address = _ADDRESS.format(asker.api.address or asker.api.key.replace("API_KEY", "BASE_URL"))
    try:
        if isinstance(asker, Maker):
            await asker.client()
        with anyio.fail_after(LIMIT_SECONDS):
            known = await asker.get_model()
    except TimeoutError:
        fix = f"If it answered before, the provider hangs: docs/runbook/thread.md. Otherwise: {address}"
        return Finding(what, False, f"no answer within {LIMIT_SECONDS:.0f} s", fix)
    except Failure as failure:
        if _says_nothing(failure, model) and not _describes_models(host):
            return _unsure(what, f"({failure.status})", address)
        fix = _fix(failure.error, model, asker.api.key) or address
        return Finding(what, False, failure.error.message, fix)
    except Exception as error:
        return Finding(what, False, f"the check failed ({type(error).__name__})", address)
    if isinstance(known, dict) and "id" in known:
        return Finding(what, True, "answers, and knows the model")
    if _describes_models(host):
        return Finding(what, False, "the answer is not from a model API (a web page, perhaps)", address)
    return _unsure(what, "(its answer is something else, a web page perhaps)", address)


async def check_setup(maker: Maker, model: str, host: str) -> list[Finding]:
    """Finds what is missing before a request: the package, the key. Uses no network, and never raises."""
    what = f"model {model} at {host}"
    try:
        await maker.client()
    except Failure as failure:
        return [Finding(what, False, failure.error.message, _fix(failure.error, model, maker.api.key))]
    except Exception as error:
        return [
            Finding(what, False, f"its client can't be made ({type(error).__name__})", "`agui-gate doctor` has more.")
        ]
    return []


def _describes_models(host: str) -> bool:
    return host in _DESCRIBING or host.endswith(".azure.com")


def _says_nothing(failure: Failure, model: str) -> bool:
    """Whether there is no such route, which says nothing about the others."""
    return failure.status in _NO_ROUTE and repr(model) not in failure.error.message


def _unsure(what: str, why: str, address: str) -> Finding:
    """Returns a finding that leaves open whether runs work."""
    return Finding(what, None, f"can't tell: this server does not describe its models {why}", f"{_IF} {address}")


_IF = "If runs fail:"
_ADDRESS = "Check base_url ({}): it must be the address of the API (usually up to /v1), and reachable from here."


def _fix(error: ProviderError, model: str, key: str) -> str:
    """Returns what to change; "" when it is the address."""
    match error:
        case ProviderAuth() if not key.isupper():
            return f"Check {key}: who it speaks for needs the right to use the model."
        case ProviderAuth():
            return f"Set {key} (or api_key) to a key of this provider that may use the model."
        case RateLimited():
            return "Wait a little, or raise the quota of the account."
        case ProviderRejected() if repr(model) in error.message:
            return "Check the model's name, and that this key may use it."
        case ProviderRejected() if "pip install" in error.message:
            return error.message.partition(": ")[2].removesuffix(".")
        case _:
            return ""
