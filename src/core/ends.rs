//! How commands ended that did not end by themselves: Codex keeps the code alone, so a replay asks here.
//!
//! Kept beside the sessions, for a close ends what it says why. Gone with this process.

use super::ids::{ItemId, SessionId, TurnId};
use super::update::{EndedBy, Exit, FinalStatus};
use std::collections::{BTreeMap, VecDeque};

/// Ends that are remembered at most; the oldest are forgotten.
const KEPT: usize = 4_096;

/// A command: an item id alone may come again in another turn.
type Key = (SessionId, TurnId, ItemId);

/// The ends that were told.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    told: BTreeMap<Key, (Exit, FinalStatus)>,
    /// Oldest first.
    order: VecDeque<Key>,
}

impl Ends {
    /// The end of a command is told.
    pub(crate) fn keep(
        &mut self,
        session: &SessionId,
        turn: &TurnId,
        item: &ItemId,
        end: (&Exit, FinalStatus),
    ) {
        if end.0.account.by == EndedBy::Itself {
            return;
        }
        let key = (session.clone(), turn.clone(), item.clone());
        if self.told.insert(key.clone(), (end.0.clone(), end.1)).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.told.remove(&oldest);
        }
    }

    /// How it was told to have ended, if it did not by itself.
    pub(crate) fn of(
        &self,
        session: &SessionId,
        turn: &TurnId,
        item: &ItemId,
    ) -> Option<(Exit, FinalStatus)> {
        self.told.get(&(session.clone(), turn.clone(), item.clone())).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::{Ends, KEPT};
    use crate::core::ids::{ItemId, SessionId, TurnId};
    use crate::core::update::{EndedBy, Exit, ExitAccount, ExitStatus, FinalStatus};

    fn exit(by: EndedBy) -> Exit {
        Exit { status: ExitStatus::Unknown, account: ExitAccount { by, ..ExitAccount::default() } }
    }

    #[test]
    fn what_ended_by_itself_needs_no_memory_and_the_rest_has_a_bound() {
        let mut ends = Ends::default();
        let (session, turn) = (SessionId::new("s"), TurnId::new("t"));
        let item = |n: usize| ItemId::new(format!("i{n}"));
        ends.keep(&session, &turn, &item(0), (&exit(EndedBy::Itself), FinalStatus::Completed));
        assert_eq!(ends.of(&session, &turn, &item(0)), None);
        for n in 0..=KEPT {
            ends.keep(&session, &turn, &item(n), (&exit(EndedBy::Client), FinalStatus::Failed));
        }
        assert_eq!(ends.of(&session, &turn, &item(0)), None, "the oldest is forgotten");
        assert_eq!(ends.of(&session, &turn, &item(KEPT)), Some((exit(EndedBy::Client), FinalStatus::Failed)));
        assert_eq!(ends.of(&session, &TurnId::new("u"), &item(KEPT)), None, "the id in another turn");
    }
}
