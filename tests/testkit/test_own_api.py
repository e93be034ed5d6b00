"""An API of one's own plays what providers have: ids in paths, GET, a key in its own header, a memory to lose."""

from collections.abc import Mapping
from typing import Any

import httpx2
import pytest

from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.api import Request
from agui_gate_adapters.testkit.faults import Refused, Reply, Violation, error_reply, status_violation
from agui_gate_adapters.testkit.host import parse_object
from agui_gate_adapters.testkit.script import Asked
from agui_gate_adapters.testkit.wire import encode
from tests.conformance.brook_api import BrookAnswer

pytestmark = pytest.mark.anyio

ROOM = "/v1/rooms/{room}/turns"


class Rooms:
    """A provider that keeps rooms."""

    paths: Mapping[str, Any] = {}

    def __init__(self, host: Emulator) -> None:
        self.host = host
        self.rooms: dict[str, list[str]] = {}

    @property
    def routes(self) -> Mapping[tuple[str, str], Any]:
        return {
            ("GET", "/v1/rooms/{room}"): self.shown,
            ("PUT", "/v1/rooms/{room}"): self.made,
            ("POST", ROOM): self.turn,
        }

    def authorize(self, headers: Mapping[str, str]) -> None:
        if headers.get("x-room-key") != "k":
            raise Refused(Violation("auth", 401, "no key", None, "no_key"))

    def error_reply(self, violation: Violation, retry_after: float | None = None) -> Reply:
        return error_reply(violation.status, {"text": violation.message}, retry_after)

    def fault_violation(self, fault: Any) -> Violation:
        return status_violation(fault)

    def forget(self) -> None:
        self.rooms.clear()

    def made(self, request: Request) -> Reply:
        self.rooms[request.ids["room"]] = []
        return Reply(200, b"{}")

    def shown(self, request: Request) -> Reply:
        return Reply(
            200, encode({"room": request.ids["room"], "said": self._known(request), "of": dict(request.query)})
        )

    def turn(self, request: Request) -> Any:
        body = parse_object(request.body) or {}
        self.host.forget_first(body, self)
        said = self._known(request)
        said.append(body["say"])
        items = [{"type": "message", "role": "user", "content": text} for text in said]
        tools = [{"name": tool["does"]["called"]} for tool in body["tools"]]
        play = self.host.play(self, request.path, body, Asked.neutral("m", items, tools))
        answer = play if isinstance(play, Reply) else BrookAnswer("a", play, 1)
        return answer if isinstance(answer, Reply) else self.host.accept(request.path, body, answer)

    def _known(self, request: Request) -> list[str]:
        if request.ids["room"] not in self.rooms:
            raise Refused(Violation("room", 404, "no such room", None, "no_room"))
        return self.rooms[request.ids["room"]]


async def test_ids_get_headers_memory_and_tools() -> None:
    forgets = {"output": [{"type": "message", "text": "x"}], "fault": {"kind": "forget"}}
    emulator = Emulator([{"output": [{"type": "message", "text": "Yes."}]}, forgets])
    emulator.register(Rooms(emulator))
    body = {"say": "hello", "tools": [{"does": {"called": "search"}}]}
    async with serve(emulator) as url, httpx2.AsyncClient(headers={"x-room-key": "k"}) as http:
        assert (await http.get(f"{url}/rooms/a", headers={"x-room-key": "no"})).status_code == 401
        assert (await http.get(f"{url}/rooms/a")).status_code == 404
        await http.put(f"{url}/rooms/a%20b")
        assert '"Yes."' in (await http.post(f"{url}/rooms/a%20b/turns", json=body)).text
        shown = (await http.get(f"{url}/rooms/a%20b?last=1")).json()
        assert shown == {"room": "a b", "said": ["hello"], "of": {"last": "1"}}
        assert emulator.accepted[-1].tools == ["search"]
        assert (await http.post(f"{url}/rooms/a%20b/turns", json=body)).json() == {"text": "no such room"}
        await http.put(f"{url}/rooms/c")
        emulator.reset()
        assert (await http.get(f"{url}/rooms/c")).status_code == 404
