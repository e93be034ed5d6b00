"""Decides about a server's tools by its hints and the deployment's settings: gates, names, repeated calls. Pure.

The hints are the server's own word (MCP, "Tool annotations": untrusted unless the server is trusted). So what the
deployment says comes first, and what nobody says counts as dangerous: MCP's own defaults are "not read-only" and
"destructive". For a server that isn't trusted, ``gate=True`` asks about every call.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from agui_gate import Gate

GatePolicy = bool | Gate | Mapping[str, bool | Gate] | None
"""One answer for all, or by name pattern (`delete_*`), of which the first that matches counts; None: the hints say."""

MAX_NAME = 64
"""Characters of a tool's name that every provider takes."""


@dataclass(frozen=True, slots=True)
class Hints:
    """A tool's annotations. One that contradicts itself (read-only and destructive) counts as destructive."""

    read_only: bool = False
    destructive: bool | None = None
    """None where it isn't said: then only what is read-only does no harm."""
    idempotent: bool = False

    @classmethod
    def of(cls, annotations: Any) -> "Hints":
        """Makes hints of the SDK's `ToolAnnotations`, or None. Only a plain true or false counts."""
        return cls(
            read_only=getattr(annotations, "read_only_hint", None) is True,
            destructive=said if isinstance(said := getattr(annotations, "destructive_hint", None), bool) else None,
            idempotent=getattr(annotations, "idempotent_hint", None) is True,
        )


def gate_of(name: str, hints: Hints, policy: GatePolicy) -> bool | Gate:
    """Whether and how the tool that the server calls ``name`` waits for a person."""
    if isinstance(policy, bool | Gate):
        return policy
    for pattern, answer in (policy or {}).items():
        if fnmatchcase(name, pattern):
            return answer
    return not hints.read_only if hints.destructive is None else hints.destructive


def may_run_twice(name: str, hints: Hints, patterns: Sequence[str]) -> bool:
    """Whether a call that was cut off may simply be made again."""
    harmless = hints.read_only and not hints.destructive
    return harmless or hints.idempotent or matches(name, patterns)


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether any of the patterns is about ``name``."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def idle_patterns(policy: GatePolicy, names: Iterable[str]) -> list[str]:
    """Patterns that are about no tool: most likely misspelt, which a person has to be told."""
    known = list(names)
    patterns = policy if isinstance(policy, Mapping) else ()
    return [pattern for pattern in patterns if not any(fnmatchcase(name, pattern) for name in known)]


def agent_name(name: str, prefix: str) -> str:
    """Returns the tool's name for the model, in characters and length that all providers accept."""
    full = re.sub(r"[^A-Za-z0-9_-]", "_", f"{prefix}{name}")
    if len(full) <= MAX_NAME:
        return full
    return f"{full[: MAX_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
