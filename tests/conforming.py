"""Which rules of the AG-UI specification our tests show, and which ones we don't keep, and why.

A test says which rules (`agui_gate_adapters.testkit.spec.RULES`, docs/spec.md) it is evidence for:

    @conforms("INT-5")
    async def test_silence_decides_nothing(…): ...

For a whole module: ``pytestmark = [pytest.mark.anyio, conforms("INT-5")]``. An unknown id fails when the module is
imported. `tests/test_conforming.py` holds the rest: a rule without a test is a departure or is not built.
"""

import pytest

from agui_gate_adapters.testkit.spec import RULES


def conforms(*ids: str) -> pytest.MarkDecorator:
    """Mark a test (or, in `pytestmark`, a module) as evidence. Raises `ValueError` for an unknown id."""
    unknown = [i for i in ids if i not in RULES]
    if unknown or not ids:
        raise ValueError(f"no such rule: {', '.join(unknown) or 'none named'}")
    return pytest.mark.conforms(*ids)


DEPARTURES = {
    "IN-2": "The server stores the thread, and its journal is authoritative for what was said, called and run. From a "
    "client's history it takes only what the client alone can know. So no client can change what was approved or "
    "executed.",
    "TOOL-6": "`pendingToolCallIds` is sent only with `AGUI_GATE_DIALECT=1.0`, where all clients support it. Clients "
    "of 0.x fail on it, also behind a runtime that declares 1.0. Other clients derive the list from the stream.",
}
"""Rules that we knowingly don't keep, or not everywhere, with the reason."""

NOT_BUILT = {
    "STR-2": "The chunk form is not used.",
    "LIFE-9": "No steps are sent.",
    "PB-1": "Events are sent only as SSE.",
    "TR-2": "HTTP is the only channel.",
    "REAS-5": "Encrypted values are sent without a type, which 1.0 does not know.",
}
"""Rules about what this server does not do, so that they can't be broken."""
