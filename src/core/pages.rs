//! Pages that the user went to for a tool server: the client is told when nobody waits for them any more.
//!
//! That they were opened says nothing of their end; that the tool went on does, and so does Codex's word.

use super::cx::Cx;
use super::effect::Effect;
use super::ids::ItemId;
use super::session::{AskKind, OpenAsk, Session};

/// Those that were opened, with the call that sent the user there.
#[derive(Debug, Default)]
pub(crate) struct Pages(Vec<(Option<ItemId>, String)>);

impl Session {
    /// The user has gone to a page.
    pub(super) fn visits(&mut self, item: Option<ItemId>, elicitation: String) {
        self.pages.0.push((item, elicitation));
    }

    /// The user has gone to a page for this tool server, which asked elsewhere.
    pub(super) fn visits_for(&mut self, server: &str, elicitation: String) {
        let item = self.call_that_asks(server, None);
        self.visits(item, elicitation);
    }

    /// The call has ended, and needs its page no more.
    pub(super) fn leaves_page_of(&mut self, cx: &mut Cx<'_>, item: &ItemId) {
        self.leave_pages(cx, |its| its == Some(item));
    }

    /// Nothing of the turn waits for anything.
    pub(super) fn leaves_all_pages(&mut self, cx: &mut Cx<'_>) {
        self.leave_pages(cx, |_| true);
    }

    /// A question was settled elsewhere; a page among them is done with.
    pub(super) fn settled_elsewhere(cx: &mut Cx<'_>, open: &OpenAsk) {
        if let AskKind::Page { elicitation, .. } = &open.kind {
            cx.out.push(Effect::PageOver { elicitation: elicitation.clone() });
        }
    }

    fn leave_pages(&mut self, cx: &mut Cx<'_>, is_over: impl Fn(Option<&ItemId>) -> bool) {
        for (_, elicitation) in self.pages.0.extract_if(.., |(item, _)| is_over(item.as_ref())) {
            cx.out.push(Effect::PageOver { elicitation });
        }
    }
}
