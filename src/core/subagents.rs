//! Subagents: Codex's collab agents as child sessions.

pub(crate) mod asks;
pub(crate) mod call;
pub(crate) mod children;
pub mod collab;
pub(crate) mod messages;
pub(crate) mod ps;
mod relay;
mod released;
pub(crate) mod restore;
pub(crate) mod threads;
