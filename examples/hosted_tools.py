"""Lesson 14: tools that the provider runs itself, with a person in front of those that change something.

    export OPENAI_API_KEY=…
    export CRM_URL=https://mcp.example.com/crm    # an MCP server that OpenAI can reach
    cd examples
    agui-gate serve hosted_tools:agent     # "What changed in EU VAT this year? Put a note into the customer's file."

A hosted tool's call and its result are shown like any other, but nobody here runs it. With `require_approval` the
provider stops before it calls its MCP server and asks: that is a question to a person like any other here, on the page,
in `GET /approvals`, in the shell. The provider is told "yes" in at most one request; it is told "no" for what was
rejected, ignored, stopped or not answered within the hour. Arguments can't be edited: the provider has its own copy.

On Azure the same tools go with `OpenAIResponses.azure("my-deployment", resource="my-resource", hosted_tools=…)`.
"""

import os

from agui_gate import Agent
from agui_gate_adapters.openai_responses import OpenAIResponses

HOSTED = [
    {"type": "web_search"},
    {
        "type": "mcp",
        "server_label": "crm",
        "server_url": os.environ.get("CRM_URL", "https://mcp.example.com/crm"),
        "require_approval": {"never": {"tool_names": ["find_customer"]}},
    },
]

agent = Agent(
    name="account-manager",
    model=OpenAIResponses("gpt-5.4-mini", hosted_tools=HOSTED, approval_expires_after=3600),
    instructions="You look things up on the web and keep the customers' files.",
    examples=["What changed in EU VAT this year? Put a note into the file of customer 7."],
)
