"""Plays a provider that stores conversations in rooms: ids in its paths, a key in its own header, events of its own."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from agui_gate_adapters.testkit.api import Frame, Request
from agui_gate_adapters.testkit.faults import IN_STREAM, Fault, Refused, Reply, Violation, error_reply, status_violation
from agui_gate_adapters.testkit.host import Host, Play, parse_object
from agui_gate_adapters.testkit.journal import Entry
from agui_gate_adapters.testkit.openai import violations
from agui_gate_adapters.testkit.script import Asked

Json = dict[str, Any]


class RoomsApi:
    """See `testkit.api.Api`."""

    paths: Mapping[str, Any] = {}

    def __init__(self, host: Host) -> None:
        self._host = host
        self.rooms: dict[str, list[Json]] = {}

    @property
    def routes(self) -> Mapping[tuple[str, str], Any]:
        return {
            ("GET", "/v1/about/{model}"): self.about,
            ("PUT", "/v1/rooms/{room}"): self.make,
            ("POST", "/v1/rooms/{room}/turns"): self.turn,
        }

    def authorize(self, headers: Mapping[str, str]) -> None:
        if headers.get("x-room-key") != "k":
            raise Refused(Violation("auth", 401, "no such key", None, "no_key"))

    def error_reply(self, violation: Violation, retry_after: float | None = None) -> Reply:
        error = {"code": violation.code or violation.type, "text": violation.message}
        return error_reply(violation.status, error, retry_after)

    def fault_violation(self, fault: Fault) -> Violation:
        return status_violation(fault)

    def forget(self) -> None:
        self.rooms.clear()

    def about(self, request: Request) -> Reply:
        return Reply(200, msgspec.json.encode({"id": request.ids["model"]}))

    def make(self, request: Request) -> Reply:
        self.rooms[request.ids["room"]] = []
        return Reply(200, b"{}")

    def turn(self, request: Request) -> "RoomsAnswer | Reply":
        body = parse_object(request.body)
        if body is None:
            return self._host.refuse(self, "POST", request.path, violations.bad_json())
        if self.rooms.get(request.ids["room"]):
            self._host.forget_first(body, self)
        if request.ids["room"] not in self.rooms:
            return self.error_reply(Violation("room", 404, "no such room", None, "no_room"))  # nobody's mistake
        room = self.rooms[request.ids["room"]]
        said = [*room, *body["say"]]
        if broken := _broken(said):
            return self._host.refuse(self, "POST", request.path, Violation("ROOM", 400, broken, None, "bad"), body)
        play = self._host.play(
            self, request.path, body, Asked.neutral(body["model"], list(_items(said)), body["tools"])
        )
        if isinstance(play, Reply):
            return play
        return self._host.accept(request.path, body, RoomsAnswer(self._host.memory.mint("room_", 12), play, room, said))


class RoomsAnswer:
    """See `testkit.api.Answer`. The room stores the conversation when the answer is complete."""

    headers = (("content-type", "text/event-stream"),)
    streamed = True

    def __init__(self, answer_id: str, play: Play, room: list[Json], said: list[Json]) -> None:
        self.id, self.turn, self.fault = answer_id, play.turn, play.fault
        self._room, self._said = room, said
        self.entry: Entry | None = None
        self.ended: str | None = None

    def frames(self) -> Iterator[Frame]:
        events, status, fault = list(self._events()), self.turn.status, self.fault
        if fault is not None and fault.kind in IN_STREAM and fault.events_before < len(events):
            error = {"kind": "error", "code": fault.code or "server_error", "text": fault.message or ""}
            events, status = [*events[: fault.events_before], error], "failed"
        for number, event in enumerate(events, 1):
            if number == len(events):
                self._end(status)
            yield Frame(b"data: " + msgspec.json.encode(event) + b"\n\n", "text" in event)

    def whole(self) -> Json:
        raise NotImplementedError("Rooms always stream")

    def close(self) -> None:
        if self.ended is None:
            self._end("aborted")

    def _end(self, status: str) -> None:
        self.ended = status
        if self.entry is not None:
            self.entry.ended = status
        if status == "completed":
            self._room[:] = [*self._said, _stored(self.turn.output)]

    def _events(self) -> Iterator[Json]:
        for item in self.turn.output:
            match item["type"]:
                case "message":
                    yield from ({"kind": "text", "text": piece} for piece in item.get("deltas") or [item["text"]])
                case "function_call":
                    yield {"kind": "call", "name": item["name"]}
                    pieces = item.get("deltas") or [_text(item["arguments"])]
                    yield from ({"kind": "arguments", "text": piece} for piece in pieces)
        why = {"completed": "done", "incomplete": "limit", "failed": "done"}[self.turn.status]
        yield {"kind": "end", "why": why, "tokens": [len(msgspec.json.encode(self._said)) // 4, 7]}


def _text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()


def _stored(output: Sequence[Json]) -> Json:
    texts = ["".join(item.get("deltas") or [item["text"]]) for item in output if item["type"] == "message"]
    calls = [
        {"name": item["name"], "arguments": _text(item["arguments"])}
        for item in output
        if item["type"] == "function_call"
    ]
    return {"from": "model", "text": "\n\n".join(texts), "calls": calls}


def _broken(said: list[Json]) -> str:
    """What the provider would refuse, "" if nothing."""
    waiting = 0
    for message in said:
        if (message["from"] == "tools") != bool(waiting):
            return "results without their calls, or calls without their results"
        if message["from"] == "tools" and len(message["results"]) != waiting:
            return "not one result for each call"
        waiting = len(message.get("calls", ()))
    return "calls without their results" if waiting else ""


def _items(said: list[Json]) -> Iterator[Json]:
    """The conversation in the Responses API's terms, which scripts and tests read."""
    for turn, message in enumerate(said):
        match message["from"]:
            case "tools":
                for number, output in enumerate(message["results"]):
                    yield {"type": "function_call_output", "call_id": f"{turn - 1}.{number}", "output": output}
            case "model":
                if message["text"]:
                    yield {"type": "message", "role": "assistant", "content": message["text"]}
                for number, call in enumerate(message["calls"]):
                    yield {"type": "function_call", "call_id": f"{turn}.{number}", **call}
            case who:
                yield {"type": "message", "role": "user" if who == "user" else "system", "content": message["text"]}
