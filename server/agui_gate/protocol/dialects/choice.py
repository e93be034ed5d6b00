"""Chooses the dialect of a client, for each request, by what its ``protocolVersion`` says.

A client that declares nothing is one from before versions, and gets the shapes of 0.x. Whoever declares 1.0 or newer
gets the rules of the specification. So does a declaration that can't be read, which counts as newer (VER-4). The
deployment has a word in it (`Deployment`):

* ``auto`` leaves out the two optional members that a 0.0.59 parser chokes on, `pendingToolCallIds` and `expiresAt`. A
  Node runtime with client 1.0.0 declares 1.0, while the browser behind it parses with 0.0.59. Nothing in the request
  tells. Consumers derive both by themselves.
* ``1.0`` sends these two as well: the operator knows that every browser is new enough.
* ``compat`` gives everybody the shapes of 0.x: the operator knows that some browser is not.

See docs/adr/0015-dialect-per-request.md.
"""

import re
from enum import StrEnum

from agui_gate.core.events import PROTOCOL_VERSION
from agui_gate.protocol.dialects.base import Shapes
from agui_gate.protocol.dialects.v0 import V0Shapes
from agui_gate.protocol.run_input import RunInput

ALLOW = "the client can read it: set AGUI_GATE_DIALECT to auto"

_VERSION = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})")
_OURS = (1, 0)


class Deployment(StrEnum):
    """The operator's word about the clients (`AGUI_GATE_DIALECT`). A `Choice`."""

    AUTO = "auto"
    COMPAT = "compat"
    V1 = "1.0"

    def choose(self, run: RunInput, *, reads_stops: bool = False) -> Shapes:
        """See `Choice`."""
        if not declares_v1(run.protocol_version):
            return V0Shapes(reads_stops=reads_stops)
        if self is Deployment.COMPAT:
            return V0Shapes(PROTOCOL_VERSION, ALLOW, reads_stops=reads_stops)
        from agui_gate.protocol.dialects.v1 import V1Shapes  # most deployments have clients of one dialect

        return V1Shapes(extras=self is Deployment.V1)


def is_newer(asked: str | None) -> bool:
    """Returns whether the sender declares more than this server speaks. What can't be read counts as that (VER-4)."""
    if asked is None:
        return False
    match = _VERSION.fullmatch(asked)
    return match is None or (int(match[1]), int(match[2])) > _OURS


def declares_v1(asked: str | None) -> bool:
    """Returns whether the sender declares 1.0 or newer. What can't be read counts as newer (VER-4)."""
    if asked is None:
        return False
    match = _VERSION.fullmatch(asked)
    return match is None or int(match[1]) >= 1
