"""The pure core: no I/O, no clock, no randomness. It imports nothing of ours but ``errors``."""
