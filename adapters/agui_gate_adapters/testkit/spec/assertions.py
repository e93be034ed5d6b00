"""For tests: a stream is held to the rules, or the test fails with what it breaks.

assert_conforms(response.text, input=request)
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from agui_gate_adapters.testkit.spec.finding import Finding, Json
from agui_gate_adapters.testkit.spec.judge import judge

DOWNGRADED = frozenset({"TOOL-4", "TOOL-5", "TOOL-6", "STATE-2", "LIFE-8"})
"""Rules that are younger than the clients of 0.x, which know another way for what they are about."""


def is_older(given: Mapping[str, Any]) -> bool:
    """Whether a request is of a client of 0.x: one that declares no version, or one before 1.0."""
    version = given.get("protocolVersion")
    return version is None or (isinstance(version, str) and version.startswith("0."))


def breaches(
    stream: str | bytes | Sequence[Json],
    *,
    input: Mapping[str, Any] | None = None,
    replays: bool = False,
    departs: Iterable[str] = (),
    notes: Container[str] = (),
) -> list[Finding]:
    """The findings of `judge` but those that a test asks for (``departs``) and those that a 0.x client needs.

    ``notes``: rules whose notes count as well, where a server promises more than the specification asks.
    """
    left_out = {*departs, *(DOWNGRADED if input is not None and is_older(input) else ())}
    found = judge(stream, input=input, replays=replays)
    return [one for one in found if one.rule not in left_out and (one.strength != "note" or one.rule in notes)]


def assert_conforms(
    stream: str | bytes | Sequence[Json],
    *,
    input: Mapping[str, Any] | None = None,
    replays: bool = False,
    departs: Iterable[str] = (),
) -> None:
    """Fail with every rule, MUST or SHOULD, that the stream doesn't keep. ``departs``: ids that it may break."""
    found = breaches(stream, input=input, replays=replays, departs=departs)
    assert not found, "the stream breaks the specification:\n" + "\n".join(map(str, found))
