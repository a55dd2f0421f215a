//! Real clients on the official SDK, this adapter, the real Codex, and a scripted model.
//!
//! Nothing waits for a time: every wait is for a condition, and fails with what was seen when it does not come.

/// Makes a test of each `async fn name(version: Version)` for each protocol version.
macro_rules! in_both_versions {
    ($($name:ident),* $(,)?) => {
        mod v1 {
            $(#[tokio::test] async fn $name() { super::$name(testkit::belief::Version::V1).await; })*
        }
        mod v2 {
            $(#[tokio::test] async fn $name() { super::$name(testkit::belief::Version::V2).await; })*
        }
    };
}

/// Tests that take a stage and the namespace of the set of tools, under both sets.
macro_rules! in_both_tool_sets {
    ($($name:ident),* $(,)?) => {
        mod older_tools {
            $(#[tokio::test] async fn $name() {
                let test = async |stage: &crate::stage::Stage| super::$name(stage, "multi_agent_v1").await;
                crate::stage::play_with(crate::subagents::older, test).await;
            })*
        }
        mod newer_tools {
            $(#[tokio::test] async fn $name() {
                let test = async |stage: &crate::stage::Stage| super::$name(stage, "collaboration").await;
                crate::stage::play_with(crate::subagents::newer, test).await;
            })*
        }
    };
}

mod client;
mod live;
mod seen;
mod server;
mod session;
mod stage;

mod approvals;
mod asks;
mod cancel;
mod choices;
mod connected;
mod decode;
mod edits;
mod ends;
mod exits;
mod failures;
mod goals;
mod hooks;
mod hostile;
mod injection;
mod input;
mod lines;
mod local;
mod map;
mod neighbour;
mod output;
mod removals;
mod returns;
mod sessions;
mod shown;
mod signin;
mod silence;
mod slash;
mod states;
mod stops;
mod story;
mod subagents;
mod tools;
mod turns;
mod typing;
#[path = "../replay/view.rs"]
mod view;
mod waits;
mod watching;
mod withdrawn;
