"""Metrics for Prometheus, where `AGUI_GATE_METRICS` asks for them; what the store knows also without that."""
