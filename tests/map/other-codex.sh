#!/bin/sh
# A Codex of another version: few names, some of them new.
if [ "$1" = --version ]; then
    echo "codex-cli 9.9.9"
    exit 0
fi
for out; do :; done
cat > "$out/codex_app_server_protocol.schemas.json" <<'JSON'
{"definitions": {
  "ClientRequest": {"oneOf": [{"properties": {"method": {"enum": ["new/request"]}}}]},
  "ClientNotification": {"oneOf": [{"properties": {"method": {"enum": ["initialized"]}}}]},
  "ServerNotification": {"oneOf": [{"properties": {"method": {"enum": ["new/notification"]}}}]},
  "ServerRequest": {"oneOf": [{"properties": {"method": {"enum": ["item/new/ask"]}}}]},
  "v2": {"ThreadItem": {"oneOf": [{"properties": {"type": {"enum": ["newItem"]}}}]}}
}}
JSON
