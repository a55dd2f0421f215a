#!/usr/bin/env node
// Plays transcripts to the official SDK's client, in memory: it sends what the client sent and reads what we sent.
// usage: node decode.mjs v1|v2 FILE...
//
// Writes one event for each thing that the SDK refuses or changes, and at the end `decoded {updates, requests, answers}`.
import { readFileSync } from "node:fs";
import { difference, emit, failure, importSdk } from "./agent.mjs";

const [version, ...files] = process.argv.slice(2);
const acp = await importSdk(`@agentclientprotocol/sdk/${version === "v2" ? "experimental/v2/unstable" : "unstable"}`);
const from = acp.methods.client;
const decoded = { updates: 0, requests: 0, answers: 0 };

/** The messages that one side wrote, for whoever waits for the next. */
class Pipe {
  #written = [];
  #waiting = [];

  put(value) {
    const waiting = this.#waiting.shift();
    waiting ? waiting(value) : this.#written.push(value);
  }

  next() {
    return this.#written.length > 0 ? this.#written.shift() : new Promise((resolve) => this.#waiting.push(resolve));
  }
}

async function play(lines, file) {
  const written = new Pipe();
  const updates = new Pipe();
  let feed;
  const input = new ReadableStream({ start: (controller) => (feed = controller) });
  const output = new WritableStream({
    write: (bytes) => new TextDecoder().decode(bytes).trim().split("\n").forEach((line) => written.put(JSON.parse(line))),
  });
  const ask = ({ params, signal }) =>
    new Promise((resolve, reject) => {
      written.put({ params, resolve });
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  const connection = acp
    .client({ name: "transcripts" })
    .onRequest(from.session.requestPermission, ask)
    .onRequest(from.elicitation.create, ask)
    .onNotification(from.elicitation.complete, ({ params }) => updates.put(params))
    .onNotification(from.session.update, ({ params }) => updates.put(params))
    .connect(acp.ndJsonStream(output, input));
  connection.initialized?.catch(() => {});

  const changed = (what, sent, got) => {
    const found = difference(version === "v1" ? withoutSessions(sent) : sent, got, "");
    if (found !== undefined) emit("sdk_changed", { file, what, ...found });
  };
  // Our ids as the SDK chose them, and what became of its requests.
  const calls = new Map();
  const questions = new Map();
  const receive = (message) => feed.enqueue(new TextEncoder().encode(`${JSON.stringify(message)}\n`));

  for (const { sent, got } of lines) {
    if (sent?.method !== undefined && sent.id !== undefined) {
      const outcome = connection.agent.request(sent.method, sent.params).then(
        (result) => ({ result }),
        (error) => ({ error: failure(error) }),
      );
      const { id } = await written.next();
      calls.set(sent.id, { method: sent.method, outcome, id });
    } else if (sent?.method !== undefined && !sent.method.startsWith("$/")) {
      await connection.agent.notify(sent.method, sent.params);
      await written.next();
    } else if (sent?.id !== undefined && questions.has(sent.id)) {
      // Errors of a client are nothing that we sent.
      questions.get(sent.id).resolve(sent.result ?? { outcome: { outcome: "cancelled" }, action: "cancel" });
      questions.delete(sent.id);
      await written.next();
    } else if (got?.method === "session/update" || got?.method === "elicitation/complete") {
      receive(got);
      changed(got.params.update?.sessionUpdate ?? got.method, got.params, await updates.next());
      decoded.updates += 1;
    } else if (got?.method === "$/cancel_request") {
      receive(got);
      if (questions.delete(got.params.requestId)) await written.next();
    } else if (got?.method !== undefined) {
      receive(got);
      // One that the SDK cannot read is answered by it and never reaches the handler.
      const question = await written.next();
      if (question.resolve === undefined) throw new Error(`${got.method} refused: ${JSON.stringify(question)}`);
      changed(got.method, got.params, question.params);
      questions.set(got.id, question);
      decoded.requests += 1;
    } else if (got !== undefined) {
      const call = calls.get(got.id);
      // An answer to what no SDK would send has nobody who could read it.
      if (call === undefined) continue;
      receive({ ...got, id: call.id });
      const { result, error } = await call.outcome;
      const { code, message, data = null } = got.error ?? {};
      changed(call.method, got.error ? { code, message, data } : got.result, got.error ? error : result);
      decoded.answers += 1;
    }
  }
  connection.close();
}

/** A v1 client of SDK 2.4.0 knows no calls that name the session of a subagent, though it knows its updates. */
function withoutSessions(sent) {
  const content = sent?.update?.content;
  if (!Array.isArray(content)) return sent;
  return { ...sent, update: { ...sent.update, content: content.filter((it) => it.type !== "session") } };
}

let giveUp;
// Nothing is left that could happen, and something is still waited for.
process.on("beforeExit", () => giveUp && setImmediate(giveUp, new Error("the SDK neither took a line nor refused it")));

async function all() {
  for (const file of files) {
    const lines = readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line));
    const stalled = new Promise((_, reject) => (giveUp = reject));
    await Promise.race([play(lines, file), stalled]).catch((error) => emit("broken", { file, ...failure(error) }));
  }
  giveUp = undefined;
  emit("decoded", decoded);
}
all();
