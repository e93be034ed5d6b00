"""Which AG-UI rules a run is told by: chosen for each request, by what its ``protocolVersion`` says.

Theory of operation
-------------------
A client that declares nothing is one from before versions: 0.0.59 and its relatives, whose schemas refuse what came
later. It gets the shapes of *0.x*. Whoever declares 1.0 or newer gets the rules of the specification. So does a
declaration that can't be read, which counts as newer (VER-4). The deployment has a word in it (`Deployment`):

* ``auto`` leaves out the two optional members that a 0.0.59 parser chokes on, `pendingToolCallIds` and `expiresAt`. A
  Node runtime with client 1.0.0 declares 1.0, while the browser behind it parses with 0.0.59. Nothing in the request
  tells. Consumers derive both by themselves.
* ``1.0`` sends these two as well: the operator knows that every browser is new enough.
* ``compat`` gives everybody the shapes of 0.x: the operator knows that some browser is not.

Rules by their ids are in docs/adr/0015-dialect-per-request.md.
"""

import re
from enum import Enum, StrEnum

PROTOCOL_VERSION = "1.0"
"""What RUN_STARTED says, to everybody (VER-1)."""

_VERSION = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})")
_OURS = (1, 0)


class Deployment(StrEnum):
    """What the operator knows about the clients (`AGUI_GATE_DIALECT`)."""

    AUTO = "auto"
    COMPAT = "compat"
    V1 = "1.0"


class Dialect(Enum):
    """The rules that one run is told by."""

    V0 = "0.x"
    """The shapes of clients that declare no version."""
    V1 = "1.x"
    """The specification's rules, without its optional extras."""
    V1_FULL = "1.x with extras"
    """The specification's rules, with `pendingToolCallIds` and `expiresAt`."""

    @property
    def v1(self) -> bool:
        """Whether the specification's rules count."""
        return self is not Dialect.V0

    @property
    def extras(self) -> bool:
        """Whether `pendingToolCallIds` and `expiresAt` are sent."""
        return self is Dialect.V1_FULL


def choose(asked: str | None, deployment: Deployment) -> Dialect:
    """The dialect for an input whose ``protocolVersion`` is ``asked`` (None when absent)."""
    if deployment is Deployment.COMPAT or not declares_v1(asked):
        return Dialect.V0
    return Dialect.V1_FULL if deployment is Deployment.V1 else Dialect.V1


def is_newer(asked: str | None) -> bool:
    """Whether the sender declares more than this server speaks. What can't be read counts as that (VER-4)."""
    if asked is None:
        return False
    match = _VERSION.fullmatch(asked)
    return match is None or (int(match[1]), int(match[2])) > _OURS


def declares_v1(asked: str | None) -> bool:
    """Whether the sender declares 1.0 or newer. What can't be read counts as newer (VER-4)."""
    if asked is None:
        return False
    match = _VERSION.fullmatch(asked)
    return match is None or int(match[1]) >= 1
