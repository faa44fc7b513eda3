// The official TypeScript SDK, first generation (`@modelcontextprotocol/sdk`): node sdk1.mjs TARGETS

import { createRequire } from "node:module";
import { main } from "./scenario.mjs";

const require = createRequire(`${process.env.PEERS}/node_modules/`);
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { SSEClientTransport } = require("@modelcontextprotocol/sdk/client/sse.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const schemas = require("@modelcontextprotocol/sdk/types.js");

await main(async (target, host) => {
  const elicitation = { form: {}, url: {} };
  const capabilities = { elicitation, sampling: {}, roots: { listChanged: true } };
  const client = new Client({ name: "peer-sdk1", version: "1.0.0" }, { capabilities });
  client.setRequestHandler(schemas.ElicitRequestSchema, ({ params }) => host.onElicit(params));
  client.setRequestHandler(schemas.CreateMessageRequestSchema, ({ params }) => host.onSample(params));
  client.setRequestHandler(schemas.ListRootsRequestSchema, () => host.onRoots());
  const { ResourceUpdatedNotificationSchema, LoggingMessageNotificationSchema } = schemas;
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => host.onUpdated(params));
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => host.onLog(params));
  const way = transport(target);
  // The only one who is told what was agreed on.
  let revision;
  const told = way.setProtocolVersion?.bind(way);
  way.setProtocolVersion = (version) => {
    revision = version;
    told?.(version);
  };
  await client.connect(way);
  return {
    client,
    revision: () => revision,
    watch: async (uri) => {
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    call: (params, options) => client.callTool(params, undefined, options),
    close: () => client.close(),
  };
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
