#!/usr/bin/env python3
"""Reads what we sent in v1 transcripts with the strict models of PyPI agent-client-protocol (see requirements.txt).

Writes one event for each message that they refuse or change, and at the end
`decoded {updates, requests, answers, unknown}`: how many of each, and the members that they do not know.
usage: decode.py v1 FILE...
"""

import json
import sys

from acp import schema
from pydantic import TypeAdapter, ValidationError

TOLD = {
    "session/update": schema.SessionNotification,
    "elicitation/complete": schema.CompleteElicitationNotification,
    "$/cancel_request": schema.CancelRequestNotification,
}
ASKED = {
    "session/request_permission": schema.RequestPermissionRequest,
    "elicitation/create": schema.CreateElicitationRequest,
}
ANSWERED = {
    "initialize": schema.InitializeResponse,
    "authenticate": schema.AuthenticateResponse,
    "logout": schema.LogoutResponse,
    "session/new": schema.NewSessionResponse,
    "session/load": schema.LoadSessionResponse,
    "session/resume": schema.ResumeSessionResponse,
    "session/list": schema.ListSessionsResponse,
    "session/close": schema.CloseSessionResponse,
    "session/delete": schema.DeleteSessionResponse,
    "session/fork": schema.ForkSessionResponse,
    "session/prompt": schema.PromptResponse,
    "session/set_mode": schema.SetSessionModeResponse,
    "session/set_config_option": schema.SetSessionConfigOptionResponse,
}
# Updates that the library does not know, by what a client has to declare before it gets one.
DECLARED = {
    "notice": "notices",
    "compaction_update": "compaction",
    "subagent_update": "subagents",
    "session_message": "subagents",
}


def emit(event, **data):
    print(json.dumps({"ev": event, **data}))


def difference(sent, got, path, unknown):
    """The first path at which the library's value differs from the sent one; a member that is gone is `unknown`."""
    if isinstance(sent, dict) and isinstance(got, dict):
        unknown.update(f"{path}/{key}" for key in sent.keys() - got.keys())
        found = (difference(sent[key], got[key], f"{path}/{key}", unknown) for key in sent.keys() & got.keys())
        return next((it for it in found if it), None)
    if isinstance(sent, list) and isinstance(got, list) and len(sent) == len(got):
        found = (difference(one, other, f"{path}/*", unknown) for one, other in zip(sent, got))
        return next((it for it in found if it), None)
    return None if sent == got else {"path": path, "sent": sent, "got": got}


def read(file, what, model, sent, unknown):
    try:
        adapter = TypeAdapter(model)
        got = adapter.dump_python(adapter.validate_python(sent), by_alias=True, exclude_unset=True, mode="json")
    except ValidationError as error:
        return emit("refused", file=file, what=what, why=str(error))
    if found := difference(sent, got, what, unknown):
        emit("changed", file=file, what=what, **found)


def main(files):
    decoded = {"updates": 0, "requests": 0, "answers": 0}
    unknown = set()
    for file in files:
        calls, declared = {}, set()
        with open(file, encoding="utf-8") as lines:
            steps = [json.loads(line) for line in lines]
        for step in steps:
            sent, got = step.get("sent"), step.get("got")
            if isinstance(sent, dict) and "method" in sent and "id" in sent:
                calls[sent["id"]] = sent["method"]
                if sent["method"] == "initialize":
                    capabilities = sent["params"].get("clientCapabilities", {})
                    declared = capabilities.keys() | (capabilities.get("session") or {}).keys()
            if got is None:
                continue
            method = got.get("method")
            update = got.get("params", {}).get("update", {})
            kind = update.get("sessionUpdate")
            if "subagents" in declared and isinstance(update.get("content"), list):
                update["content"] = [it for it in update["content"] if it["type"] != "session"]
            if kind in DECLARED and DECLARED[kind] in declared:
                decoded["updates"] += 1
            elif method in TOLD:
                decoded["updates"] += method != "$/cancel_request"
                read(file, method, TOLD[method], got["params"], unknown)
            elif method is not None:
                decoded["requests"] += 1
                read(file, method, ASKED[method], got["params"], unknown)
            elif got["id"] in calls:
                decoded["answers"] += 1
                method = calls[got["id"]]
                if method not in ANSWERED:
                    unknown.add(method)
                    continue
                model, part = (schema.Error, "error") if "error" in got else (ANSWERED[method], "result")
                read(file, method, model, got[part], unknown)
    emit("decoded", unknown=sorted(unknown), **decoded)


main(sys.argv[2:])
