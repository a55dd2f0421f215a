//! The state machine between the two wires: inputs in, effects out.
//!
//! No I/O, no clock, no async, no JSON: time is a value, what must happen is an `Effect`.

pub mod ask;
pub mod codex;
pub mod effect;
pub mod failure;
pub mod ids;
pub mod input;
pub mod request;
pub mod update;
