//! Usage limits of the account.

use crate::codex::bound::bounded;
use crate::codex::misfit::{Misfit, decode_json};
use crate::codex::rate_limit::{WireLimit, WireWindow};
use crate::core::codex::Event;
use crate::core::limits::{LimitWindow, RateLimit};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireUpdated {
    rate_limits: WireLimit,
}

pub(super) fn updated(params: &RawValue) -> Result<Event, Misfit> {
    let WireUpdated { rate_limits } = decode_json(params)?;
    let WireLimit { limit_id, limit_name, primary, secondary } = rate_limits;
    Ok(Event::RateLimit(RateLimit {
        id: limit_id.unwrap_or_default(),
        name: limit_name.map(bounded),
        windows: [primary, secondary].into_iter().map(|it| it.map(window)).collect(),
    }))
}

fn window(wire: WireWindow) -> LimitWindow {
    let resets_at = wire.resets_at.and_then(|at| jiff::Timestamp::from_second(at).ok());
    LimitWindow {
        // A float becomes the nearest `u32` and never wraps; NaN becomes 0.
        used_percent: wire.used_percent.floor() as u32,
        minutes: wire.window_duration_mins,
        resets_at: resets_at.map(|at| at.to_string()),
    }
}
