//! The protocol-map is complete, names nothing that does not exist, and says why.

#[path = "map/acp.rs"]
mod acp;
#[path = "map/cmd.rs"]
mod cmd;
#[path = "map/codex.rs"]
mod codex;
#[path = "map/rows.rs"]
mod rows;
