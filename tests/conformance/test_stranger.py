"""A provider with an API of its own, not even of events: the kit is for it too."""

from typing import Any

import pytest

from agui_gate_adapters.testkit import Emulator
from agui_gate_adapters.testkit.conformance import AdapterConformance, Failures, Tools, Turns
from agui_gate_adapters.testkit.conformance.ground import say, turn
from tests.requirements import shows

from .brook_adapter import Brook
from .brook_api import BrookApi, BrookObjects


@shows("B24")
class TestBrook(AdapterConformance):
    def make_adapter(self, base_url: str) -> Brook:
        return Brook("rill-1", base_url=base_url, api_key="k")

    def emulator(self, script: Any) -> Emulator:
        emulator = Emulator(script)
        emulator.register(BrookApi(emulator))
        return emulator

    async def test_a_failing_scenario_says_what_is_behind_it(self) -> None:
        """The author reads why a run failed, not only that a word is missing."""
        fault = {"kind": "status", "status": 403}
        with pytest.raises(AssertionError) as caught:
            async with self.ground([], [turn(say("Hello."), fault=fault)]) as ground:
                assert (await ground.client().say("hello")).text == "Hello."
        (note,) = caught.value.__notes__
        assert note.startswith("a run ended with provider_auth: ")


class TestBrookOfObjects(Turns, Tools, Failures):
    """Arguments are an object on its wire, and it doesn't say why an answer ended: the suite asks for neither."""

    object_arguments = True
    finish_reason = False

    def make_adapter(self, base_url: str) -> Brook:
        return Brook("rill-1", base_url=base_url, api_key="k")

    def emulator(self, script: Any) -> Emulator:
        emulator = Emulator(script)
        emulator.register(BrookObjects(emulator))
        return emulator
