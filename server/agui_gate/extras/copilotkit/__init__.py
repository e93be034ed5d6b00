"""CopilotKit's routes: what its provider calls on a `runtimeUrl`."""
