"""Readers that come back to a thread: by its live run, another replica's, or the store."""
