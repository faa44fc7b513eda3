"""The client that openapi-python-client makes: python generated_client.py PLATFORM TOKEN SERVER"""

import json
import sys
import time

from made import AuthenticatedClient
from made.api.lifecycle_and_health import connect_server
from made.api.servers import delete_server, get_server, register_server
from made.api.tools import call_tool, list_tools
from made.models import (
    CallTool,
    CallToolArgumentsType0,
    RegisterRemoteServer,
    RegisterRemoteServerTransportType,
    RemoteConfig,
)

LIMIT = 30
PAUSE = 0.05


def main(platform, token, server):
    with AuthenticatedClient(platform, token, raise_on_unexpected_status=True) as client:
        print(json.dumps(visit(client, server), sort_keys=True))


def visit(client, url):
    body = RegisterRemoteServer(
        name="far",
        transport_type=RegisterRemoteServerTransportType.HTTP,
        connection_config=RemoteConfig(url=url),
        auto_connect=False,
    )
    made = register_server.sync_detailed(client=client, body=body)
    server = made.parsed
    report = {
        "registered": {
            "etag": made.headers["ETag"].split("-")[0],
            "status": server.status,
            "transport_type": server.transport_type,
            "revision": server.revision,
        },
        "twice": problem(register_server.sync(client=client, body=body)),
    }
    connect_server.sync(server.id, client=client)
    report["connected"] = wait_connected(client, server.id)
    tools = list_tools.sync(client=client, server="far")
    report["tools"] = {
        group.name: [tool.name for tool in group.tools] for group in tools.servers
    }
    arguments = CallToolArgumentsType0.from_dict({"n": 1, "text": "ä"})
    result = call_tool.sync(client=client, body=CallTool(name="far.echo", arguments=arguments))
    echoed = result.to_dict()["structuredContent"]
    report["called"] = {
        "arguments": echoed["arguments"],
        "from": echoed["from"],
        "routed_to": result.metadata["routed_to"],
    }
    report["removed"] = delete_server.sync_detailed(server.id, client=client).status_code
    report["gone"] = problem(get_server.sync(server.id, client=client))
    return report


def wait_connected(client, id):
    end = time.monotonic() + LIMIT
    while True:
        status = get_server.sync(id, client=client).status
        if status == "CONNECTED" or time.monotonic() > end:
            return status
        time.sleep(PAUSE)


def problem(found):
    return {"status": found.status, "type": found.type_}


main(*sys.argv[1:])
