"""An adapter for a provider with conversation ids in its paths: a room keeps what was said, and is told what is new.

See `adapters/README.md`.

    agui-gate serve adapter_with_rooms:agent
"""

from collections.abc import Iterator, Sequence
from uuid import uuid4

import msgspec

from agui_gate import Agent
from agui_gate import adapter as port
from agui_gate_adapters.common import doctor
from agui_gate_adapters.common.failures import Api, ErrorReply, Failure
from agui_gate_adapters.common.http import Http
from agui_gate_adapters.common.recovery import Once
from agui_gate_adapters.common.stream import Batches, Opened, run_turn, sent
from agui_gate_adapters.common.transport import host_of


class Rooms:
    """A model in rooms. It answers with one text, as one event."""

    def __init__(self, *, base_url: str, api_key: str) -> None:
        self.host = host_of(base_url)
        self.http = Http(
            Api("Rooms API", "ROOMS_API_KEY"),
            base_url=base_url,
            headers={"x-room-key": api_key},
            said=lambda error: ErrorReply(message=error["text"]),
            describes=("models", "host"),
        )

    @property
    def origin(self) -> str:
        """Whose rooms they are."""
        return f"rooms:{self.host}"

    def stream(self, request: port.TurnRequest) -> Batches:
        """One turn."""
        return run_turn(self._begin, request, Once())

    async def _begin(self, request: port.TurnRequest) -> Opened:
        ref = request.ref
        if ref is not None and ref.conversation_id and ref.origin == self.origin:
            try:
                return await self._say(request, ref.conversation_id, unseen(request.transcript, ref.turn_id))
            except Failure as failure:
                if failure.status != 404:  # the room is gone: everything goes to a new one
                    raise
        room = uuid4().hex
        await self.http.ask("PUT", "rooms", room)
        return await self._say(request, room, request.transcript)

    async def _say(self, request: port.TurnRequest, room: str, turns: port.Transcript) -> Opened:
        body = {"say": "\n".join(texts(turns)), "tools": []}
        response = await sent(self.http.at("rooms", room, "turns"), request, lambda: body)
        ref = port.ConversationRef(turn_id="", origin=self.origin, conversation_id=room)
        return Opened(response, Answer(ref))

    async def check(self) -> Sequence[port.Finding]:
        """For `agui-gate doctor`."""
        return [await doctor.check(self.http, "host", self.host)]

    async def aclose(self) -> None:
        """Close the connections."""
        await self.http.aclose()


def unseen(transcript: port.Transcript, turn_id: str) -> port.Transcript:
    """What came after the turn that the provider knows."""
    known = next((n for n, turn in enumerate(transcript, 1) if turn.id == turn_id), 0)
    return transcript[known:]


def texts(turns: port.Transcript) -> Iterator[str]:
    """What was said, as text."""
    for turn in turns:
        parts = turn.content if isinstance(turn, port.UserTurn) else turn.parts
        yield from (part.text for part in parts if isinstance(part, port.Text | port.TextPart))


class Answer:
    """One event with the whole text. Nothing is done before it came."""

    def __init__(self, ref: port.ConversationRef) -> None:
        self.ref, self.done = ref, False
        self.failure: Failure | None = None

    def feed(self, payloads: list[bytes]) -> list[port.ModelEvent]:
        """The events of what came."""
        told = [msgspec.json.decode(payload)["text"] for payload in payloads]
        if not told:
            return []
        self.done = True
        said: list[port.ModelEvent] = [port.TextStart("t"), port.TextDelta("t", "".join(told)), port.TextEnd("t")]
        return [*said, port.TurnDone(ref=self.ref)]

    def end(self) -> list[port.ModelEvent]:
        """A body that ends without the event was cut."""
        return []


agent = Agent(name="helper", model=Rooms(base_url="http://127.0.0.1:8080/v1", api_key="…"))
