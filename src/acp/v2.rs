//! Protocol version 2: what leaves us. Keeps no state.

mod ask;
mod convert;
mod result;
mod update;

pub(crate) use self::ask::{ask, fits};
pub(crate) use self::result::result;
pub(crate) use self::update::update;
