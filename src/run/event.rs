//! One thing that happened around the loop, owned.

use crate::bridge::arrival::Arrival;
use crate::child::FromChild;
use crate::core::ids::{Generation, SessionId, StopId, WatchId};
use crate::core::input::{Found, Pressure, StopReport, SweepReport};
use crate::core::vitals::WatchReport;
use crate::envelope::remains::Remains;
use crate::transport::Frame;
use crate::transport::ends::Ends;
use tokio_util::bytes::Bytes;

/// What the loop takes from its inputs.
#[derive(Debug)]
pub(crate) enum Event {
    ClientLine(Bytes),
    ClientOversized(Remains),
    ClientEof,
    Child(FromChild),
    NotStarted { generation: Generation, message: String },
    ClientQueue(Pressure),
    Swept { generation: Generation, report: SweepReport },
    Stop { stop: StopId, report: StopReport },
    Surveyed { session: SessionId, found: Vec<Found> },
    Watched { watch: WatchId, report: WatchReport },
    PageNotOpened(String),
    Signal(i32),
    Deadline,
}

impl Event {
    /// A frame of the client.
    pub(crate) fn of_client(frame: Frame) -> Self {
        match frame {
            Frame::Line(line) => Self::ClientLine(line),
            Frame::Oversized(Ends { head, tail }) => Self::ClientOversized(Remains::of(&head, &tail)),
        }
    }

    /// What the bridge is told.
    pub(crate) fn arrival(&self) -> Arrival<'_> {
        match self {
            Self::ClientLine(line) => Arrival::ClientLine(line),
            Self::ClientOversized(remains) => Arrival::ClientOversized(remains),
            Self::ClientEof => Arrival::ClientEof,
            Self::Child(FromChild::Frame { generation, frame: Frame::Line(line) }) => {
                Arrival::CodexLine { generation: *generation, line }
            }
            Self::Child(FromChild::Frame { generation, frame: Frame::Oversized(_) }) => {
                Arrival::CodexOversized { generation: *generation }
            }
            Self::Child(FromChild::NotStarted { generation, message }) => {
                Arrival::CodexNotStarted { generation: *generation, message }
            }
            Self::Child(FromChild::Died { generation, how, stderr }) => {
                Arrival::CodexDied { generation: *generation, how, stderr: stderr.as_deref() }
            }
            Self::NotStarted { generation, message } => {
                Arrival::CodexNotStarted { generation: *generation, message }
            }
            Self::ClientQueue(pressure) => Arrival::ClientQueue(*pressure),
            Self::Swept { generation, report } => Arrival::Swept { generation: *generation, report: *report },
            Self::Stop { stop, report } => Arrival::Stop { stop: *stop, report: *report },
            Self::Surveyed { session, found } => Arrival::Surveyed { session, found },
            Self::Watched { watch, report } => Arrival::Watched { watch: *watch, report: *report },
            Self::PageNotOpened(why) => Arrival::PageNotOpened(why),
            Self::Signal(number) => Arrival::Signal(*number),
            Self::Deadline => Arrival::Deadline,
        }
    }
}
