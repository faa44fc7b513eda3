"""What every Python client does with server-everything, step by step, and what it says about it.

The targets come as JSON on the command line, the report goes to stdout as JSON: one object per
target, one entry per step, as scenario.mjs does it. A step that fails leaves {"error"}; what fails
before the first or after the last is the target's "error".
"""

import base64
import json
import os
import re
import sys
from contextlib import asynccontextmanager

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.client.subscriptions import ResourceUpdated

# Each limit is for what stands still; whoever starts this knows how much else the machine has to do.
LIMIT = int(os.environ.get("PATIENCE", "60"))
LIMIT_OF_ALL = 5 * LIMIT
LONG = "trigger-long-running-operation"
WATCHED = "demo://resource/dynamic/text/1"
HEARD_OF = "demo://resource/dynamic/text/2"
DOCUMENT = "demo://resource/static/document/features.md"


def main(connect):
    """Runs all targets one after the other; `connect(target, host)` is the client's part."""
    anyio.run(_main, connect)


async def _main(connect):
    report, end = {}, anyio.current_time() + LIMIT_OF_ALL
    for target in json.loads(sys.argv[1]):
        steps = report[target["name"]] = {}
        try:
            with anyio.fail_after(min(2 * LIMIT, end - anyio.current_time())):
                await visit(connect, target, steps)
        except BaseException as error:
            steps["error"] = words(error)
    print(json.dumps(report), flush=True)


async def visit(connect, target, report):
    host = Host()
    async with connect(target, host) as peer:
        for step in FLEET if target.get("fleet") else STEPS:
            try:
                with anyio.fail_after(LIMIT):
                    report[step.__name__] = await step(peer, host, target)
            except Exception as error:
                report[step.__name__] = {"error": words(error)}


class Host:
    """What the client's user, model and roots answer, and what was asked of them."""

    def __init__(self):
        self.elicited, self.visited, self.sampled = [], [], []
        self.updated, self.logged = [], []
        self.roots_asked = 0
        self.changed = anyio.Event()

    def on_elicit(self, params):
        if isinstance(params, types.ElicitRequestURLParams):
            self.visited.append(params.url)
            return types.ElicitResult(action="accept")
        self.elicited.append(params)
        content = {"name": "Ada", "check": True, "integer": 7}
        return types.ElicitResult(action="accept", content=content)

    def on_sample(self, params):
        self.sampled.append(params)
        return types.CreateMessageResult(
            role="assistant",
            model="peer-model",
            stop_reason="endTurn",
            content=types.TextContent(type="text", text="sampled by the peer"),
        )

    def on_roots(self):
        self.roots_asked += 1
        return [types.Root(uri="file:///peer/root", name="peer root")]

    def on_updated(self, params):
        self.updated.append(str(params.uri))
        self._wake()

    def on_log(self, params):
        self.logged.append(str(params.data))
        self._wake()

    async def until(self, state):
        while not state():
            await self.changed.wait()

    def _wake(self):
        self.changed.set()
        self.changed = anyio.Event()


async def initialize(peer, host, target):
    capabilities = peer.capabilities().model_dump(by_alias=True, exclude_none=True)
    return {
        "revision": peer.revision(),
        "capabilities": sorted(capabilities),
        "instructions": bool(peer.instructions()),
    }


async def tools(peer, host, target):
    return sorted(bare(tool.name, target) for tool in await peer.tools())


async def echo(peer, host, target):
    return text(await call(peer, target, "echo", {"message": "héllo 😀"}))


async def structured(peer, host, target):
    result = await call(peer, target, "get-structured-content", {"location": "Chicago"})
    return result.structured_content


async def progress(peer, host, target):
    # All of it comes too late if this process had to wait as long as the operation takes.
    for duration in (0.2, 2, 20):
        seen = []

        # What comes late belongs to the call before.
        async def on_progress(progress, total, message, seen=seen):
            seen.append([int(progress), int(total)])

        result = await call(peer, target, LONG, {"duration": duration, "steps": 4}, on_progress)
        if seen:
            # What a server tells while a call waits for its client to come again is told to nobody.
            gaps = target["era"] == "modern"
            steps = [progress for progress, _ in seen]
            rising = all(one < next for one, next in zip(steps, steps[1:]))
            whole = steps == list(range(1, len(steps) + 1))
            in_order = steps[0] == 1 and (whole or gaps and rising)
            # The server asks for roots once: its next call has no such gap at the beginning.
            if gaps and not in_order and duration < 20:
                continue
            said = text(result).split(" Duration")[0]
            # If not, what was seen helps to find out why.
            return {"first": seen[0], "inOrder": in_order or seen, "text": said}
    return "none"


async def cancellation(peer, host, target):
    ended = "with a result"
    # The second if this process had to wait as long as the first takes.
    for duration in (1, 10):
        with anyio.CancelScope() as scope:

            async def on_progress(progress, total, message):
                scope.cancel()

            await call(peer, target, LONG, {"duration": duration, "steps": 20}, on_progress)
        if scope.cancelled_caught:
            ended = "cancelled"
            break
    still = text(await call(peer, target, "echo", {"message": "still here"}))
    return {"ended": ended, "then": still}


async def resources(peer, host, target):
    return sorted(str(resource.uri) for resource in await peer.resources())


async def templates(peer, host, target):
    return sorted(template.uri_template for template in await peer.templates())


async def read(peer, host, target):
    [document] = await peer.read(DOCUMENT)
    [made] = await peer.read("demo://resource/dynamic/text/7")
    [blob] = await peer.read("demo://resource/dynamic/blob/7")
    return {
        "document": document.text.split("\n")[0],
        "made": made.text.split(" created")[0],
        "blob": base64.b64decode(blob.blob).decode().split(" created")[0],
    }


async def prompts(peer, host, target):
    return sorted(prompt.name for prompt in await peer.prompts())


async def prompt(peer, host, target):
    messages = await peer.prompt("args-prompt", {"city": "Rome", "state": "Lazio"})
    return [message.content.text for message in messages]


async def completion(peer, host, target):
    of_prompt = types.PromptReference(type="ref/prompt", name="completable-prompt")
    of_resource = types.ResourceTemplateReference(
        type="ref/resource", uri="demo://resource/dynamic/text/{resourceId}"
    )

    async def ask(reference, name, value, given=None):
        return await peer.complete(reference, {"name": name, "value": value}, given)

    return {
        "department": await ask(of_prompt, "department", "S"),
        "name": await ask(of_prompt, "name", "", {"department": "Engineering"}),
        "resource": await ask(of_resource, "resourceId", "7"),
    }


async def elicitation(peer, host, target):
    result = await call(peer, target, "trigger-elicitation-request", {})
    asked = host.elicited[0]
    return {
        "asked": asked.message,
        "fields": len(asked.requested_schema["properties"]),
        "times": len(host.elicited),
        "heard": result.content[1].text,
    }


async def url(peer, host, target):
    async def ask():
        arguments = {"url": "https://example.org/peer", "errorPath": True}
        return await call(peer, target, "trigger-url-elicitation", arguments)

    try:
        await ask()
        refused = "not at all"
    except MCPError as error:
        refused = error.code
    heard = text(await ask()).split("\n")[0]
    return {"refused": refused, "visited": host.visited, "heard": heard}


async def sampling(peer, host, target):
    arguments = {"prompt": "say something", "maxTokens": 50}
    result = await call(peer, target, "trigger-sampling-request", arguments)
    asked = host.sampled[0]
    content = asked.messages[0].content
    content = content[0] if isinstance(content, list) else content
    return {
        "asked": content.text,
        "maxTokens": asked.max_tokens,
        "times": len(host.sampled),
        "answered": "sampled by the peer" in text(result),
    }


async def roots(peer, host, target):
    result = await call(peer, target, "get-roots-list", {})
    return {"listed": "file:///peer/root" in text(result), "asked": host.roots_asked > 0}


async def subscription(peer, host, target):
    async def toggle():
        return text(await call(peer, target, "toggle-subscriber-updates", {}))

    async with peer.watch(WATCHED):
        first = await toggle()
        await host.until(lambda: host.updated)
        second = await toggle()

    async def again():
        before = len(host.updated)
        await toggle()
        await call(peer, target, "echo", {"message": "a way there and back"})
        await toggle()
        return len(host.updated) - before

    afterwards, times = await again(), 0
    # In the stateless era nobody says when the end of a subscription has arrived.
    while target["era"] == "modern" and afterwards and times < 9:
        afterwards, times = await again(), times + 1
    return {
        "toggled": [words.split(" ")[0] for words in (first, second)],
        "updated": host.updated[0],
        "afterwards": afterwards,
    }


async def logging(peer, host, target):
    async def heard(words):
        await host.until(lambda: any(line.startswith(words) for line in host.logged))

    if target["era"] == "modern":
        return await logging_alone(peer, host, target)
    await peer.set_level("info")
    async with peer.watch(HEARD_OF):
        await heard(f"Received Subscribe Resource request for URI: {HEARD_OF}")
    # Over HTTP it may come after the answer; the SDK's SSE client breaks if it comes after the end.
    await heard(f"Received Unsubscribe Resource request: {HEARD_OF}")
    return "heard"


async def logging_alone(peer, host, target):
    """In the stateless era messages come with the requests that have asked for them."""
    # Over Streamable HTTP this server logs on a stream that belongs to no request.
    if target["name"].endswith("-before-http"):
        return "nothing to hear"
    # Of another client of the same server it may be on already: then this switches it off.
    for _ in range(4):
        await call(peer, target, "toggle-simulated-logging", {})
        if any(re.search("level.message", line) for line in host.logged):
            return "heard"
    return "not heard"


STEPS = [
    initialize, tools, echo, structured, progress, cancellation, resources, templates, read,
    prompts, prompt, completion, elicitation, url, sampling, roots, subscription, logging,
]  # fmt: skip


async def revision(peer, host, target):
    return peer.revision()


async def servers(peer, host, target):
    return sorted({tool.name.split(target["separator"])[0] for tool in await peer.tools()})


async def time(peer, host, target):
    arguments = {"source_timezone": "Etc/UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    result = await peer.call(f"time{target['separator']}convert_time", arguments, None)
    return json.loads(text(result))["time_difference"]


async def git(peer, host, target):
    arguments = {"repo_path": target["fleet"]}
    result = await peer.call(f"git{target['separator']}git_status", arguments, None)
    return "working tree clean" in text(result)


# What is done where several servers of both eras are behind one endpoint.
FLEET = [revision, servers, echo, elicitation, time, git]


async def call(peer, target, name, arguments, on_progress=None):
    return await peer.call(target["prefix"] + name, arguments, on_progress)


@asynccontextmanager
async def listening(subscription, host):
    """Hands the updates of a subscription of the stateless era to the host while it is open."""

    async def pass_on(updates):
        async for event in updates:
            if isinstance(event, ResourceUpdated):
                host.on_updated(event)

    async with subscription as updates, anyio.create_task_group() as group:
        group.start_soon(pass_on, updates)
        yield
        group.cancel_scope.cancel()


def bare(name, target):
    ours = name.startswith(target["prefix"])
    return name[len(target["prefix"]) :] if ours else f"not ours: {name}"


def text(result):
    return next(part.text for part in result.content if part.type == "text")


def words(error):
    """An error with what it wraps: a group says nothing by itself."""
    inner = "; ".join(words(one) for one in getattr(error, "exceptions", ()))
    return f"{type(error).__name__}: {error}" + (f" ({inner})" if inner else "")
