"""The pytest plugin, there as soon as agui-gate is installed: fixtures for tests of agents and of adapters.

| fixture | what |
|---|---|
| `emulator` | a strict `Emulator` without a script (the demo's scenes answer); `emulator.load([...])` gives it one |
| `provider_url` | the base URL of that emulator, served on loopback for the test |
| `agui_client` | `await agui_client(agent_or_app)`: a scripted `AGUIClient` of a served agent |

Nothing is imported before a fixture is asked for: pytest loads this wherever agui-gate is installed. A test that uses
`provider_url` passes only if the provider refused nothing, unless it empties `emulator.journal` itself.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from agui_gate_adapters.testkit.agui import AGUIClient
    from agui_gate_adapters.testkit.emulator import Emulator

pytest.register_assert_rewrite("agui_gate_adapters.testkit.conformance", "agui_gate_adapters.testkit.agui")


@pytest.fixture
def emulator() -> "Emulator":
    """Returns an emulator without a script."""
    from agui_gate_adapters.testkit.emulator import Emulator

    return Emulator()


@pytest.fixture
async def provider_url(emulator: "Emulator") -> AsyncIterator[str]:
    """Serves the emulator at this address; the test fails if it had to refuse a request."""
    from agui_gate_adapters.testkit.server import serve

    async with serve(emulator) as base_url:
        yield base_url
    refused = [(entry.rule, entry.error) for entry in emulator.refusals]
    assert not refused, f"the provider refused {refused}"


@pytest.fixture
async def agui_client() -> AsyncIterator[Callable[..., Awaitable["AGUIClient"]]]:
    """Serve an agent (or an application) and talk to it; everything is closed after the test."""
    from agui_gate import Agent, create_app
    from agui_gate_adapters.testkit.agui import AGUIClient, connecting, serving

    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(connecting())

        async def client_of(served: Any, **more: Any) -> AGUIClient:
            app = create_app(served, store="memory://") if isinstance(served, Agent) else served
            return AGUIClient(http, await stack.enter_async_context(serving(app)), **more)

        yield client_of
