"""Two agents whose models lack a key."""

from agui_gate import Agent
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.openai_responses import OpenAIResponses

both = [
    Agent(name="one", model=OpenAIResponses("gpt-5.4-mini")),
    Agent(name="two", model=AnthropicMessages("claude-sonnet-4-5")),
]
keyed = Agent(name="one", model=OpenAIResponses("gpt-5.4-mini", api_key="k", base_url="http://127.0.0.1:9/v1"))
