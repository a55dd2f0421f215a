//! The three map files, parsed once, and the index into them.
//!
//! Owns the shape of the files. Whether they are complete is for the tests to say.

use crate::map::error::MapError;
use crate::map::row::{ItemEvent, Kind, Row, RuleId, Side, Verdict};
use crate::map::values::Values;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

const FILES: [(Side, &str, &str); 3] = [
    (Side::Codex, "codex.toml", include_str!("../../protocol-map/codex.toml")),
    (Side::V1, "acp-v1.toml", include_str!("../../protocol-map/acp-v1.toml")),
    (Side::V2, "acp-v2.toml", include_str!("../../protocol-map/acp-v2.toml")),
];

/// The map of this build.
pub(crate) fn embedded() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| Table::parse(&FILES).expect("held by the test that parses the map"))
}

type Key = (Side, Kind, &'static str, Option<ItemEvent>);

/// Rows and value tables with an index by name.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Row>,
    values: Vec<Values>,
    index: HashMap<Key, usize>,
}

impl Table {
    /// Parse map files, given as side, file name and text. The text of the rows is kept for the
    /// life of the process.
    pub fn parse(files: &[(Side, &'static str, &str)]) -> Result<Self, MapError> {
        let mut rows = Vec::new();
        let mut values = Vec::new();
        for (side, file, text) in files {
            let parsed: File =
                toml::from_str(text).map_err(|source| MapError::Toml { file, source: Box::new(source) })?;
            parsed.unfold(*side, &mut rows, &mut values);
        }
        // The first of two equal keys wins; a test forbids the second.
        let mut index = HashMap::with_capacity(rows.len());
        for (row_idx, row) in rows.iter().enumerate() {
            index.entry((row.side, row.kind, row.name, row.event)).or_insert(row_idx);
        }
        Ok(Self { rows, values, index })
    }

    /// All rows, in the order of the files.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// All value tables, in the order of the files.
    #[must_use]
    pub fn values(&self) -> &[Values] {
        &self.values
    }

    /// The row of a name that has no events.
    #[must_use]
    pub fn get(&self, side: Side, kind: Kind, name: &str) -> Option<&Row> {
        self.row((side, kind, name, None))
    }

    /// The row of an item kind at an event.
    #[must_use]
    pub fn item(&self, name: &str, event: ItemEvent) -> Option<&Row> {
        self.row((Side::Codex, Kind::CodexItem, name, Some(event)))
            .or_else(|| self.row((Side::Codex, Kind::CodexItem, name, None)))
    }

    fn row<'k>(&self, key: (Side, Kind, &'k str, Option<ItemEvent>)) -> Option<&Row> {
        let index: &HashMap<(Side, Kind, &'k str, Option<ItemEvent>), usize> = &self.index;
        let row_idx = *index.get(&key)?;
        self.rows.get(row_idx)
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    request: Vec<FileRow>,
    notification: Vec<FileRow>,
    server_request: Vec<FileRow>,
    item: Vec<FileRow>,
    client_request: Vec<FileRow>,
    client_notification: Vec<FileRow>,
    agent_request: Vec<FileRow>,
    agent_notification: Vec<FileRow>,
    update: Vec<FileRow>,
    agent_capability: Vec<FileRow>,
    client_capability: Vec<FileRow>,
    values: Vec<FileValues>,
}

impl File {
    fn unfold(self, side: Side, rows: &mut Vec<Row>, values: &mut Vec<Values>) {
        let client_notification = match side {
            Side::Codex => Kind::CodexClientNotification,
            Side::V1 | Side::V2 => Kind::AcpClientNotification,
        };
        for (kind, group) in [
            (Kind::CodexRequest, self.request),
            (Kind::AcpClientRequest, self.client_request),
            (client_notification, self.client_notification),
            (Kind::CodexNotification, self.notification),
            (Kind::CodexServerRequest, self.server_request),
            (Kind::CodexItem, self.item),
            (Kind::AcpAgentRequest, self.agent_request),
            (Kind::AcpAgentNotification, self.agent_notification),
            (Kind::AcpUpdate, self.update),
            (Kind::AcpAgentCapability, self.agent_capability),
            (Kind::AcpClientCapability, self.client_capability),
        ] {
            rows.extend(group.into_iter().map(|row| row.unfold(side, kind)));
        }
        values.extend(self.values.into_iter().map(|it| it.unfold(side)));
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRow {
    #[serde(rename = "codex", alias = "acp")]
    name: String,
    event: Option<ItemEvent>,
    rule: String,
    verdict: Verdict,
    #[serde(rename = "to", alias = "from", default)]
    other: String,
    #[serde(default)]
    note: String,
    #[serde(default)]
    undeclared: bool,
}

impl FileRow {
    fn unfold(self, side: Side, kind: Kind) -> Row {
        Row {
            side,
            kind,
            name: keep(self.name),
            event: self.event,
            rule: RuleId::new(keep(self.rule)),
            verdict: self.verdict,
            other: keep(self.other),
            note: keep(self.note),
            undeclared: self.undeclared,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileValues {
    set: String,
    keys: Option<String>,
    into: Option<String>,
    rule: String,
    #[serde(default)]
    note: String,
    #[serde(default)]
    map: BTreeMap<String, String>,
    #[serde(default)]
    ignored: BTreeMap<String, String>,
}

impl FileValues {
    fn unfold(self, side: Side) -> Values {
        let set = keep(self.set);
        Values {
            side,
            set,
            keys: self.keys.map_or(set, keep),
            into: self.into.map(keep),
            rule: RuleId::new(keep(self.rule)),
            note: keep(self.note),
            map: keep_all(self.map),
            ignored: keep_all(self.ignored),
        }
    }
}

fn keep_all(map: BTreeMap<String, String>) -> BTreeMap<&'static str, &'static str> {
    map.into_iter().map(|(name, value)| (keep(name), keep(value))).collect()
}

// The map lives as long as the process, so that a rule id can be copied into any trace line.
fn keep(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}
