"""The state that a page and its agents share (docs/state.md)."""

from agui_gate.extras.shared_state.part import StatePart as thread_part
from agui_gate.extras.shared_state.part import state_of

__all__ = ["state_of", "thread_part"]
