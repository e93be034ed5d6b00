"""Agents whose peers are at `SECRETS_PEER`, with something planted in each address and header."""

import logging
import os

from cli_shop import RuleModel

from agui_gate import Agent
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.mcp import MCPTools
from agui_gate_adapters.openai_chat import OpenAIChat
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.remote_agui import RemoteAgent

peer = os.environ["SECRETS_PEER"]


def at(name: str) -> str:
    return f"http://user:PLANTED-{name}-user@{peer}/{name}"


MODELS = {"responses": OpenAIResponses, "chat": OpenAIChat, "messages": AnthropicMessages}

agents = [
    *(
        Agent(name=name, model=model("m", base_url=f"http://{peer}/{name}", api_key=f"PLANTED-{name}-key"))
        for name, model in MODELS.items()
    ),
    Agent(
        name="tools",
        model=RuleModel(),
        tools=[MCPTools.http(at("mcp") + "?key=PLANTED-mcp-query", headers={"X-Api-Key": "PLANTED-mcp-header"})],
    ),
    RemoteAgent(
        at("remote") + "?key=PLANTED-remote-query",
        name="remote",
        headers={"Authorization": "Bearer PLANTED-remote-header"},
    ),
]
responses = agents[0]

# What somebody else's library may log by itself.
logging.getLogger("support").warning("GET %s?key=PLANTED-query", at("other"))
logging.getLogger("support").warning("headers: {'Authorization': 'Bearer PLANTED-header', 'api-key': 'PLANTED-key'}")
