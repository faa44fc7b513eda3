#!/usr/bin/env python3
"""A demo MCP server over stdio, standard library only: dates and times."""

import json
import sys
from datetime import date, datetime, timedelta, timezone

TOOLS = [
    {
        "name": "now",
        "description": "The current date and time in UTC (ISO 8601).",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "add_days",
        "description": "The date that lies a number of days after (or before) a given date.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "date": {"type": "string", "description": "YYYY-MM-DD"},
                "days": {"type": "integer"},
            },
            "required": ["date", "days"],
        },
        "annotations": {"readOnlyHint": True},
    },
]


def call(name, arguments):
    if name == "now":
        return datetime.now(timezone.utc).isoformat(timespec="seconds")
    if name == "add_days":
        day = date.fromisoformat(arguments["date"]) + timedelta(days=int(arguments["days"]))
        return day.isoformat()
    raise KeyError(name)


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2025-11-25"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "demo-clock", "version": "1.0.0"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        try:
            text, failed = call(params["name"], params.get("arguments") or {}), False
        except Exception as error:  # a tool's failure is a result the model can read
            text, failed = f"{type(error).__name__}: {error}", True
        return {"content": [{"type": "text", "text": text}], "isError": failed}
    if method == "ping":
        return {}
    return None


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request or "method" not in request:
        continue
    result = answer(request["method"], request.get("params") or {})
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    if result is None:
        reply["error"] = {"code": -32601, "message": f"Method not found: {request['method']}"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)
