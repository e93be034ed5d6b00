"""Stands for the MCP server that the lesson starts with npx: two of its tools, in the directory that it is given."""

import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

PATH = {"path": {"type": "string"}}


def _tool(name: str, annotations: types.ToolAnnotations, properties: dict[str, Any]) -> types.Tool:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return types.Tool(name=name, description=f"{name}.", input_schema=schema, annotations=annotations)


async def _list(ctx: Any, params: Any) -> types.ListToolsResult:
    read = _tool("read_text_file", types.ToolAnnotations(read_only_hint=True), PATH)
    destructive = types.ToolAnnotations(read_only_hint=False, destructive_hint=True)
    return types.ListToolsResult(
        tools=[read, _tool("write_file", destructive, {**PATH, "content": {"type": "string"}})]
    )


async def _call(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    arguments = params.arguments or {}
    path = anyio.Path(sys.argv[-1]) / arguments["path"]
    if params.name == "write_file":
        await path.write_text(arguments["content"])
        said = f"wrote {arguments['path']}"
    else:
        said = await path.read_text()
    return types.CallToolResult(content=[types.TextContent(text=said)])


async def main() -> None:
    """Serve this process's standard input and output."""
    server: Server[Any] = Server("files", on_list_tools=_list, on_call_tool=_call)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    assert Path(sys.argv[-1]).is_dir()
    anyio.run(main)
