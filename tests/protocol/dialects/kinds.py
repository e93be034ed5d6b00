"""The dialects that there are, by name, for tests that hold for all of them."""

from agui_gate.protocol.dialects.base import Shapes
from agui_gate.protocol.dialects.v0 import V0Shapes
from agui_gate.protocol.dialects.v1 import V1Shapes

V0, V1, V1_FULL = V0Shapes(), V1Shapes(), V1Shapes(extras=True)

ALL: dict[str, Shapes] = {"0.x": V0, "1.x": V1, "1.x with extras": V1_FULL}
