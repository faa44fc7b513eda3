"""The FastMCP client (`fastmcp`): python fastmcp_client.py TARGETS"""

import os
import warnings
from contextlib import asynccontextmanager

import mcp_types as types
from fastmcp import Client
from fastmcp.client.messages import MessageHandler
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
from mcp.client.subscriptions import listen

import scenario

warnings.simplefilter("ignore")


@asynccontextmanager
async def connect(target, host):
    async def sample(messages, params, context):
        return host.on_sample(params)

    async def elicit(message, response_type, params, context):
        return host.on_elicit(params)

    async def list_roots(context):
        return host.on_roots()

    async def log(params):
        host.on_log(params)

    class Messages(MessageHandler):
        async def on_resource_updated(self, message):
            host.on_updated(message.params)

    modern = target["era"] == "modern"
    # `auto` asks for the stateless era first; with a revision it goes without asking.
    era = "legacy" if not modern else "auto" if target["asks"] else "2026-07-28"
    async with Client(
        transport(target),
        mode=era,
        roots=list_roots,
        sampling_handler=sample,
        elicitation_handler=elicit,
        log_handler=log,
        message_handler=Messages(),
        client_info=types.Implementation(name="peer-fastmcp", version="1.0.0"),
    ) as client:
        yield Peer(client, host, modern)


def transport(target):
    if target["front"] == "http":
        return StreamableHttpTransport(target["url"])
    if target["front"] == "sse":
        return SSETransport(target["url"])
    return StdioTransport(target["command"], target["args"], env=dict(os.environ), keep_alive=False)


class Peer:
    def __init__(self, client, host, modern):
        self.client, self.host, self.modern = client, host, modern

    def revision(self):
        return self.client.session.protocol_version

    def capabilities(self):
        return self.client.server_capabilities

    def instructions(self):
        return self.client.instructions

    async def tools(self):
        return await self.client.list_tools()

    async def call(self, name, arguments, on_progress):
        return await self.client.call_tool(name, arguments, progress_handler=on_progress)

    async def resources(self):
        return await self.client.list_resources()

    async def templates(self):
        return await self.client.list_resource_templates()

    async def read(self, uri):
        return await self.client.read_resource(uri)

    async def prompts(self):
        return await self.client.list_prompts()

    async def prompt(self, name, arguments):
        return (await self.client.get_prompt(name, arguments)).messages

    async def complete(self, reference, argument, given):
        return (await self.client.complete(reference, argument, given)).values

    # FastMCP has no words of its own for these; its session has.
    @asynccontextmanager
    async def watch(self, uri):
        session = self.client.session
        if self.modern:
            async with scenario.listening(listen(session, resource_subscriptions=[uri]), self.host):
                yield
            return
        await session.subscribe_resource(uri)
        yield
        await session.unsubscribe_resource(uri)

    async def set_level(self, level):
        await self.client.set_logging_level(level)


scenario.main(connect)
