"""The guide's provider with conversation ids in its paths. A second turn sends what is new, a room that is gone all."""

from typing import Any

from agui_gate.testing import AdapterConformance
from agui_gate_adapters.testkit import Emulator
from agui_gate_adapters.testkit.conformance.ground import say, turn
from examples.adapter_with_rooms import Rooms

from .rooms_api import RoomsApi


def texts(body: dict[str, Any] | None) -> list[str]:
    """What a request sends to its room."""
    return [message["text"] for message in (body or {})["say"]]


class TestRooms(AdapterConformance):
    continues = True
    reasons = False

    def make_adapter(self, base_url: str) -> Rooms:
        return Rooms("host", base_url=base_url, api_key="k")

    def emulator(self, script: Any) -> Emulator:
        emulator = Emulator(script)
        emulator.register(RoomsApi(emulator))
        return emulator

    async def test_a_room_is_sent_what_is_new_and_a_new_one_everything(self) -> None:
        script = [turn(say("Yes.")), turn(say("Yes.")), turn(say("Yes."), fault={"kind": "forget"}), turn(say("Yes."))]
        async with self.ground([], script) as ground:
            client = ground.client()
            for text in ("one", "two", "three"):
                assert (await client.say(text)).text == "Yes."
            said = [texts(entry.body) for entry in ground.emulator.accepted]
        assert said == [["one"], ["two"], ["one", "Yes.", "two", "Yes.", "three"]]

    async def test_a_room_that_may_have_heard_a_request_is_not_sent_it_again(self) -> None:
        script = [turn(say("Yes.")), turn(say("Yes."), fault={"kind": "status", "status": 500}), turn(say("Yes."))]
        async with self.ground([], script) as ground:
            client = ground.client()
            for text in ("one", "two"):
                assert (await client.say(text)).text == "Yes."
            first, failed, second = ground.emulator.accepted
        assert first.path == failed.path != second.path
        assert texts(second.body) == ["one", "Yes.", "two"]
