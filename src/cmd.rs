//! Subcommands as library functions: each takes its parsed arguments and a writer.
pub mod map;
