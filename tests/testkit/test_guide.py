"""The adapter author's guide: its code is code that is tested, and its links lead somewhere."""

import re
from pathlib import Path
from typing import Any

import pytest

from agui_gate_adapters.testkit import Emulator

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "adapters/README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)


def test_the_adapter_that_it_shows_is_the_one_that_passes_the_suite() -> None:
    assert BLOCKS[0] == (ROOT / "examples/adapter_in_an_afternoon.py").read_text()


async def test_the_test_that_it_shows_passes(emulator: Emulator, provider_url: str, agui_client: Any) -> None:
    space: dict[str, Any] = {}
    exec(compile(BLOCKS[-1], "adapters/README.md", "exec"), space)
    await space["test_a_refund_waits_for_a_person"](emulator, provider_url, agui_client)


def test_its_links_lead_somewhere() -> None:
    anchors = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in _titles()}
    for target in re.findall(r"\]\(([^)]+)\)", GUIDE):
        path, _, anchor = target.partition("#")
        assert (ROOT / "adapters" / path).exists() if path else anchor in anchors, target


def _titles() -> list[str]:
    prose = re.sub(r"```.*?```", "", GUIDE, flags=re.DOTALL)
    return re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
