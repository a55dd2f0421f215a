#!/usr/bin/env node
// An MCP server on stdio. usage: node tools.mjs [mute | http]; a mute one never answers anything. With `http` it listens
// on a port of 127.0.0.1, which is its first line, until its stdin ends, and lets in who sends the header `x-pass: open`.
// Its tools: `wipe` says of itself that it destroys, `hang` reads only and never answers, `paint` reads only, tells
// how far it is and answers with an image, `list` reads only and answers with a link, a resource and a sound.
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const [mode] = process.argv.slice(2);
const schema = { type: "object", properties: { path: { type: "string" } } };
const tools = [
  { name: "wipe", description: "Wipes a path", inputSchema: schema, annotations: { readOnlyHint: false, destructiveHint: true } },
  { name: "hang", description: "Never answers", inputSchema: schema, annotations: { readOnlyHint: true, openWorldHint: false } },
  { name: "paint", description: "Paints", inputSchema: schema, annotations: { readOnlyHint: true, openWorldHint: false } },
  { name: "list", description: "Lists", inputSchema: schema, annotations: { readOnlyHint: true, openWorldHint: false } },
];
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

const say = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));

function call({ name, arguments: args, _meta }) {
  switch (name) {
    case "wipe":
      return { content: [{ type: "text", text: `wiped ${args.path}` }] };
    case "paint":
      say({ method: "notifications/progress", params: { progressToken: _meta?.progressToken, progress: 1, total: 2, message: "mixing colours" } });
      return { content: [{ type: "text", text: "painted" }, { type: "image", data: pixel, mimeType: "image/png" }] };
    case "list":
      return {
        content: [
          { type: "resource_link", uri: "file:///x/a.md", name: "a.md" },
          { type: "resource", resource: { uri: "mem:1", mimeType: "text/plain", text: "its text" } },
          { type: "audio", data: "AAAA", mimeType: "audio/wav" },
        ],
      };
    default:
      return undefined;
  }
}

function result({ method, params }) {
  switch (method) {
    case "initialize":
      return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "tools", version: "1" } };
    case "tools/list":
      return { tools };
    case "tools/call":
      return call(params);
    default:
      return {};
  }
}

async function serve(request, response) {
  const end = (status, body) => response.writeHead(status, { "content-type": "application/json" }).end(body);
  if (request.headers["x-pass"] !== "open") return end(403);
  if (request.method !== "POST") return end(405);
  let text = "";
  for await (const chunk of request) text += chunk;
  const message = JSON.parse(text);
  if (message.id === undefined) return end(202);
  return end(200, JSON.stringify({ jsonrpc: "2.0", id: message.id, result: result(message) }));
}

if (mode === "http") {
  const server = createServer(serve).listen(0, "127.0.0.1", () => console.log(server.address().port));
  for await (const _ of createInterface({ input: process.stdin }));
  process.exit(0);
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (mode === "mute" || message.id === undefined || message.method === undefined) continue;
  const answer = result(message);
  if (answer !== undefined) say({ id: message.id, result: answer });
}
