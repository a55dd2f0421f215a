//! A turn as Codex describes it.

use super::event::notice::WireTurnError;
use crate::core::codex::TurnEnd;
use crate::core::fault::Fault;
use crate::core::ids::TurnId;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireTurn<'a> {
    id: String,
    root_turn_id: Option<String>,
    status: Option<String>,
    #[serde(borrow)]
    error: Option<WireTurnError<'a>>,
}

impl WireTurn<'_> {
    pub(super) fn id(&self) -> TurnId {
        TurnId::new(self.id.as_str())
    }

    /// The turn that it goes back to.
    pub(super) fn root(&self) -> Option<TurnId> {
        self.root_turn_id.as_deref().map(TurnId::new)
    }

    pub(super) fn runs(&self) -> bool {
        self.status.as_deref() == Some("inProgress")
    }

    /// How it ended, if it did.
    pub(super) fn end(self) -> TurnEnd {
        match (self.status.as_deref(), self.error) {
            (Some("interrupted"), _) => TurnEnd::Interrupted,
            (Some("failed"), Some(error)) => TurnEnd::Failed(error.fault()),
            (Some("failed"), None) => TurnEnd::Failed(Fault::plain("")),
            // A status of a new kind must not keep the turn open.
            _ => TurnEnd::Completed,
        }
    }
}
