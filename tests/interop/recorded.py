"""Every stream that the tests of a session have recorded, replayed to both real clients when the session ends (B14).
Our own client (`agui_gate.client`) makes of each what client 1.0.0 makes of it.

Each by itself, to a client with the history that was sent. Of those that look the same to a client, the first one is
replayed; with `--every` all are. Sessions that run in several processes replay in each of them what was recorded there,
and of one look one in all of them together.
"""

import hashlib
import json
from collections.abc import Hashable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.client.folding import as_folded_by_1_0
from tests.interop.replay import VERSIONS, Case, Run, assert_accepted, replay
from tests.interop.validate import assert_valid
from tests.product.kit import RECORDED, Stream

ALIKE = 1
"""Streams of one look that are replayed."""


def assert_all_accepted(*, every: bool, shared: Path) -> None:
    """Both clients accept what was recorded, and it breaks no rule; 0.0.59 knows the compat dialect only.

    A run that answers an earlier one looks like any other from here: `Chat` holds those that don't to AGUI207.
    ``shared``: a folder of all processes of the session, in which each look is noted that is replayed.
    """
    recorded = RECORDED if every else unlike(RECORDED, shared)
    if not recorded:
        return
    for stream in filter(None, recorded):
        assert_valid(stream, resumed=True)
    cases = {f"{n}: {shape(s)}": s for n, s in enumerate(recorded)}
    replayed = [Case(name, [Run(s.raw, as_sent(s.input), replace=True)]) for name, s in cases.items()]
    results = replay(replayed)
    assert len(results) == len(recorded) * len(VERSIONS)
    known = [r for r in results if r.version != "0.0.59" or not is_newer(cases[r.case])]
    assert_accepted((r for r in known if cases[r.case]), warnings=True)
    assert all(r.accepted for r in known if not cases[r.case]), "connecting to nothing is a stream without events"
    assert as_folded_by_1_0(replayed, results) == []


def unlike(streams: Sequence[Stream], shared: Path) -> list[Stream]:
    """Of streams that look the same to a client, the first ones of all processes; in their order."""
    shared.mkdir(exist_ok=True)
    free: dict[Hashable, Iterator[bool]] = {}
    found = []
    for stream in streams:
        look = looks(stream)
        if look not in free:
            free[look] = _places(shared, hashlib.sha256(repr(look).encode()).hexdigest())
        if next(free[look], False):
            found.append(stream)
    return found


def _places(shared: Path, look: str) -> Iterator[bool]:
    """True as often as a stream of this look may be taken: each place is one process's."""
    for number in range(ALIKE):
        try:
            (shared / f"{look}-{number}").touch(exist_ok=False)
        except FileExistsError:
            continue
        yield True


def looks(stream: Stream) -> Hashable:
    """The kinds of events and the roles of the messages that were sent before, those in a row once; and the dialect."""
    kinds = [(e["type"], e.get("name"), (e.get("outcome") or {}).get("type"), e.get("role")) for e in stream]
    roles = [(m["role"], type(m.get("content")), "toolCalls" in m) for m in stream.input["messages"]]
    members = (stream.input.get("protocolVersion"), bool(stream.input.get("state")), bool(stream.input.get("resume")))
    return tuple(kind for kind, _ in groupby(kinds)), tuple(role for role, _ in groupby(roles)), members


def shape(stream: Stream) -> str:
    """Thread and kinds of events, those in a row once."""
    return f"{stream.input['threadId']} {' '.join(kind for kind, _ in groupby(stream.types()))}"


def as_sent(body: dict[str, Any]) -> dict[str, Any]:
    """The request as a real client can hold it.

    Tests also send messages that have no id or no content, and context that is no text.
    """
    messages = [
        {"id": f"sent-{n}", **({"content": ""} if message["role"] == "user" else {}), **message}
        for n, message in enumerate(body["messages"])
    ]
    context = [{**item, "value": _as_text(item["value"])} for item in body.get("context") or ()]
    return {**body, "messages": messages, "context": context}


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def is_newer(stream: Stream) -> bool:
    """Whether it has a shape that only clients know which say so in their request."""
    outcome = stream[-1].get("outcome", {}) if stream else {}
    newer = outcome.get("type") == "cancelled" or "pendingToolCallIds" in outcome
    snapshots = (event["messages"] for event in stream if event["type"] == "MESSAGES_SNAPSHOT")
    newer = newer or any(_has_newer_content(message) for messages in snapshots for message in messages)
    return newer and "protocolVersion" in stream.input


def _has_newer_content(message: dict[str, Any]) -> bool:
    """File handles, and results that are lists: see docs/clients.md#shapes."""
    content = message.get("content")
    if not isinstance(content, list):
        return False
    return message["role"] == "tool" or any((part.get("source") or {}).get("type") == "file" for part in content)
