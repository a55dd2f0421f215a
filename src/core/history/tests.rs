use super::{AHEAD, Ask, Piece, Reader, WINDOW, WINDOW_BYTES};
use crate::core::codex::{Item, ItemKind};
use crate::core::ids::{ItemId, TurnId};
use crate::core::kept::{HistoryItem, HistoryTurn, Keeping};
use crate::core::update::Update;

/// Reads a history of turns `name@start: item@start …`, two items per page, and says what was asked and
/// told, in order. `*` before an item makes it the user's message, `#` a plan, and `~` one without a time.
fn read(history: &str) -> String {
    answered(history, |_| 0).join(" ")
}

/// The same; of `n` pages that are on their way, number `which(n)` comes next.
fn answered(history: &str, mut which: impl FnMut(usize) -> usize) -> Vec<String> {
    let turns: Vec<(String, Option<i64>, Vec<HistoryItem>)> = history.split(" | ").map(turn).collect();
    let mut reader = Reader::new(Keeping::ByItem, Vec::new());
    let (mut said, mut asked) = (Vec::new(), Vec::new());
    loop {
        while let Some(ask) = reader.ask() {
            match &ask {
                Ask::Turns { .. } => said.push("turns?".to_owned()),
                Ask::Items { turn, .. } => said.push(format!("{turn}?")),
            }
            asked.push(ask);
        }
        if asked.is_empty() {
            break;
        }
        assert!(asked.len() <= AHEAD + 1, "{} pages are on their way", asked.len());
        let pieces = match asked.remove(which(asked.len())) {
            Ask::Turns { .. } => {
                let turns = turns.iter().map(|(name, began, _)| HistoryTurn {
                    turn: TurnId::new(name.as_str()),
                    began: *began,
                    items: Vec::new(),
                });
                reader.turns_read(turns.collect(), None)
            }
            Ask::Items { turn, cursor } => {
                let from = cursor.map_or(0, |it| it.parse().expect("ours"));
                let (_, _, items) = turns.iter().find(|(name, ..)| *name == turn.as_str()).expect("listed");
                let page = items.iter().skip(from).take(2).cloned().collect();
                let next = (from + 2 < items.len()).then(|| (from + 2).to_string());
                reader.items_read(&turn, page, next)
            }
        };
        said.extend(pieces.iter().map(name));
    }
    assert!(reader.is_at_end());
    said.extend(reader.finish().iter().map(name));
    said
}

fn turn(text: &str) -> (String, Option<i64>, Vec<HistoryItem>) {
    let (head, items) = text.split_once(": ").expect("a turn has items");
    let (name, began) = head.split_once('@').map_or((head, None), |(name, at)| (name, at.parse().ok()));
    (name.to_owned(), began, items.split(' ').map(item).collect())
}

fn item(text: &str) -> HistoryItem {
    let (name, started) = match text.split_once('@') {
        Some((name, at)) => (name, at.parse().ok()),
        None => (text, None),
    };
    let kind = match name.chars().next() {
        Some('*') => ItemKind::UserMessage { key: None, content: Vec::new() },
        Some('#') => ItemKind::Plan { text: String::new() },
        Some(_) | None => ItemKind::AgentMessage { text: String::new() },
    };
    HistoryItem { turn: None, item: Item { id: ItemId::new(name), kind }, started, size: 10 }
}

fn name(piece: &Piece) -> String {
    match piece {
        Piece::Item(it) => it.item.id.to_string(),
        Piece::Living(_) => "living".to_owned(),
    }
}

#[test]
fn a_command_that_outlived_its_turn_is_told_where_it_began() {
    let told = read("a@1000: *u@1001 said@1500 bg@1200 | b@5000: *v@5001 w@5002");
    assert_eq!(told, "turns? a? *u a? b? bg said *v w");
}

#[test]
fn the_parts_of_a_review_are_told_as_they_began() {
    // Codex lists the reviewer's turn before the review's own, and both began in the same second.
    let told =
        read("inner@1000: run@1040 more@1045 | outer@1000: entered@1010 left@1050 | c@9000: *v@9001 w@9002");
    assert_eq!(told, "turns? inner? outer? c? entered run more left *v w");
}

#[test]
fn what_is_reported_long_after_its_turn_waits_for_its_place() {
    let told = read("a@1000: *u@1001 late@7000 | b@3000: *v@3001 w@3002 | c@9000: *x@9001");
    assert_eq!(told, "turns? a? *u b? c? *v w late *x");
}

#[test]
fn without_times_the_order_is_codexs() {
    assert_eq!(read("a: u v w | b: x"), "turns? a? a? b? u v w x");
}

#[test]
fn a_long_turn_begins_at_once_and_waits_no_longer_than_the_window() {
    let items: Vec<String> = (0..2 * WINDOW).map(|n| format!("i{n}@{}", 2000 + n)).collect();
    let told = read(&format!("a@1000: *u@1001 {}", items.join(" ")));
    let words: Vec<&str> = told.split(' ').collect();
    let at = |word: &str| words.iter().position(|it| *it == word).expect("told");
    assert_eq!(words[..3], ["turns?", "a?", "*u"], "the first page brings the first update");
    let asked = words[..at("i0")].iter().filter(|it| it.ends_with('?')).count();
    assert_eq!(asked, 1 + WINDOW / 2 + 1);
    let in_order = (1..2 * WINDOW).all(|n| at(&format!("i{}", n - 1)) < at(&format!("i{n}")));
    assert!(in_order);
}

#[test]
fn what_waits_is_bounded_in_bytes_too() {
    let mut reader = Reader::new(Keeping::ByItem, Vec::new());
    let name = HistoryTurn { turn: TurnId::new("a"), began: Some(0), items: Vec::new() };
    reader.turns_read(vec![name], None);
    reader.ask();
    let (a, large) =
        (TurnId::new("a"), |n: i64| HistoryItem { started: Some(n), size: WINDOW_BYTES / 3, ..item("i") });
    assert_eq!(reader.items_read(&a, vec![large(1), large(2), large(3)], Some("2".into())).len(), 0);
    assert_eq!(reader.items_read(&a, vec![large(4)], Some("3".into())).len(), 1);
}

#[test]
fn what_lives_has_its_place_too() {
    let living = |at| (at, vec![Update::ReplayComplete]);
    let mut reader = Reader::new(Keeping::ByItem, vec![living(9_000), living(1_500)]);
    let names = [("a", 1_000), ("b", 5_000)].map(|(name, began)| HistoryTurn {
        turn: TurnId::new(name),
        began: Some(began),
        items: Vec::new(),
    });
    reader.turns_read(names.into(), None);
    reader.ask();
    let first: Vec<String> = reader
        .items_read(&TurnId::new("a"), vec![item("u@1001"), item("v@1900")], None)
        .iter()
        .map(name)
        .collect();
    assert_eq!(first, ["u", "living", "v"]);
    reader.ask();
    assert_eq!(reader.items_read(&TurnId::new("b"), vec![item("w@5001")], None).len(), 2);
}

/// A history of so many turns with one item each, without a time.
fn turns_of_one(n: usize) -> String {
    (0..n).map(|n| format!("t{n}@{n}000: *u{n}@{n}001")).collect::<Vec<_>>().join(" | ")
}

#[test]
fn several_turns_are_asked_for_at_once_and_the_first_is_told_first() {
    let said = answered(&turns_of_one(40), |_| 0);
    assert_eq!(said[..3], ["turns?", "t0?", "*u0"], "one at first: its answer is the first update");
    let mut on_their_way: i32 = 0;
    let most = said.iter().map(|it| {
        on_their_way += if it.ends_with('?') { 1 } else { -1 };
        on_their_way
    });
    // The names are one of them.
    assert_eq!(most.max(), i32::try_from(1 + AHEAD).ok());
}

#[test]
fn what_is_told_does_not_depend_on_which_answer_comes_first() {
    let told = |said: Vec<String>| said.into_iter().filter(|it| !it.ends_with('?')).collect::<Vec<_>>();
    let mixed = "a@1000: *u@1001 bg@1002 x@1500 y@1600 z@1700 | b@3000: *v@3001 late@9500 | c@9000: *w@9001 \
        p@9300 q@9100 | d@9000: r@9050 | e@20000: s t";
    for history in [mixed.to_owned(), turns_of_one(40), format!("{mixed} | {}", turns_of_one(12))] {
        let in_order = told(answered(&history, |_| 0));
        assert_eq!(told(answered(&history, |n| n - 1)), in_order, "the newest first");
        let mut state: u64 = 1;
        for _ in 0..200 {
            let any = |n: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                usize::try_from(state >> 33).expect("31 bits") % n
            };
            assert_eq!(told(answered(&history, any)), in_order);
        }
    }
}

#[test]
fn after_a_large_page_no_more_are_asked_for_than_fit() {
    let mut reader = Reader::new(Keeping::ByItem, Vec::new());
    let names = (0..40).map(|n| HistoryTurn {
        turn: TurnId::new(format!("t{n}")),
        began: Some(n),
        items: Vec::new(),
    });
    reader.ask();
    reader.turns_read(names.collect(), None);
    let mut asked = std::collections::VecDeque::new();
    let mut answer = |size: usize| {
        asked.extend(std::iter::from_fn(|| reader.ask()));
        let Some(Ask::Items { turn, .. }) = asked.pop_front() else { panic!("{asked:?}") };
        reader.items_read(&turn, vec![HistoryItem { size, ..item("i") }], None);
        asked.extend(std::iter::from_fn(|| reader.ask()));
        asked.len()
    };
    let in_flight = [10; 9].map(&mut answer);
    assert_eq!(in_flight, [2, 3, 4, 5, 6, 7, 8, 8, 8]);
    // Those that are on their way come; then one at a time, and more again when they are small.
    let in_flight = [WINDOW_BYTES; 9].map(&mut answer);
    assert_eq!(in_flight, [7, 6, 5, 4, 3, 2, 1, 1, 1]);
    assert_eq!([WINDOW_BYTES / 3; 3].map(&mut answer), [2, 3, 3]);
}

#[test]
fn a_plan_follows_the_message_in_which_it_stands() {
    let told = |history: &str| read(history).replace("turns? ", "").replace("A? ", "");
    assert_eq!(told("A@1: *p@1 #plan@5 message@5"), "*p message #plan");
    assert_eq!(told("A@1: *p@1 #plan@5 message@6"), "*p #plan message");
    assert_eq!(told("A@1: *p@1 other@5 #plan@5 message@5"), "*p other message #plan");
}
