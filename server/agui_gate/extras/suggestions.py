"""Runs aside from any thread: CopilotKit's suggestions ("what could the person say next?").

They bring a conversation with them and leave nothing behind (`Engine.aside`). Of the agent such a run has the model and
the instructions; no tool of the server is offered, so none can run, gated or free.

`@copilotkit/runtime` does the same (`handle-suggest`): it neither stores nor locks such a run, and adds no tools.
"""

from dataclasses import replace

from agui_gate.agents.agent import Agent


def without_tools(agent: Agent) -> Agent:
    """Returns the agent with nothing to call, nobody to hand off to, and no form that its answers have. What the
    provider runs itself is the adapter's, and stays.
    """
    return replace(agent, tools=(), handoffs=[], output=None)
