// The agent process of a test client and the tap on its two pipes.
//
// Every line is reported in wire order, byte for byte, before the SDK sees it: the SDK dispatches
// notifications and responses through separate queues, so what its handlers see is not wire order.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { pathToFileURL } from "node:url";

/** Writes one event. `raw` is JSON text that goes in verbatim under the key `msg`. */
export function emit(ev, data = {}, raw = undefined) {
  const t = performance.timeOrigin + performance.now();
  const head = JSON.stringify({ t, ev, ...data });
  process.stdout.write((raw === undefined ? head : `${head.slice(0, -1)},"msg":${raw}}`) + "\n");
}

/** An error as an event carries it. */
export function failure(error) {
  return { code: error?.code ?? null, message: String(error?.message ?? error), data: error?.data ?? null };
}

// The SDK reports what it cannot accept on the console only.
console.error = (...words) => emit("sdk_error", { words: words.map((word) => (typeof word === "string" ? word : JSON.stringify(word))) });
process.on("unhandledRejection", (error) => emit("sdk_error", { words: ["unhandled rejection", String(error?.stack ?? error)] }));

export class Agent {
  #child;
  #gate = Promise.resolve();
  #openGate = () => {};
  #updates = [];
  exited;

  constructor(command) {
    this.#child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
    this.exited = new Promise((resolve) => {
      this.#child.on("error", (error) => {
        emit("agent_exit", { code: null, signal: null, error: String(error) });
        resolve();
      });
      // "close" comes after the last byte of stdout, "exit" may come before it.
      this.#child.on("close", (code, signal) => {
        emit("agent_exit", { code, signal });
        resolve();
      });
    });
    this.#child.stdin.on("error", (error) => emit("agent_stdin_error", { message: String(error) }));
    emit("agent", { pid: this.#child.pid ?? null });
  }

  /** What the agent writes, as the SDK may read it. */
  input() {
    let rest = Buffer.alloc(0);
    const agent = this;
    return Readable.toWeb(this.#child.stdout).pipeThrough(
      new TransformStream(
        {
          async transform(bytes, controller) {
            await agent.#gate;
            let buffer = rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([rest, bytes]);
            for (let end = buffer.indexOf(10); end >= 0; end = buffer.indexOf(10)) {
              agent.#line(buffer.subarray(0, end));
              buffer = buffer.subarray(end + 1);
            }
            rest = buffer;
            controller.enqueue(bytes);
          },
          flush() {
            if (rest.length > 0) emit("bad_line", { text: rest.toString("latin1"), why: "no newline at the end" });
          },
        },
        { highWaterMark: 1 },
        { highWaterMark: 0 },
      ),
    );
  }

  #line(bytes) {
    let text;
    try {
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
      const message = JSON.parse(text);
      if (message?.method === "session/update") this.#updates.push(message.params);
    } catch (error) {
      return emit("bad_line", { text: bytes.toString("latin1"), why: String(error) });
    }
    emit("wire", { dir: "in" }, text);
  }

  /** Where the SDK may write to the agent. */
  output() {
    const agent = this;
    return new WritableStream({
      write(bytes) {
        emit("wire", { dir: "out" }, Buffer.from(bytes).toString("utf8").trimEnd());
        return agent.write(bytes);
      },
    });
  }

  /** Writes bytes past the SDK. */
  write(bytes) {
    return new Promise((resolve) => this.#child.stdin.write(bytes, () => resolve()));
  }

  /** Stops reading: the agent meets a full pipe. */
  pause() {
    this.#gate = new Promise((resolve) => (this.#openGate = resolve));
  }

  resume() {
    this.#openGate();
  }

  /** Closes the agent's stdin, behind what the SDK has been given already: it writes a few promises later. */
  end() {
    setImmediate(() => this.#child.stdin.end());
  }

  /** Compares an update as the SDK hands it out with what was on the wire: a difference means it was malformed. */
  delivered(params) {
    const sent = this.#updates.shift();
    const changed = difference(sent, params, "");
    if (changed !== undefined) emit("sdk_changed", { update: sent?.update?.sessionUpdate ?? null, ...changed });
  }
}

/** The first path at which the SDK's value differs from the sent one; keys it does not know may be gone. */
export function difference(sent, got, path) {
  if (sent === null || typeof sent !== "object") return sent === got ? undefined : { path, sent, got: got ?? null };
  if (got === null || typeof got !== "object") return { path, sent, got: got ?? null };
  if (Array.isArray(sent) && sent.length !== got.length) return { path, sent, got };
  for (const key of Object.keys(sent)) {
    const changed = difference(sent[key], got[key], `${path}/${key}`);
    if (changed !== undefined) return changed;
  }
  return undefined;
}

/** Imports an entry point of the ACP SDK from the directory that ACP_SDK_NODE_MODULES names. */
export async function importSdk(entry) {
  const dir = process.env.ACP_SDK_NODE_MODULES;
  if (!dir) throw new Error("ACP_SDK_NODE_MODULES must name the node_modules directory that holds @agentclientprotocol/sdk");
  const resolve = createRequire(`${dir}/client.js`).resolve;
  return import(pathToFileURL(resolve(entry)).href);
}
