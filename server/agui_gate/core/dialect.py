"""Which AG-UI shapes a client may be sent.

Everybody gets the *compat* dialect: only shapes that 0.0.59 and 1.0 clients both accept. The *1.0* dialect, with the
outcome `cancelled` and `pendingToolCallIds`, needs both the deployment's opt-in and an input that says ≥ 1.0: an
input's version alone says nothing about the browser behind a runtime (docs/clients.md#shapes).
"""

import re
from enum import StrEnum

PROTOCOL_VERSION = "1.0"
"""What RUN_STARTED says, to everybody."""

_VERSION = re.compile(r"(\d+)\.\d+")


class Dialect(StrEnum):
    """A set of shapes."""

    COMPAT = "compat"
    V1 = "1.0"


def choose(asked: str | None, deployment: Dialect) -> Dialect:
    """The dialect for an input whose ``protocolVersion`` is ``asked`` (None when absent).

    A version that can't be parsed is taken as newer than ours, as the specification asks.
    """
    if deployment is Dialect.COMPAT or asked is None:
        return Dialect.COMPAT
    match = _VERSION.fullmatch(asked)
    return Dialect.COMPAT if match and int(match[1]) < 1 else Dialect.V1
