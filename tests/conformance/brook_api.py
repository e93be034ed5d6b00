"""Somebody who plays Brook: what the adapter's author writes where the emulator doesn't speak the provider's API.

Two halves: `BrookApi` checks a request and tells the emulator what was asked, `BrookAnswer` says a scripted turn in the
provider's own words.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from agui_gate_adapters.testkit.api import Frame
from agui_gate_adapters.testkit.faults import IN_STREAM, Fault, Reply, Violation, error_reply, status_violation
from agui_gate_adapters.testkit.host import Host, Play, parse_object
from agui_gate_adapters.testkit.journal import Entry
from agui_gate_adapters.testkit.openai import violations
from agui_gate_adapters.testkit.script import Asked

Json = dict[str, Any]
PATH = "/v1/brook"


class BrookApi:
    """See `testkit.api.Api`."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def paths(self) -> Mapping[str, Any]:
        return {PATH: self.create}

    def authorize(self, headers: Mapping[str, str]) -> None:
        self._host.check_bearer(headers.get("authorization"))

    def error_reply(self, violation: Violation, retry_after: float | None = None) -> Reply:
        problem = {"kind": violation.code or violation.type, "text": violation.message}
        return error_reply(violation.status, {"problem": problem}, retry_after)

    def fault_violation(self, fault: Fault) -> Violation:
        return status_violation(fault)

    def create(self, raw: bytes, headers: Mapping[str, str]) -> "BrookAnswer | Reply":
        body = parse_object(raw)
        if body is None:
            return self._host.refuse(self, "POST", PATH, violations.bad_json())
        if broken := _broken(body["flow"]):
            return self._host.refuse(self, "POST", PATH, Violation("BROOK", 400, broken, None, "bad_flow"), body)
        asked = Asked.neutral(body["model"], list(_items(body)), body["tools"])
        play = self._host.play(self, PATH, body, asked)
        if isinstance(play, Reply):
            return play
        return self._host.accept(PATH, body, self.answer(play, len(raw)))

    def answer(self, play: Play, size: int) -> "BrookAnswer":
        return BrookAnswer(self._host.memory.mint("brook_", 12), play, size)


class BrookObjects(BrookApi):
    """An older Brook: arguments are an object, and each answer ends the same way."""

    def answer(self, play: Play, size: int) -> "BrookAnswer":
        return BrookAnswerOfObjects(self._host.memory.mint("brook_", 12), play, size)


class BrookAnswer:
    """See `testkit.api.Answer`."""

    headers = (("content-type", "application/x-ndjson"),)
    streamed = True

    def __init__(self, answer_id: str, play: Play, size: int) -> None:
        self.id, self.turn, self.fault, self._size = answer_id, play.turn, play.fault, size
        self.entry: Entry | None = None
        self.ended: str | None = None

    def frames(self) -> Iterator[Frame]:
        lines, status = list(self._lines()), self.turn.status
        fault = self.fault
        if fault is not None and fault.kind in IN_STREAM and fault.events_before < len(lines):
            problem = {"t": "problem", "kind": fault.code or "server_error", "text": fault.message or ""}
            lines, status = [*lines[: fault.events_before], problem], "failed"
        for number, line in enumerate(lines, 1):
            if number == len(lines):
                self._end(status)
            yield Frame(msgspec.json.encode(line) + b"\n", "s" in line)

    def whole(self) -> Json:
        raise NotImplementedError("Brook always streams")

    def close(self) -> None:
        if self.ended is None:
            self._end("aborted")

    def _end(self, status: str) -> None:
        self.ended = status
        if self.entry is not None:
            self.entry.ended = status

    def _lines(self) -> Iterator[Json]:
        yield {"t": "hello"}
        for number, item in enumerate(self.turn.output):
            yield from _told(number, item)
        why = {"completed": "end", "incomplete": "limit", "failed": "end"}[self.turn.status]
        yield {"t": "end", "why": why, "spent": [self._size, 7]}


class BrookAnswerOfObjects(BrookAnswer):
    """A call's arguments as an object in one line. It never says that a limit cut it."""

    def _lines(self) -> Iterator[Json]:
        yield {"t": "hello"}
        for number, item in enumerate(self.turn.output):
            if item["type"] == "function_call":
                yield {"t": "call", "id": number, "name": item["name"]}
                written = item["arguments"]
                known = written if isinstance(written, dict) else msgspec.json.decode(written)  # cut JSON can't be said
                yield {"t": "args", "id": number, "o": known}
            else:
                yield from _told(number, item)
        yield {"t": "end", "why": "end", "spent": [self._size, 7]}


def _told(number: int, item: Json) -> Iterator[Json]:
    match item["type"]:
        case "message":
            for piece in item.get("deltas") or [item["text"]]:
                yield {"t": "text", "s": piece}
        case "reasoning":
            text = "".join(item.get("summary", ()))
            yield {"t": "thought", "s": text}
            yield {"t": "seal", "seal": _seal(text)}
        case "function_call":
            written = item["arguments"]
            text = written if isinstance(written, str) else msgspec.json.encode(written).decode()
            yield {"t": "call", "id": number, "name": item["name"]}
            for piece in item.get("deltas") or [text]:
                yield {"t": "args", "id": number, "s": piece}


def _seal(text: str) -> str:
    return f"sealed-{len(text)}-{sum(text.encode())}"


def _broken(flow: list[Json]) -> str:
    """What Brook would refuse, "" if nothing: a rule for each promise that its documentation makes."""
    waiting: list[int] = []
    for message in flow:
        if message["who"] == "results":
            if [number for number, _ in message["batch"]] != waiting:
                return "a batch of results that are not those of the calls before it"
            waiting = []
        elif waiting:
            return "calls without their batch of results"
        for drop in message.get("drops", ()):
            if drop["t"] == "thought" and drop["seal"] != _seal(drop["s"]):
                return "a broken seal"
            if drop["t"] == "call":
                waiting.append(drop["id"])
    return "calls without their batch of results" if waiting else ""


def _items(body: Json) -> Iterator[Json]:
    """The conversation in the Responses API's terms, which scripts and tests read. Call ids are unique there."""
    for turn, message in enumerate(body["flow"]):
        if message["who"] == "results":
            for number, text in message["batch"]:
                yield {"type": "function_call_output", "call_id": f"{turn - 1}.{number}", "output": text}
        elif message["who"] == "model":
            yield from (_item(turn, drop) for drop in message["drops"])
        else:
            role = "user" if message["who"] == "user" else "system"
            yield {"type": "message", "role": role, "content": message["text"]}


def _item(turn: int, drop: Json) -> Json:
    match drop["t"]:
        case "call":
            call_id = f"{turn}.{drop['id']}"
            return {"type": "function_call", "call_id": call_id, "name": drop["name"], "arguments": drop["args"]}
        case "thought":
            return {"type": "reasoning", "summary": [{"type": "summary_text", "text": drop["s"]}]}
    return {"type": "message", "role": "assistant", "content": drop["s"]}
