"""An MCP server made with the SDK's own: a small wiki. Run as a program it speaks stdio, `Wiki.app` speaks HTTP."""

import asyncio
import base64
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import ToolsListChanged

PNG = base64.b64encode(b"\x89PNG and so on").decode()
READ_ONLY = types.ToolAnnotations(read_only_hint=True)
ADDITIVE = types.ToolAnnotations(destructive_hint=False)
TITLE = {"title": {"type": "string", "minLength": 1}}


def listed(name: str, annotations: types.ToolAnnotations | None = None, **properties: Any) -> types.Tool:
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return types.Tool(name=name, description=f"{name}.", input_schema=schema, annotations=annotations)


TOOLS = [
    listed("search", READ_ONLY, q={"type": "string"}, limit={"type": "integer"}),
    listed("delete_page", types.ToolAnnotations(destructive_hint=True), **TITLE),
    listed("rename.page", None, **TITLE),
    listed("add_page", ADDITIVE, **TITLE),
    listed("import_pages", ADDITIVE),
    listed("wait", READ_ONLY),
    listed("upload", ADDITIVE),
    listed("learn", ADDITIVE),
    listed("chart", READ_ONLY),
    listed("fail", READ_ONLY),
    listed("die_once", types.ToolAnnotations(destructive_hint=False, idempotent_hint=True)),
    listed("pid", READ_ONLY),
]


def text(said: str, **more: Any) -> types.CallToolResult:
    """A result of one text."""
    return types.CallToolResult(content=[types.TextContent(text=said)], **more)


class Wiki:
    """``heard`` are the methods and the tools' names that arrived; ``legacy`` knows the protocol of 2025 only."""

    def __init__(self, *, legacy: bool = False, memory: Path | None = None) -> None:
        self.pages = ["home"]
        self.heard: list[str] = []
        self.tools = list(TOOLS)
        self.waiting, self.cancelled = asyncio.Event(), asyncio.Event()
        self._legacy, self._memory = legacy, memory
        self._bus = InMemorySubscriptionBus()
        self.server: Server[Any] = Server(
            "wiki",
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        self.server.middleware.append(self._hear)

    def app(self, **options: Any) -> Any:
        """A Starlette application with the endpoint `/mcp`. For one start only."""
        return self.server.streamable_http_app(**options)

    async def announce(self) -> None:
        """Tell those who listen (2026) that the tools have changed."""
        await self._bus.publish(ToolsListChanged())

    async def _hear(self, ctx: Any, call_next: Any) -> Any:
        self.heard.append(ctx.method)
        if self._legacy and ctx.method == "server/discover":
            raise MCPError(types.METHOD_NOT_FOUND, "Method not found")
        return await call_next(ctx)

    async def _list(self, ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self.tools)

    async def _call(self, ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        self.heard.append(params.name)
        run = getattr(self, "_" + params.name.replace(".", "_"))
        result: types.CallToolResult = await run(ctx, **(params.arguments or {}))
        return result

    async def _search(self, ctx: Any, q: str, limit: int) -> types.CallToolResult:
        found = [page for page in self.pages if q in page][:limit]
        return text(f"{len(found)} found", structured_content={"pages": found})

    async def _delete_page(self, ctx: Any, title: str) -> types.CallToolResult:
        self.pages.remove(title)
        return text(f"deleted {title}")

    async def _add_page(self, ctx: Any, title: str) -> types.CallToolResult:
        self.pages.append(title)
        return text("done")

    _rename_page = _add_page

    async def _import_pages(self, ctx: Any) -> types.CallToolResult:
        for done in range(1, 4):
            await ctx.session.report_progress(done, 3, f"page {done}")
        return text("imported")

    async def _learn(self, ctx: Any) -> types.CallToolResult:
        """As in 2025: told on the stream of this very call."""
        await ctx.session.send_notification(types.ToolListChangedNotification(), related_request_id=ctx.request_id)
        return text("learned")

    async def _fail(self, ctx: Any) -> types.CallToolResult:
        return text("the key s3cret-key is wrong", is_error=True)

    async def _pid(self, ctx: Any) -> types.CallToolResult:
        return text(str(os.getpid()))

    async def _wait(self, ctx: Any) -> types.CallToolResult:
        self.waiting.set()
        try:
            await anyio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return text("nobody came")

    _upload = _wait

    async def _chart(self, ctx: Any) -> types.CallToolResult:
        page = types.TextResourceContents(uri="wiki://home", mime_type="text/plain", text="Welcome")
        return types.CallToolResult(
            content=[
                types.TextContent(text="A chart:"),
                types.ImageContent(data=PNG, mime_type="image/png"),
                types.ResourceLink(name="data", uri="wiki://data.csv", mime_type="text/csv", description="the figures"),
                types.EmbeddedResource(resource=page),
            ],
            structured_content={"points": 3},
        )

    async def _die_once(self, ctx: Any) -> types.CallToolResult:
        assert self._memory is not None
        if self._memory.exists():
            return text(f"alive again as {os.getpid()}")
        self._memory.write_text(str(os.getpid()))
        os._exit(3)


async def speak_stdio() -> None:
    """Serve this process's standard input and output."""
    wiki = Wiki(memory=Path(sys.argv[1]))
    async with stdio_server() as (read, write):
        await wiki.server.run(read, write, wiki.server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(speak_stdio)
