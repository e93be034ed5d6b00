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
    "IN-2": "The server keeps the thread itself and is the authority for what it said, called and ran. From a client's "
    "history it takes what only the client can know. So no client can change what was approved or done.",
    "TOOL-6": "`pendingToolCallIds` is sent where the deployment says that all clients are of 1.0, and is right there. "
    "Clients of 0.x refuse it, also those behind a runtime that declares 1.0. All others make the list themselves.",
}
"""Rules that we knowingly don't keep, or not everywhere, with the reason."""

NOT_BUILT = {
    "STR-2": "No event is sent in its chunk form.",
    "LIFE-9": "No steps are sent.",
    "PB-1": "Events are sent as SSE alone.",
    "TR-2": "There is no other channel than HTTP.",
    "REAS-5": "A sealed value is sent without its type, which 1.0 does not know.",
}
"""Rules about what this server does not do, so that they can't be broken."""
