#!/usr/bin/env node
// ACP v1 client on the official SDK, driven by commands on stdin (commands.mjs), events on stdout (agent.mjs).
// usage: node v1.mjs agent-command...
import { Agent, importSdk } from "./agent.mjs";
import { Elicitations, Permissions, serve } from "./commands.mjs";

// Its stable entry knows no subagents.
const acp = await importSdk(process.env.ACP_SDK_ENTRY ?? "@agentclientprotocol/sdk");
const { agent: to, client: from } = acp.methods;

const agent = new Agent(process.argv.slice(2));
const permissions = new Permissions();
const elicitations = new Elicitations();

const connection = acp
  .client({ name: "appserver-acp-tests" })
  .onRequest(from.session.requestPermission, ({ params, signal }) => permissions.answer(params, signal))
  .onRequest(from.elicitation.create, () => elicitations.answer())
  .onNotification(from.elicitation.complete, () => {})
  .onNotification(from.session.update, ({ params }) => agent.delivered(params))
  .connect(acp.ndJsonStream(agent.output(), agent.input()));
const it = connection.agent;

await serve(agent, {
  initialize: ({ protocolVersion = 1, capabilities = {} }) =>
    it.request(to.initialize, {
      protocolVersion,
      clientInfo: { name: "appserver-acp-tests", version: "1" },
      clientCapabilities: capabilities,
    }),
  new: ({ mcpServers = [], ...params }) => it.request(to.session.new, { mcpServers, ...params }),
  prompt: ({ sessionId, text, prompt = [{ type: "text", text }], ...rest }) =>
    it.request(to.session.prompt, { sessionId, prompt, ...rest }),
  cancel: ({ sessionId }) => it.notify(to.session.cancel, { sessionId }),
  close: ({ sessionId }) => it.request(to.session.close, { sessionId }),
  resume: ({ replay = false, mcpServers = [], ...params }) =>
    it.request(replay ? to.session.load : to.session.resume, { mcpServers, ...params }),
  list: (params) => it.request(to.session.list, params),
  setOption: ({ sessionId, configId, value, ...rest }) =>
    it.request(to.session.setConfigOption, { sessionId, configId, value, ...rest }),
  answer: ({ permission, elicitation }) => {
    if (permission !== undefined) permissions.set(permission);
    if (elicitation !== undefined) elicitations.set(elicitation);
  },
  release: ({ kind, n }) => permissions.release(kind, n),
  request: ({ method, params }) => it.request(method, params),
  notify: ({ method, params }) => it.notify(method, params),
});
