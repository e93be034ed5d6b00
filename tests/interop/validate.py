"""Hold a stream against the independent rule catalogue of `ag-ui-validate`, and against our own judge."""

import json
from collections.abc import Sequence
from typing import Any

from ag_ui_validate.pytest_plugin import assert_valid_agui

from agui_gate_adapters.testkit.spec import assert_conforms

NEEDS_INPUT = ("TOOL-5", "TOOL-6", "IN-6")
"""Rules on what only the request says: which tools are the frontend's, and the state that deltas are made from."""


def assert_valid(stream: str | Sequence[dict[str, Any]], *, resumed: bool = False) -> None:
    """The stream (SSE text as it stood on the wire, or decoded events) breaks no rule of the catalogue.

    `resumed`: a run that answers an earlier one sends TOOL_CALL_RESULT for a call that was started there, as the
    protocol's interrupt page documents; rule AGUI207 looks at one run only and is a warning for these.
    """
    assert_in_catalogue(stream, resumed=resumed)
    assert_conforms(stream, departs=NEEDS_INPUT)


def assert_in_catalogue(stream: str | Sequence[dict[str, Any]], *, resumed: bool = False) -> None:
    """The same without our own judge, which has looked already, or will."""
    events = decode(stream) if isinstance(stream, str) else list(stream)
    assert_valid_agui(events, severity_overrides={"AGUI207": "warning"} if resumed else None)


def decode(body: str) -> list[dict[str, Any]]:
    r"""The events of an SSE body whose frames end in `\n\n`, the only separator that both clients split on."""
    assert "\r" not in body, "a carriage return in the stream: both clients split frames on \\n\\n only"
    assert not body or body.endswith("\n\n"), "the last frame is not closed by an empty line"
    payloads = [_payload(frame) for frame in body.split("\n\n") if frame]
    return [json.loads(payload) for payload in payloads if payload]


def _payload(frame: str) -> str:
    """What a frame's data lines say; comments, ids and event names carry nothing for an AG-UI client."""
    return "\n".join(line[5:].removeprefix(" ") for line in frame.split("\n") if line.startswith("data:"))
