//! Subcommands as library functions: each takes its parsed arguments and a writer.
pub mod doctor;
pub mod explain;
pub mod login;
pub mod map;
pub mod replay;
