"""Every adapter, in each of its modes and profiles, through the same scenarios (B24)."""
