// The command loop of a test client: one JSON object per line on stdin, `{"id":1,"do":"prompt",...}`.
//
// Commands run side by side. Each ends in an event `done {id, result}` or `failed {id, error}`.
// The end of stdin is the end of the agent's stdin; the client goes when the agent is gone.
import readline from "node:readline";
import { emit, failure } from "./agent.mjs";

export async function serve(agent, verbs) {
  const common = {
    raw: ({ text, base64 }) => agent.write(base64 === undefined ? text : Buffer.from(base64, "base64")),
    pause: () => agent.pause(),
    continue: () => agent.resume(),
    end: () => agent.end(),
  };
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { id, do: name, ...args } = JSON.parse(line);
    const verb = verbs[name] ?? common[name];
    // The verb starts before the next line is read, so commands reach the wire in their order.
    const running = (async () => {
      if (!verb) throw new Error(`no such command: ${name}`);
      return verb(args);
    })();
    running.then(
      (result) => emit("done", { id, result: result ?? null }),
      (error) => emit("failed", { id, error: failure(error) }),
    );
  }
  agent.resume();
  agent.end();
  await agent.exited;
}

/** Answers permission requests by a policy: the kind or the name of the option to choose, `cancelled`, or `hold`. */
export class Permissions {
  #policy = "allow_once";
  #held = [];

  set(policy) {
    this.#policy = policy;
  }

  /** Answers what is held, or the `n` oldest of it, oldest first. */
  release(kind, n = this.#held.length) {
    const held = this.#held.splice(0, n);
    for (const { options, resolve } of held) resolve(choose(options, kind));
    return held.length;
  }

  answer(params, signal) {
    if (this.#policy !== "hold") return choose(params.options, this.#policy);
    return new Promise((resolve, reject) => {
      const entry = { options: params.options, resolve };
      this.#held.push(entry);
      signal.addEventListener("abort", () => {
        this.#held = this.#held.filter((it) => it !== entry);
        emit("permission_withdrawn");
        reject(signal.reason);
      });
    });
  }
}

function choose(options, kind) {
  const option = options.find((it) => it.kind === kind || it.name === kind);
  if (kind === "cancelled") return { outcome: { outcome: "cancelled" } };
  if (!option) throw new Error(`no option ${kind} among ${options.map((it) => it.kind)}`);
  return { outcome: { outcome: "selected", optionId: option.optionId } };
}

/** Answers elicitations: `{action:"accept",content}`, `{action:"decline"}` (the default), `{action:"cancel"}`. */
export class Elicitations {
  #answer = { action: "decline" };

  set(answer) {
    this.#answer = answer;
  }

  answer() {
    return this.#answer;
  }
}
