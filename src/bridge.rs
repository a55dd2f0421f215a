//! Both codecs around the core: lines in, lines out.

pub mod arrival;
pub mod departure;
