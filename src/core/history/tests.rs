use super::{Ask, Piece, Reader, WINDOW, WINDOW_BYTES};
use crate::core::codex::{Item, ItemKind};
use crate::core::ids::{ItemId, TurnId};
use crate::core::kept::{HistoryItem, HistoryTurn, Keeping};
use crate::core::update::Update;

/// Reads a history of turns `name@start: item@start …`, two items per page, and says what was asked and
/// told, in order. `*` before an item makes it the user's message, `#` a plan, and `~` one without a time.
fn read(history: &str) -> String {
    let turns: Vec<(String, Option<i64>, Vec<HistoryItem>)> = history.split(" | ").map(turn).collect();
    let mut reader = Reader::new(Keeping::ByItem, Vec::new());
    let mut said = Vec::new();
    while let Some(ask) = reader.ask() {
        let pieces = match ask {
            Ask::Turns { .. } => {
                said.push("turns?".to_owned());
                let turns = turns.iter().map(|(name, began, _)| HistoryTurn {
                    turn: TurnId::new(name.as_str()),
                    began: *began,
                    items: Vec::new(),
                });
                reader.turns_read(turns.collect(), None)
            }
            Ask::Items { turn, cursor } => {
                said.push(format!("{turn}?"));
                let from = cursor.map_or(0, |it| it.parse().expect("ours"));
                let (_, _, items) = turns.iter().find(|(name, ..)| *name == turn.as_str()).expect("listed");
                let page = items.iter().skip(from).take(2).cloned().collect();
                let next = (from + 2 < items.len()).then(|| (from + 2).to_string());
                reader.items_read(page, next)
            }
        };
        said.extend(pieces.iter().map(name));
    }
    said.extend(reader.finish().iter().map(name));
    said.join(" ")
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
    assert_eq!(told, "turns? a? *u a? bg said b? *v w");
}

#[test]
fn the_parts_of_a_review_are_told_as_they_began() {
    // Codex lists the reviewer's turn before the review's own, and both began in the same second.
    let told =
        read("inner@1000: run@1040 more@1045 | outer@1000: entered@1010 left@1050 | c@9000: *v@9001 w@9002");
    assert_eq!(told, "turns? inner? outer? entered run more left c? *v w");
}

#[test]
fn what_is_reported_long_after_its_turn_waits_for_its_place() {
    let told = read("a@1000: *u@1001 late@7000 | b@3000: *v@3001 w@3002 | c@9000: *x@9001");
    assert_eq!(told, "turns? a? *u b? *v w late c? *x");
}

#[test]
fn without_times_the_order_is_codexs() {
    assert_eq!(read("a: u v w | b: x"), "turns? a? a? u v w b? x");
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
    let large = |n: i64| HistoryItem { started: Some(n), size: WINDOW_BYTES / 3, ..item("i") };
    assert_eq!(reader.items_read(vec![large(1), large(2), large(3)], Some("2".into())).len(), 0);
    assert_eq!(reader.items_read(vec![large(4)], Some("3".into())).len(), 1);
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
    let first: Vec<String> =
        reader.items_read(vec![item("u@1001"), item("v@1900")], None).iter().map(name).collect();
    assert_eq!(first, ["u", "living", "v"]);
    reader.ask();
    assert_eq!(reader.items_read(vec![item("w@5001")], None).len(), 2);
}

#[test]
fn a_plan_follows_the_message_in_which_it_stands() {
    let told = |history: &str| read(history).replace("turns? ", "").replace("A? ", "");
    assert_eq!(told("A@1: *p@1 #plan@5 message@5"), "*p message #plan");
    assert_eq!(told("A@1: *p@1 #plan@5 message@6"), "*p #plan message");
    assert_eq!(told("A@1: *p@1 other@5 #plan@5 message@5"), "*p other message #plan");
}
