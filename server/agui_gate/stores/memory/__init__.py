"""The store without a file, in plain dicts."""

from agui_gate.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
