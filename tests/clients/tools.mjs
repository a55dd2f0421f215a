#!/usr/bin/env node
// An MCP server on stdio. usage: node tools.mjs [mute]; a mute one never answers anything.
// Its tools: `wipe` says of itself that it destroys, `hang` reads only and never answers.
import { createInterface } from "node:readline";

const [mode] = process.argv.slice(2);
const schema = { type: "object", properties: { path: { type: "string" } } };
const tools = [
  { name: "wipe", description: "Wipes a path", inputSchema: schema, annotations: { readOnlyHint: false, destructiveHint: true } },
  { name: "hang", description: "Never answers", inputSchema: schema, annotations: { readOnlyHint: true, openWorldHint: false } },
];

function result({ method, params }) {
  switch (method) {
    case "initialize":
      return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "tools", version: "1" } };
    case "tools/list":
      return { tools };
    case "tools/call":
      return params.name === "wipe" ? { content: [{ type: "text", text: `wiped ${params.arguments.path}` }] } : undefined;
    default:
      return {};
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (mode === "mute" || message.id === undefined || message.method === undefined) continue;
  const answer = result(message);
  if (answer !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: answer }));
}
