"""Runs aside from any thread: CopilotKit's suggestions ("what could the person say next?").

They bring a conversation with them and leave nothing behind. So such a run has a store of its own, which goes with it.
There is no thread that anybody could list or continue, and no lease that a run of the person's thread would wait for.
Of the agent it has the model and the instructions; no tool of the server is offered, so none can run, gated or free.

`@copilotkit/runtime` does the same (`handle-suggest`): it neither stores nor locks such a run, and adds no tools.
"""

from dataclasses import replace

from agui_gate.agents.agent import Agent
from agui_gate.protocol.run_input import RunInput
from agui_gate.stores.base import Store, Thread
from agui_gate.stores.memory import MemoryStore


def without_tools(agent: Agent) -> Agent:
    """The agent with nothing to call, nobody to hand off to, and no form that its answers have. (What the provider
    runs itself is the adapter's, and stays.)
    """
    return replace(agent, tools=(), handoffs=[], output=None)


async def a_thread_of_its_own(agent: Agent, run: RunInput, principal: str, run_key: str) -> tuple[Store, Thread]:
    """A store that nobody else knows, and in it the run's thread, opened."""
    store = MemoryStore()
    await store.start()
    return store, await store.lease_thread(principal, run.thread_id, agent.name, run_key)
