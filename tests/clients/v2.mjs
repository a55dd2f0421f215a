#!/usr/bin/env node
// ACP v2 client on the official SDK, driven by commands on stdin (commands.mjs), events on stdout (agent.mjs).
// usage: node v2.mjs agent-command...
import { Agent, emit, importSdk } from "./agent.mjs";
import { Elicitations, Permissions, serve } from "./commands.mjs";

const acp = await importSdk("@agentclientprotocol/sdk/experimental/v2/unstable");
const { agent: to, client: from } = acp.methods;

const agent = new Agent(process.argv.slice(2));
const permissions = new Permissions();
const elicitations = new Elicitations();
const sessions = new Map();

const connection = acp
  .client({ name: "appserver-acp-tests" })
  .onRequest(from.session.requestPermission, ({ params, signal }) => permissions.answer(params, signal))
  .onRequest(from.elicitation.create, () => elicitations.answer())
  .onNotification(from.elicitation.complete, () => {})
  .onNotification(from.session.update, ({ params }) => agent.delivered(params))
  .connect(acp.ndJsonStream(agent.output(), agent.input()));
// A connection that fails to initialize or breaks is reported by the command that it fails.
connection.initialized.catch(() => {});
const it = connection.agent;

/** Reads the session's queue and reports what the SDK believes runs in the background. */
async function pump(session) {
  for (;;) {
    const { update } = await session.nextUpdate();
    if (update.sessionUpdate === "state_update") {
      emit("sdk_background", { sessionId: session.sessionId, state: update.state, background: session.background ?? null });
    }
  }
}

await serve(agent, {
  initialize: ({ protocolVersion = 2, capabilities = { elicitation: { form: {}, url: {} } } }) =>
    it.request(to.initialize, { protocolVersion, info: { name: "appserver-acp-tests", version: "1" }, capabilities }),
  new: async (params) => {
    const session = await it.buildSession(params).start();
    sessions.set(session.sessionId, session);
    // The queue ends with the session or the connection.
    pump(session).catch(() => {});
    return session.newSessionResponse;
  },
  prompt: ({ sessionId, text, prompt = [{ type: "text", text }], ...rest }) =>
    it.request(to.session.prompt, { sessionId, prompt, ...rest }),
  cancel: ({ sessionId }) => it.notify(to.session.cancel, { sessionId }),
  // Refused by the SDK itself when `capabilities.cancel` of the terminal was not advertised.
  cancelTerminal: ({ sessionId, terminalId }) => {
    const session = sessions.get(sessionId);
    return session ? session.cancelTerminal(terminalId) : it.request(to.terminal.cancel, { sessionId, terminalId });
  },
  cancelTool: ({ sessionId, toolCallId }) => {
    const session = sessions.get(sessionId);
    return session ? session.cancelToolCall(toolCallId) : it.request(to.toolCall.cancel, { sessionId, toolCallId });
  },
  close: async ({ sessionId }) => {
    const result = await it.request(to.session.close, { sessionId });
    sessions.get(sessionId)?.dispose();
    sessions.delete(sessionId);
    return result;
  },
  resume: ({ replay = false, ...params }) =>
    it.request(to.session.resume, replay ? { ...params, replayFrom: { type: "start" } } : params),
  list: (params) => it.request(to.session.list, params),
  setOption: ({ sessionId, configId, value, type = typeof value === "boolean" ? "boolean" : "id" }) =>
    it.request(to.session.setConfigOption, { sessionId, configId, type, value }),
  answer: ({ permission, elicitation }) => {
    if (permission !== undefined) permissions.set(permission);
    if (elicitation !== undefined) elicitations.set(elicitation);
  },
  release: ({ kind, n }) => permissions.release(kind, n),
  request: ({ method, params }) => it.request(method, params),
  notify: ({ method, params }) => it.notify(method, params),
});
