"""The official Python SDK (`mcp`): python python_sdk.py TARGETS"""

import os
import warnings
from contextlib import asynccontextmanager

import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client

import scenario

# What the stateless era no longer has is deprecated, and is what is tested here.
warnings.simplefilter("ignore")


@asynccontextmanager
async def connect(target, host):
    async def sample(context, params):
        return host.on_sample(params)

    async def elicit(context, params):
        return host.on_elicit(params)

    async def list_roots(context):
        return types.ListRootsResult(roots=host.on_roots())

    async def log(params):
        host.on_log(params)

    async def message(message):
        if isinstance(message, types.ResourceUpdatedNotification):
            host.on_updated(message.params)

    modern = target["era"] == "modern"
    # `auto` asks for the stateless era first; with a revision it goes without asking.
    era = "legacy" if not modern else "auto" if target["asks"] else "2026-07-28"
    async with Client(
        server(target),
        mode=era,
        log_level="debug" if modern else None,
        sampling_callback=sample,
        elicitation_callback=elicit,
        list_roots_callback=list_roots,
        logging_callback=log,
        message_handler=message,
        client_info=types.Implementation(name="peer-python", version="1.0.0"),
    ) as client:
        yield Peer(client, host, modern)


def server(target):
    if target["front"] == "http":
        return target["url"]
    if target["front"] == "sse":
        return sse_client(target["url"])
    return StdioServerParameters(
        command=target["command"], args=target["args"], env=dict(os.environ)
    )


class Peer:
    def __init__(self, client, host, modern):
        self.client, self.host, self.modern = client, host, modern

    def revision(self):
        return self.client.protocol_version

    def capabilities(self):
        return self.client.server_capabilities

    def instructions(self):
        return self.client.instructions

    async def tools(self):
        return (await self.client.list_tools()).tools

    async def call(self, name, arguments, on_progress):
        return await self.client.call_tool(name, arguments, progress_callback=on_progress)

    async def resources(self):
        return (await self.client.list_resources()).resources

    async def templates(self):
        return (await self.client.list_resource_templates()).resource_templates

    async def read(self, uri):
        return (await self.client.read_resource(uri)).contents

    async def prompts(self):
        return (await self.client.list_prompts()).prompts

    async def prompt(self, name, arguments):
        return (await self.client.get_prompt(name, arguments)).messages

    async def complete(self, reference, argument, given):
        return (await self.client.complete(reference, argument, given)).completion.values

    @asynccontextmanager
    async def watch(self, uri):
        if self.modern:
            async with scenario.listening(self.client.listen(resource_subscriptions=[uri]), self.host):
                yield
            return
        await self.client.subscribe_resource(uri)
        yield
        await self.client.unsubscribe_resource(uri)

    async def set_level(self, level):
        await self.client.set_logging_level(level)


scenario.main(connect)
