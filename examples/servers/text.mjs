#!/usr/bin/env node
// A demo MCP server over stdio, without packages: small things to do with text.

import { createInterface } from "node:readline";

const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };

const tools = {
  count: {
    description: "Counts the characters, words and lines of a text.",
    run: ({ text }) =>
      `${[...text].length} characters, ${text.split(/\s+/).filter(Boolean).length} words, ` +
      `${text.split("\n").length} lines`,
  },
  slug: {
    description: "Turns a title into a slug for a URL.",
    run: ({ text }) =>
      text.normalize("NFKD").toLowerCase().replace(/[^\w]+/g, "-").replace(/^-+|-+$/g, ""),
  },
};

const answers = {
  initialize: ({ protocolVersion = "2025-11-25" }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "demo-text", version: "1.0.0" },
  }),
  "tools/list": () => ({
    tools: Object.entries(tools).map(([name, { description }]) => ({
      name,
      description,
      inputSchema: text,
      annotations: { readOnlyHint: true },
    })),
  }),
  "tools/call": ({ name, arguments: input = {} }) => {
    try {
      return { content: [{ type: "text", text: tools[name].run(input) }], isError: false };
    } catch (error) {
      return { content: [{ type: "text", text: String(error) }], isError: true };
    }
  },
  ping: () => ({}),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined || method === undefined) return;
  const answer = answers[method];
  const outcome = answer
    ? { result: answer(params) }
    : { error: { code: -32601, message: `Method not found: ${method}` } };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }) + "\n");
});
