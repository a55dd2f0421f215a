use super::Renewals;
use crate::core::ids::{SessionId, ThreadId};

#[test]
fn a_session_keeps_its_id_from_thread_to_thread() {
    let (one, two, three) = (ThreadId::new("one"), ThreadId::new("two"), ThreadId::new("three"));
    let session = SessionId::of(&one);
    let mut renewals = Renewals::default();
    assert_eq!((renewals.session(&one), renewals.thread(&session)), (session.clone(), one));
    for thread in [two.clone(), three.clone()] {
        renewals.add(thread.clone(), &session);
        assert_eq!((renewals.session(&thread), renewals.thread(&session)), (session.clone(), thread));
    }
    // What was given up is nobody's.
    assert_eq!(renewals.session(&two), SessionId::of(&two));
    assert_eq!(renewals.thread(&SessionId::of(&three)), three, "an id that only Codex knows");
}
