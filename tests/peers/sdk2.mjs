// The official TypeScript SDK, second generation (`@modelcontextprotocol/client`): node sdk2.mjs TARGETS

import { createRequire } from "node:module";
import { main } from "./scenario.mjs";

const require = createRequire(`${process.env.PEERS}/node_modules/`);
const { Client, SSEClientTransport, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");

await main(async (target, host) => {
  const elicitation = { form: {}, url: {} };
  const capabilities = { elicitation, sampling: {}, roots: { listChanged: true } };
  const modern = target.era === "modern";
  // It opens with `initialize` unless it is told otherwise; `auto` asks for the stateless era first.
  const mode = target.asks ? "auto" : { pin: "2026-07-28" };
  const negotiation = modern ? { versionNegotiation: { mode } } : {};
  const client = new Client({ name: "peer-sdk2", version: "1.0.0" }, { capabilities, ...negotiation });
  client.setRequestHandler("elicitation/create", ({ params }) => host.onElicit(params));
  client.setRequestHandler("sampling/createMessage", ({ params }) => host.onSample(params));
  client.setRequestHandler("roots/list", () => host.onRoots());
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => host.onUpdated(params));
  client.setNotificationHandler("notifications/message", ({ params }) => host.onLog(params));
  await client.connect(transport(target));
  return {
    client,
    revision: () => client.getNegotiatedProtocolVersion(),
    watch: modern ? listen : subscribe,
    call: (params, options) => client.callTool(params, options),
    close: () => client.close(),
  };

  async function subscribe(uri) {
    await client.subscribeResource({ uri });
    return () => client.unsubscribeResource({ uri });
  }

  async function listen(uri) {
    const subscription = await client.listen({ resourceSubscriptions: [uri] });
    return async () => {
      await subscription.close();
      await subscription.closed;
    };
  }
});

function transport({ front, url, command, args }) {
  switch (front) {
    case "http":
      return new StreamableHTTPClientTransport(new URL(url));
    case "sse":
      return new SSEClientTransport(new URL(url));
    default:
      return new StdioClientTransport({ command, args, env: process.env, stderr: "ignore" });
  }
}
