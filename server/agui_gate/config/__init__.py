"""Settings of a deployment: their values, their sources and their defaults."""
