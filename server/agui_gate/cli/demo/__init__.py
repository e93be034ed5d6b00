"""The demo that `agui-gate demo` serves: an agent and the shop it works in."""
