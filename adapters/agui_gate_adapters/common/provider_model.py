"""`ProviderModel`: the part of an adapter that is the same for every provider's API."""

from collections.abc import Awaitable, Callable, Sequence

import anyio

from agui_gate.adapter import Abilities, Finding
from agui_gate_adapters.common import doctor
from agui_gate_adapters.common.transport import Transport


class ProviderModel:
    """A model behind a provider's API.

    ``origin`` names API, host and model: what makes call ids and sealed reasoning usable again. ``model`` is as the
    API calls it.
    """

    _transport: Transport

    def __init__(self, model: str, origin: str, host: str, declares: Abilities | None) -> None:
        self.model, self.origin = model, origin
        self._host, self._declares = host, declares
        self._sleep: Callable[[float], Awaitable[None]] = anyio.sleep

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.origin}>"

    async def check(self) -> Sequence[Finding]:
        """Whether package, key, address and model work; within 10 s, never raises."""
        return [await doctor.check(self._transport, self.model, self._host)]

    async def check_setup(self) -> Sequence[Finding]:
        """Finds whether package or key is missing, without the network."""
        return await doctor.check_setup(self._transport, self.model, self._host)

    async def aclose(self) -> None:
        """Close the connections that this adapter opened. Safe to call twice."""
        await self._transport.aclose()
