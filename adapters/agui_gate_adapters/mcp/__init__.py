"""Tools of MCP servers (stdio and streamable HTTP) as tools of an agent."""

from .source import MCPTools

__all__ = ["MCPTools"]
