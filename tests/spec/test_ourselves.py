"""Our own server under `agui-gate check`: no MUST is broken, and all that we claim to keep was tried."""

from typing import Any, Literal

import pytest

from agui_gate.config.settings import Settings
from agui_gate_adapters.testkit.check import SENTENCES, check
from tests.conforming import DEPARTURES, conforms
from tests.product.kit import product
from tests.product.shop import SEARCH, Shop, call, refund, say

pytestmark = pytest.mark.anyio

LONG = [f"number {n} " for n in range(300)]
DONE = {"output": [say("Done.")], "repeat": True}


def turn(what: str, *items: Any) -> dict[str, Any]:
    """What the model does each time that it is told one of the check's sentences."""
    return {"when": {"user": SENTENCES[what]}, "output": list(items), "repeat": True}


SCRIPT = [
    *({**DONE, "when": {"has_output_for": name}} for name in ("search", "refund", "agui_check_colour")),
    turn("tool", SEARCH),
    turn("frontend", call("agui_check_colour", colour="blue")),
    turn("interrupt", refund("A1"), refund("A2")),
    turn("long", {"type": "message", "deltas": LONG}),
    DONE,
]

TRIED = {
    *("GEN-1", "EVT-1", "EVT-2", "EVT-4", "EVT-6", "IN-1", "IN-3", "IN-4", "IN-5", "IN-7", "IN-8", "IN-9", "PROC-1"),
    *("PROC-2", "VER-1", "VER-3", "VER-4", "CAP-1", "STR-1", "INT-1", "INT-2", "INT-4", "INT-5", "INT-8", "TR-1"),
    *("SSE-1", "SSE-2", "SSE-3", "SSE-5", "LIFE-1", "LIFE-2", "LIFE-3", "LIFE-6", "LIFE-7", "LIFE-8", "USE-1", "USE-2"),
    *("USE-3", "TEXT-1", "TOOL-2", "TOOL-3", "TOOL-4", "TOOL-5", "REAS-4"),
}


@pytest.mark.parametrize("dialect", ["auto", "compat", "1.0"])
@conforms("IN-3", "IN-4", "IN-5", "IN-8", "CAP-1", "SSE-3", "SSE-5", "INT-4", "INT-5", "TOOL-4", "TOOL-5")
async def test_no_rule_is_broken(dialect: Literal["auto", "compat", "1.0"]) -> None:
    async with product(Shop().tools, SCRIPT, settings=Settings(dialect=dialect)) as p:
        report = await check(f"{p.url}/agents/support", seconds=30.0)
        p.assert_clean()
    assert [str(one.finding) for line in report.lines if line.id not in DEPARTURES for one in line.seen] == []
    assert report.broken == []
    assert {line.id for line in report.lines if line.result == "not tried"} & TRIED == set()
    assert (report.version, report.stopped) == ("1.0", "")
