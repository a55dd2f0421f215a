//! Test equipment shared by the tests, the demo and the benches.

pub mod belief;
pub mod wire;
