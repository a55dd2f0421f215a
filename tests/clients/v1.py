#!/usr/bin/env python3
"""ACP v1 client on PyPI agent-client-protocol (see requirements.txt), whose pydantic models check every message.

Commands and events are those of the clients for node: see commands.mjs and agent.mjs.
usage: v1.py agent-command...
"""

import asyncio
import json
import logging
import sys
import time

from acp import connect_to_agent
from acp.exceptions import RequestError
from acp.interfaces import Client

STREAM_LIMIT = 64 * 1024 * 1024


def emit(event, raw=None, **data):
    head = json.dumps({"t": time.time() * 1000, "ev": event, **data})
    sys.stdout.write((head if raw is None else f'{head[:-1]},"msg":{raw}}}') + "\n")
    sys.stdout.flush()


class Report(logging.Handler):
    """What the library cannot accept it only logs."""

    def emit(self, record):
        if record.levelno >= logging.WARNING:
            why = [repr(record.exc_info[1])] if record.exc_info else []
            emit("sdk_error", words=[record.getMessage(), *why])


class Editor(Client):
    """Permissions are answered by a policy: the kind of option to choose, `cancelled`, or `hold`."""

    policy = "allow_once"

    def __init__(self):
        self.held = []

    async def request_permission(self, options, session_id, tool_call, **meta):
        if self.policy != "hold":
            return self.choose(options, self.policy)
        answer = asyncio.get_running_loop().create_future()
        self.held.append((options, answer))
        return await answer

    def release(self, kind, n=None):
        n = len(self.held) if n is None else n
        held, self.held = self.held[:n], self.held[n:]
        for options, answer in held:
            if not answer.done():
                answer.set_result(self.choose(options, kind))
        return len(held)

    def choose(self, options, kind):
        if kind == "cancelled":
            return {"outcome": {"outcome": "cancelled"}}
        chosen = next(it for it in options if it.kind == kind)
        return {"outcome": {"outcome": "selected", "optionId": chosen.option_id}}

    async def session_update(self, session_id, update, **meta):
        pass


async def tap(source, target):
    """Reports every line of the agent in wire order and hands it on to the library."""
    while line := await source.readline():
        try:
            text = line.decode("utf-8").rstrip("\n")
            json.loads(text)
            emit("wire", dir="in", raw=text)
        except ValueError as error:
            emit("bad_line", text=line.decode("latin-1"), why=str(error))
        target.feed_data(line)
    target.feed_eof()


def to_json(model):
    return None if model is None else model.model_dump(by_alias=True, exclude_none=True, mode="json")


async def run(connection, editor, process, name, args):
    session = args.get("sessionId")
    text = args.get("text", "")
    if name == "initialize":
        return to_json(
            await connection.initialize(
                protocol_version=args.get("protocolVersion", 1), client_capabilities=args.get("capabilities", {})
            )
        )
    if name == "new":
        return to_json(await connection.new_session(cwd=args["cwd"], mcp_servers=args.get("mcpServers", [])))
    if name == "prompt":
        prompt = args.get("prompt", [{"type": "text", "text": text}])
        return to_json(await connection.prompt(session_id=session, prompt=prompt))
    if name == "cancel":
        return await connection.cancel(session_id=session)
    if name == "close":
        return to_json(await connection.close_session(session_id=session))
    if name == "resume":
        verb = connection.load_session if args.get("replay") else connection.resume_session
        return to_json(await verb(session_id=session, cwd=args["cwd"], mcp_servers=[]))
    if name == "list":
        return to_json(await connection.list_sessions())
    if name == "setOption":
        return to_json(
            await connection.set_config_option(session_id=session, config_id=args["configId"], value=args["value"])
        )
    if name == "answer":
        editor.policy = args["permission"]
        return None
    if name == "release":
        return editor.release(args["kind"], args.get("n"))
    if name == "raw":
        process.stdin.write(text.encode())
        return await process.stdin.drain()
    if name == "end":
        return process.stdin.close()
    raise ValueError(f"no such command: {name}")


async def main(command):
    logging.getLogger().addHandler(Report())
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=STREAM_LIMIT
    )
    emit("agent", pid=process.pid)
    incoming = asyncio.StreamReader(limit=STREAM_LIMIT)
    tapped = asyncio.create_task(tap(process.stdout, incoming))

    def watch(event):
        if event.direction.value == "outgoing":
            emit("wire", dir="out", raw=json.dumps(event.message))

    editor = Editor()
    connection = connect_to_agent(editor, process.stdin, incoming, observers=[watch])

    async def answer(id, name, args):
        try:
            emit("done", id=id, result=await run(connection, editor, process, name, args))
        except RequestError as error:
            emit("failed", id=id, error={"code": error.code, "message": str(error), "data": error.data})
        except Exception as error:
            emit("failed", id=id, error={"code": None, "message": repr(error), "data": None})

    commands = asyncio.StreamReader(limit=STREAM_LIMIT)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    running = set()
    while line := await commands.readline():
        args = json.loads(line)
        task = asyncio.create_task(answer(args.pop("id"), args.pop("do"), args))
        running.add(task)
        task.add_done_callback(running.discard)
    process.stdin.close()
    await tapped
    code = await process.wait()
    emit("agent_exit", code=code if code >= 0 else None, signal=-code if code < 0 else None)
    await connection.close()


asyncio.run(main(sys.argv[1:]))
