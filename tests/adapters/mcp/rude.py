"""An MCP server written by hand, for what the SDK's own never says. Run with a manner, it speaks stdio."""

import json
import sys
from typing import Any

SCHEMA = {"type": "object", "properties": {}}
NAMED = {"name": "look", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}
BEGUN = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "r", "version": "1"}}


def answer(manner: str, method: str) -> dict[str, Any]:
    """The rest of a response."""
    match method, manner:
        case "initialize", _:
            return {"result": BEGUN}
        case "tools/list", "lists badly":
            return {"result": {"tools": [{"description": "a tool without a name"}]}}
        case "tools/list", _:
            return {"result": {"tools": [NAMED]}}
        case "tools/call", "asks":
            return {"result": {"content": [{"type": "text", "text": refused()}], "isError": True}}
        case "tools/call", _:
            return {"error": {"code": -32000, "message": "The index is being built."}}
    return {"error": {"code": -32601, "message": "no such method"}}


def refused() -> str:
    """What it is told when it asks a person something."""
    params = {"message": "Sure?", "requestedSchema": SCHEMA}
    print(json.dumps({"jsonrpc": "2.0", "id": "e", "method": "elicitation/create", "params": params}), flush=True)
    reply = next(told for line in sys.stdin if (told := json.loads(line)).get("id") == "e")
    return str(reply["error"]["message"])


if __name__ == "__main__":
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer(sys.argv[1], asked["method"])}), flush=True)
