"""The engine: one run from request to terminal event."""
