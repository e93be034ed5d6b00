"""The HTTP surface: a Starlette application around the engine."""
