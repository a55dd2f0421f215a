//! A fake app-server for faults that a real Codex does not show on request.
//!
//! A test writes a [`FakeScript`]; the binary `fake-app-server` plays it on stdio.

mod binary;
mod player;
mod recorded;
mod script;

pub use binary::binary;
pub use player::play;
pub use recorded::{notification, result};
pub use script::{Event, FakeScript, Reaction, SCRIPT_VARIABLE};
