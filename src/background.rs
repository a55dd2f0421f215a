//! What outlives a turn: commands, their output, how they end.
//!
//! Knows neither ACP nor JSON nor processes; the core drives it.

pub(crate) mod early;
pub(crate) mod exit;
pub(crate) mod ledger;
pub(crate) mod output;
pub(crate) mod standing;
pub(crate) mod typed;
