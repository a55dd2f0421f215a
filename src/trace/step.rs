//! One step of a trace, read back.

use super::{oversized, reach, settings, survey, watch};
use crate::bridge::arrival::Arrival;
use crate::core::codex::Preset;
use crate::core::ids::{Generation, SessionId, StopId, Tick, WatchId};
use crate::core::input::{Found, Pressure, StopReport, SweepReport};
use crate::core::settings::Settings;
use crate::core::vitals::WatchReport;
use crate::envelope::remains::Remains;
use crate::redact::unread::{Unread, Wrong};
use crate::transport::CODEX_LINE_MAX;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// One line of a trace:
/// `{"seq":n,"at":ms,"in":{…},"rule":["…"],"out":[{…}],"note":["…"]}`.
///
/// `in` is one of `client` (a message), `client_unread` (`bytes`, `wrong` and perhaps `column` of a line
/// that is none), `client_oversized` (`id`, `method` and `answer`, as far as they are known), `client_eof`, `codex` (with `generation`; `codex_unread`),
/// `codex_oversized`, `codex_not_started`, `codex_died`, `deadline` (its reason), `client_queue`
/// (`high` or `low`), `swept`, `stop` (`{"id":n,"report":…}`: `signalled` has `with` and `members`,
/// `gone` and `left` have counts, `not_found` nothing), `surveyed` (`session` and `found`), `watched`
/// (`{"id":n,"report":…}`: `vitals` has `pid`, `processes`, `cpu_percent`, `memory` and `started`, `ended`
/// and `not_found` nothing), `page_not_opened` (why), `signal`. `out` has `client`, `codex`,
/// `start_codex`, `end_codex`, `sweep`, `stop` (`{"id":n,"act":…}`: `ask` has `thread` and `item`,
/// `finish` and `forget` nothing), `survey`, `watch` (`{"id":n,"act":…}`: `begin` has `thread` and `item`,
/// `end` nothing), `open_page` (its address), `exit`. `seq` counts from 1 in each run that wrote to the file; the first step of a run
/// has its `settings` too. By hand, a line that is no message can be written as
/// `client_text`, `client_base64`, `codex_text` or `codex_base64`.
#[derive(Clone, Debug)]
pub struct Step {
    pub seq: u64,
    pub at: Tick,
    pub input: Received,
    pub rules: Vec<String>,
    pub out: Vec<Value>,
    pub notes: Vec<String>,
    pub settings: Option<Settings>,
}

/// What arrived, owned.
#[derive(Clone, Debug, PartialEq)]
pub enum Received {
    ClientLine(Vec<u8>),
    /// `line` stands for a line that was not written down.
    ClientUnread {
        unread: Unread,
        line: Vec<u8>,
    },
    ClientOversized(Remains),
    ClientEof,
    CodexLine {
        generation: Generation,
        line: Vec<u8>,
    },
    CodexUnread {
        generation: Generation,
        unread: Unread,
        line: Vec<u8>,
    },
    CodexOversized {
        generation: Generation,
    },
    CodexNotStarted {
        generation: Generation,
        message: String,
    },
    CodexDied {
        generation: Generation,
        how: String,
        stderr: Option<String>,
    },
    Deadline {
        reason: String,
    },
    ClientQueue(Pressure),
    Swept {
        generation: Generation,
        report: SweepReport,
    },
    Stop {
        stop: StopId,
        report: StopReport,
    },
    Surveyed {
        session: SessionId,
        found: Vec<Found>,
    },
    Watched {
        watch: WatchId,
        report: WatchReport,
    },
    PageNotOpened(String),
    Signal(i32),
}

/// Why a line is no step. Carries no text of the line.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    #[error("not the JSON of a step")]
    Json(#[from] serde_json::Error),
    #[error("not base64")]
    Base64(#[from] base64::DecodeError),
    #[error("{0}")]
    Shape(&'static str),
}

#[derive(Deserialize)]
struct Fields<'a> {
    seq: u64,
    at: u64,
    #[serde(borrow, rename = "in")]
    input: &'a RawValue,
    #[serde(default)]
    rule: Vec<String>,
    #[serde(default)]
    out: Vec<Value>,
    #[serde(default)]
    note: Vec<String>,
    settings: Option<Told>,
}

#[derive(Deserialize)]
struct Told {
    nonce: String,
    preset: Option<String>,
    stop_grace: Option<u64>,
    #[serde(default)]
    sign_in: Value,
    connect: Option<String>,
}

/// Messages stay the text they were: their member order is part of what a decoder may see.
#[derive(Deserialize)]
struct Messages<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    client: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    codex: Option<&'a RawValue>,
}

// A plain `Option` would take the message `null` for no message.
fn present<'de, D: Deserializer<'de>>(input: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(input).map(Some)
}

impl Step {
    /// Reads one line.
    ///
    /// # Errors
    /// If it is no step.
    pub fn parse(line: &str) -> Result<Self, StepError> {
        let fields: Fields = serde_json::from_str(line)?;
        Ok(Self {
            seq: fields.seq,
            at: Tick(fields.at),
            input: received(fields.input.get())?,
            rules: fields.rule,
            out: fields.out,
            notes: fields.note,
            settings: fields.settings.map(settings).transpose()?,
        })
    }
}

impl Received {
    /// What to offer to a bridge.
    pub fn arrival(&self) -> Arrival<'_> {
        match self {
            Self::ClientLine(line) | Self::ClientUnread { line, .. } => Arrival::ClientLine(line),
            Self::ClientOversized(remains) => Arrival::ClientOversized(remains),
            Self::ClientEof => Arrival::ClientEof,
            Self::CodexLine { generation, line } | Self::CodexUnread { generation, line, .. } => {
                Arrival::CodexLine { generation: *generation, line }
            }
            Self::CodexOversized { generation } => Arrival::CodexOversized { generation: *generation },
            Self::CodexNotStarted { generation, message } => {
                Arrival::CodexNotStarted { generation: *generation, message }
            }
            Self::CodexDied { generation, how, stderr } => {
                Arrival::CodexDied { generation: *generation, how, stderr: stderr.as_deref() }
            }
            Self::Deadline { .. } => Arrival::Deadline,
            Self::ClientQueue(pressure) => Arrival::ClientQueue(*pressure),
            Self::Swept { generation, report } => Arrival::Swept { generation: *generation, report: *report },
            Self::Stop { stop, report } => Arrival::Stop { stop: *stop, report: *report },
            Self::Surveyed { session, found } => Arrival::Surveyed { session, found },
            Self::Watched { watch, report } => Arrival::Watched { watch: *watch, report: *report },
            Self::PageNotOpened(why) => Arrival::PageNotOpened(why),
            Self::Signal(number) => Arrival::Signal(*number),
        }
    }
}

fn received(text: &str) -> Result<Received, StepError> {
    let messages: Messages = serde_json::from_str(text)?;
    let members: Map<String, Value> = serde_json::from_str(text)?;
    let generation = members.get("generation").map(generation).transpose()?;
    if let Some(raw) = messages.client {
        return Ok(Received::ClientLine(raw.get().into()));
    }
    if let Some(raw) = messages.codex {
        return codex_line(raw.get().into(), generation);
    }
    let Some((name, value)) = members.iter().find(|(name, _)| *name != "generation") else {
        return Err(StepError::Shape("`in` is empty"));
    };
    match name.as_str() {
        "client_text" => Ok(Received::ClientLine(text_of(value)?.into())),
        "client_base64" => Ok(Received::ClientLine(STANDARD.decode(text_of(value)?)?)),
        "client_unread" => {
            let unread = unread(value)?;
            Ok(Received::ClientUnread { unread, line: unread.stand_in() })
        }
        "codex_unread" => {
            let unread = unread(value)?;
            let generation = generation.ok_or(NO_GENERATION)?;
            Ok(Received::CodexUnread { generation, unread, line: unread.stand_in() })
        }
        "client_oversized" => Ok(Received::ClientOversized(oversized::remains(value))),
        "client_eof" => Ok(Received::ClientEof),
        "codex_text" => codex_line(text_of(value)?.into(), generation),
        "codex_base64" => codex_line(STANDARD.decode(text_of(value)?)?, generation),
        "codex_oversized" => Ok(Received::CodexOversized { generation: self::generation(value)? }),
        "codex_not_started" => Ok(Received::CodexNotStarted {
            generation: self::generation(&value["generation"])?,
            message: text_of(&value["message"])?,
        }),
        "codex_died" => Ok(Received::CodexDied {
            generation: self::generation(&value["generation"])?,
            how: text_of(&value["how"])?,
            stderr: value["stderr"].as_str().map(str::to_owned),
        }),
        "deadline" => Ok(Received::Deadline { reason: text_of(value)? }),
        "client_queue" => match value.as_str() {
            Some("high") => Ok(Received::ClientQueue(Pressure::High)),
            Some("low") => Ok(Received::ClientQueue(Pressure::Low)),
            Some(_) | None => Err(StepError::Shape("client_queue is neither high nor low")),
        },
        "swept" => Ok(Received::Swept {
            generation: self::generation(&value["generation"])?,
            report: SweepReport { ended: number(&value["ended"])?, left: number(&value["left"])? },
        }),
        "stop" => {
            let (stop, report) = reach::report(value)?;
            Ok(Received::Stop { stop, report })
        }
        "surveyed" => {
            let (session, found) = survey::found(value)?;
            Ok(Received::Surveyed { session, found })
        }
        "watched" => {
            let (watch, report) = watch::report(value)?;
            Ok(Received::Watched { watch, report })
        }
        "page_not_opened" => Ok(Received::PageNotOpened(text_of(value)?)),
        "signal" => Ok(Received::Signal(number(value)?.cast_signed())),
        _ => Err(StepError::Shape("`in` is of an unknown kind")),
    }
}

const NO_GENERATION: StepError = StepError::Shape("a line of codex without a generation");

fn unread(value: &Value) -> Result<Unread, StepError> {
    let size = |value: &Value| {
        let size = value.as_u64().and_then(|size| usize::try_from(size).ok());
        size.filter(|size| *size <= CODEX_LINE_MAX).ok_or(StepError::Shape("a size is missing"))
    };
    let wrong = match value["wrong"].as_str() {
        Some("not UTF-8") => Wrong::NotUtf8,
        Some("no JSON") => Wrong::NotJson { column: size(&value["column"])? },
        Some("no value") => Wrong::Value,
        Some(_) | None => return Err(StepError::Shape("an unread line without what is wrong with it")),
    };
    Ok(Unread { bytes: size(&value["bytes"])?, wrong })
}

fn settings(told: Told) -> Result<Settings, StepError> {
    let preset = match told.preset {
        None => None,
        Some(name) => Some(Preset::named(&name).ok_or(StepError::Shape("an unknown preset"))?),
    };
    let plain = Settings::plain(told.nonce);
    Ok(Settings {
        preset,
        stop_grace: told.stop_grace.unwrap_or(plain.stop_grace),
        sign_in: settings::means(&told.sign_in),
        connect: told.connect,
        ..plain
    })
}

fn codex_line(line: Vec<u8>, generation: Option<Generation>) -> Result<Received, StepError> {
    let generation = generation.ok_or(NO_GENERATION)?;
    Ok(Received::CodexLine { generation, line })
}

fn generation(value: &Value) -> Result<Generation, StepError> {
    Ok(Generation(number(value)?))
}

pub(super) fn number(value: &Value) -> Result<u32, StepError> {
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    number.ok_or(StepError::Shape("a number is missing"))
}

pub(super) fn text_of(value: &Value) -> Result<String, StepError> {
    value.as_str().map(str::to_owned).ok_or(StepError::Shape("a text is missing"))
}
