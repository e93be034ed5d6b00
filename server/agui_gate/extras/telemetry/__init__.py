"""Traces for OpenTelemetry: a run, its requests to models, its tools, and people's decisions."""
