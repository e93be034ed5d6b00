"""Content in traces, for applications that want it: `create_app(agent, extensions=[SpanContent(redact)])`."""

from agui_gate.extras.telemetry.content import Kind, SpanContent

__all__ = ["Kind", "SpanContent"]
