"""What the user does in a component, as A2UI's own middleware reports it from a real client (T18)."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.product.kit import TIMEOUT, product
from tests.product.shop import Shop, say, users
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, pytest.mark.interop]

SCRIPT = Path(__file__).parent / "a2ui.mjs"


@shows("T18")
async def test_clicks_in_a_component_are_answered() -> None:
    turns = [{"output": [say(text)]} for text in ("Hello.", "Size 42.", "Bought.", "Bye.")]
    async with product(Shop().tools, turns) as p:
        node = await asyncio.create_subprocess_exec(
            "node", str(SCRIPT), f"{p.url}/", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        async with asyncio.timeout(3 * TIMEOUT):
            out, problems = await node.communicate()
        assert node.returncode == 0, problems.decode()
        seen = json.loads(out)
        assert seen["errors"] == []
        said = [message["content"] for message in seen["messages"] if message["role"] == "assistant"]
        assert said == ["Hello.", "Size 42.", "Bought.", "Bye."]
        told = [users(body)[-1] for body in p.inputs()]
        assert told[0] == "hello"
        assert all(word in text for word, text in zip(("choose", "buy"), told[1:3], strict=True))
        assert told[3] == "bye"
        p.assert_clean()
