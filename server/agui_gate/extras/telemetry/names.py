"""The names of spans and attributes: the Semantic Conventions for GenAI in version 1.44.0, and ours beside them.

No principal or tenant is among them. Messages, arguments and results are, for `content.py` alone.
"""

SCHEMA_URL = "https://opentelemetry.io/schemas/1.44.0"

INVOKE_AGENT = "invoke_agent"
CHAT = "chat"
EXECUTE_TOOL = "execute_tool"

OPERATION = "gen_ai.operation.name"
AGENT = "gen_ai.agent.name"
CONVERSATION = "gen_ai.conversation.id"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
RESPONSE_ID = "gen_ai.response.id"
FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
TOOL = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_CALL = "gen_ai.tool.call.id"
ERROR = "error.type"

INSTRUCTIONS = "gen_ai.system_instructions"
INPUT = "gen_ai.input.messages"
OUTPUT = "gen_ai.output.messages"
ARGUMENTS = "gen_ai.tool.call.arguments"
RESULT = "gen_ai.tool.call.result"
"""Of content."""

TOKENS = {
    "gen_ai.usage.input_tokens": "input_tokens",
    "gen_ai.usage.output_tokens": "output_tokens",
    "gen_ai.usage.cache_read.input_tokens": "cached_input_tokens",
    "gen_ai.usage.cache_creation.input_tokens": "cache_write_input_tokens",
    "gen_ai.usage.reasoning.output_tokens": "reasoning_tokens",
}
"""Attribute → member of `Usage`."""

DECIDE = "agui_gate.decide"
RUN_KEY = "agui_gate.run.key"
RUN_ID = "agui_gate.run.id"
OUTCOME = "agui_gate.run.outcome"
APPROVAL = "agui_gate.approval.id"
DECISION = "agui_gate.decision"
WAY = "agui_gate.decision.way"
WAIT = "agui_gate.wait"
WAIT_SECONDS = "agui_gate.wait.seconds"
GATED = "agui_gate.tool.gated"
"""``DECIDE`` is a span, ``WAIT`` an event of it; the others are attributes."""
