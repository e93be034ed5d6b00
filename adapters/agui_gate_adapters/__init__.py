"""Provider adapters for agui-gate: one subpackage a provider, each importing only the port `agui_gate.adapter`."""
