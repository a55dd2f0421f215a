//! The ACP sides against the JSON schema that the schema crate makes of its own types.

use agent_client_protocol_schema::{v1, v2};
use appserver_acp::map;
use appserver_acp::map::row::{Kind, Side};
use appserver_acp::map::schema::names;
use schemars::JsonSchema;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

#[test]
fn every_name_of_acp_v1_has_a_row_and_every_row_a_name() {
    let schema = Schema {
        client_requests: methods::<v1::ClientRequest>(),
        client_notifications: methods::<v1::ClientNotification>(),
        agent_requests: methods::<v1::AgentRequest>(),
        agent_notifications: methods::<v1::AgentNotification>(),
        both_ways: methods::<v1::ProtocolLevelNotification>(),
        definitions: [
            definitions::<v1::ClientRequest>(),
            definitions::<v1::AgentRequest>(),
            definitions::<v1::AgentNotification>(),
            definitions::<v1::AgentResponse>(),
            definitions::<v1::ClientResponse>(),
        ]
        .into_iter()
        .flatten()
        .collect(),
    };
    check_messages(Side::V1, &schema);
    check_values(
        Side::V1,
        &schema,
        &[
            ("v1.content.block", "ContentBlock"),
            ("v1.elicitation.action", "CreateElicitationResponse"),
            ("v1.elicitation.mode", "CreateElicitationRequest"),
            ("v1.notice.severity", "NoticeSeverity"),
            ("v1.permission.kind", "PermissionOptionKind"),
            ("v1.permission.outcome", "RequestPermissionOutcome"),
            ("v1.plan.priority", "PlanEntryPriority"),
            ("v1.plan.status", "PlanEntryStatus"),
            ("v1.stop.reason", "StopReason"),
            ("v1.tool.content", "ToolCallContent"),
            ("v1.tool.kind", "ToolKind"),
            ("v1.tool.status", "ToolCallStatus"),
        ],
    );
}

#[test]
fn every_name_of_acp_v2_has_a_row_and_every_row_a_name() {
    let schema = Schema {
        client_requests: methods::<v2::ClientRequest>(),
        client_notifications: methods::<v2::ClientNotification>(),
        agent_requests: methods::<v2::AgentRequest>(),
        agent_notifications: methods::<v2::AgentNotification>(),
        both_ways: methods::<v2::ProtocolLevelNotification>(),
        definitions: [
            definitions::<v2::ClientRequest>(),
            definitions::<v2::AgentRequest>(),
            definitions::<v2::AgentNotification>(),
            definitions::<v2::AgentResponse>(),
            definitions::<v2::ClientResponse>(),
        ]
        .into_iter()
        .flatten()
        .collect(),
    };
    check_messages(Side::V2, &schema);
    check_values(
        Side::V2,
        &schema,
        &[
            ("v2.background.work", "BackgroundWork"),
            ("v2.content.block", "ContentBlock"),
            ("v2.diff.operation", "DiffChange"),
            ("v2.elicitation.action", "CreateElicitationResponse"),
            ("v2.elicitation.mode", "CreateElicitationRequest"),
            ("v2.notice.severity", "NoticeSeverity"),
            ("v2.permission.kind", "PermissionOptionKind"),
            ("v2.permission.outcome", "RequestPermissionOutcome"),
            ("v2.permission.subject", "RequestPermissionSubject"),
            ("v2.plan.content", "PlanUpdateContent"),
            ("v2.plan.priority", "PlanEntryPriority"),
            ("v2.plan.status", "PlanEntryStatus"),
            ("v2.replay.from", "ReplayFrom"),
            ("v2.state", "StateUpdate"),
            ("v2.stop.reason", "IdleStateUpdate"),
            ("v2.tool.content", "ToolCallContent"),
            ("v2.tool.kind", "ToolKind"),
            ("v2.tool.status", "ToolCallStatus"),
        ],
    );
}

struct Schema {
    client_requests: BTreeSet<String>,
    client_notifications: BTreeSet<String>,
    agent_requests: BTreeSet<String>,
    agent_notifications: BTreeSet<String>,
    both_ways: BTreeSet<String>,
    definitions: Map<String, Value>,
}

impl Schema {
    fn definition(&self, name: &str) -> &Value {
        self.definitions.get(name).unwrap_or_else(|| panic!("no definition {name}"))
    }

    fn paths(&self, name: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        self.collect_paths(self.definition(name), "", &mut found);
        found
    }

    fn collect_paths(&self, schema: &Value, prefix: &str, found: &mut BTreeSet<String>) {
        let properties = self.resolve(schema).get("properties").and_then(Value::as_object);
        for (key, property) in properties.into_iter().flatten().filter(|it| it.0 != "_meta") {
            let path = format!("{prefix}{key}");
            self.collect_paths(property, &format!("{path}."), found);
            found.insert(path);
        }
    }

    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let name = reference.rsplit('/').next().expect("a split has a last part");
            return self.resolve(self.definition(name));
        }
        let alternatives = ["anyOf", "allOf"].iter().find_map(|key| schema.get(key)?.as_array());
        match alternatives.into_iter().flatten().find(|it| it["type"] != "null") {
            Some(alternative) => self.resolve(alternative),
            None => schema,
        }
    }
}

fn check_messages(side: Side, schema: &Schema) {
    let with_both = |names: &BTreeSet<String>| names.union(&schema.both_ways).cloned().collect();
    for (kind, declared) in [
        (Kind::AcpClientRequest, schema.client_requests.clone()),
        (Kind::AcpClientNotification, with_both(&schema.client_notifications)),
        (Kind::AcpAgentRequest, schema.agent_requests.clone()),
        (Kind::AcpAgentNotification, with_both(&schema.agent_notifications)),
        (Kind::AcpUpdate, names(schema.definition("SessionUpdate"))),
        (Kind::AcpAgentCapability, schema.paths("AgentCapabilities")),
        (Kind::AcpClientCapability, schema.paths("ClientCapabilities")),
    ] {
        assert!(!declared.is_empty(), "no {kind:?} in the schema");
        let rows = |undeclared: bool| -> BTreeSet<String> {
            map::rows()
                .iter()
                .filter(|row| (row.side, row.kind, row.undeclared) == (side, kind, undeclared))
                .map(|row| row.name.to_owned())
                .collect()
        };
        assert_eq!(rows(false), declared, "{side:?} {kind:?}");
        assert!(rows(true).is_disjoint(&declared), "{side:?} {kind:?}: declared after all");
    }
}

fn check_values(side: Side, schema: &Schema, sets: &[(&'static str, &str)]) {
    let own = map::value_sets().iter().filter(|it| it.side == side && it.keys == it.set);
    let tables: BTreeSet<_> = own.map(|it| it.set).collect();
    assert_eq!(tables, sets.iter().map(|(set, _)| *set).collect());
    for (set, definition) in sets {
        let rows: BTreeSet<_> =
            map::values(set).expect("in the list above").names().map(str::to_owned).collect();
        assert_eq!(rows, names(schema.definition(definition)), "{set}");
    }
}

fn methods<T: JsonSchema>() -> BTreeSet<String> {
    let root = schemars::schema_for!(T).to_value();
    let definitions = &root["$defs"];
    let alternatives = root["anyOf"].as_array().expect("an enum of messages");
    let references = alternatives.iter().filter_map(|it| it["$ref"].as_str());
    let named = references.map(|it| &definitions[it.rsplit('/').next().expect("a split has a last part")]);
    named.filter_map(|it| it["x-method"].as_str()).map(str::to_owned).collect()
}

fn definitions<T: JsonSchema>() -> Map<String, Value> {
    let root = schemars::schema_for!(T).to_value();
    root["$defs"].as_object().expect("payloads are definitions").clone()
}
