"""Lesson 13: the tools of an MCP server, with people in front of those that change something.

    pip install 'agui-gate[mcp]'
    export OPENAI_API_KEY=…
    cd examples
    agui-gate serve mcp_tools:agent     # needs Node; "What is in this directory?", "Put a haiku into haiku.txt"

`MCPTools.stdio` starts a server as a process, `MCPTools.http` reaches one over streamable HTTP; in the agent each
stands for all its tools. They are looked up when a run starts: a server that is away costs the run its tools, not the
run, and an approved call goes on waiting until its server is back.

What waits for a person is said by name pattern, and for the rest by the server's annotations: read-only tools are free,
destructive ones and those that say nothing are gated. A call that was cut off in the middle is never made again by
itself, unless its tool says that this does no harm. `agui-gate doctor mcp_tools:agent` names a server it can't reach.
"""

from agui_gate import Agent, Gate
from agui_gate_adapters.mcp import MCPTools
from agui_gate_adapters.openai_responses import OpenAIResponses

files = MCPTools.stdio(
    "npx",
    ["-y", "@modelcontextprotocol/server-filesystem", "."],
    name="files",
    prefix="files_",
    only=["list_directory", "read_text_file", "write_file"],
    gate={"write_file": Gate(editable=["content"], message="Write {path}?")},
    start_timeout=60,  # the first time npx fetches it
)
# docs = MCPTools.http("https://docs.example.org/mcp", headers={"authorization": "Bearer …"}, name="docs")

agent = Agent(
    name="librarian",
    model=OpenAIResponses("gpt-5.4-mini"),
    instructions="You look after the files in this directory.",
    tools=[files],
    examples=["What is in this directory?", "Put a haiku into haiku.txt"],
)
