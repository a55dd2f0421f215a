use super::{HALF, News, Output};
use proptest::prelude::*;

fn chunk(text: &str) -> Option<News> {
    Some(News::Chunk(text.to_owned()))
}

fn snapshot(text: &str) -> Option<News> {
    Some(News::Snapshot(text.to_owned()))
}

#[test]
fn chunks_continue_what_was_sent() {
    let mut it = Output::default();
    it.push("one\n");
    it.push("two\n");
    assert_eq!(it.take(), chunk("one\ntwo\n"));
    assert_eq!(it.take(), None);
    it.push("é");
    assert_eq!(it.take(), chunk("é"));
}

#[test]
fn the_last_word_is_exact_and_costs_at_most_one_update() {
    let mut it = Output::default();
    it.push("b\n");
    it.take();
    it.push("c\n");
    assert_eq!(it.settle(Some("a\nb\nc\n")), snapshot("a\nb\nc\n"));

    let mut it = Output::default();
    it.push("a\n");
    it.take();
    assert_eq!(it.settle(Some("a\nb\n")), chunk("b\n"));

    let mut it = Output::default();
    it.push("a\n");
    assert_eq!(it.settle(None), chunk("a\n"), "nothing said: the stream stands");

    let mut it = Output::default();
    it.push("a\n");
    it.take();
    assert_eq!(it.settle(Some("a\n")), None);
}

#[test]
fn early_output_is_put_in_front() {
    let mut it = Output::default();
    assert!(!it.learn_early("ready\n"), "nothing was sent, so nothing is wrong");
    assert_eq!(it.take(), chunk("ready\n"));

    let mut it = Output::default();
    it.push("tick 1\n");
    it.take();
    assert!(it.learn_early("ready\ntick 1\n"));
    it.push("tick 2\n");
    assert_eq!(it.take_all(), News::Snapshot("ready\ntick 1\ntick 2\n".to_owned()));

    let mut it = Output::default();
    it.push("tick 1\n");
    it.take();
    assert!(!it.learn_early("tick 1\n"));
    assert!(!it.learn_early("something else"), "what does not overlap proves nothing");
    assert_eq!(it.take(), None);
}

#[test]
fn memory_is_bounded_and_a_gap_becomes_a_snapshot() {
    let mut it = Output::default();
    let line = format!("{}\n", "x".repeat(99));
    for _ in 0..40_000 {
        it.push(&line);
    }
    assert!(it.head.len() + it.tail.len() <= 3 * HALF);
    match it.take() {
        Some(News::Snapshot(text)) => {
            assert!(text.contains(" bytes omitted ..."));
            assert!(text.len() <= 3 * HALF + 100);
        }
        other => panic!("expected a snapshot, got {other:?}"),
    }
    it.push("end\n");
    assert_eq!(it.take(), chunk("end\n"));
}

#[test]
fn a_long_stream_that_agrees_is_left_alone() {
    let line = "0123456789abcdef\n";
    let all = line.repeat(150_000);
    let (head, tail) = (&all[..HALF], &all[all.len() - HALF..]);
    let omitted = all.len() - 2 * HALF;
    let aggregated = format!("{head}\n... {omitted} bytes omitted ...\n{tail}");
    let mut it = Output::default();
    for piece in all.as_bytes().chunks(8192) {
        it.push(std::str::from_utf8(piece).unwrap());
        it.take();
    }
    assert_eq!(it.settle(Some(&aggregated)), None);

    let mut lossy = Output::default();
    lossy.push(&all[..all.len() - 100]);
    lossy.take();
    assert_eq!(lossy.settle(Some(&aggregated)), snapshot(&aggregated));
}

proptest! {
    /// Whatever is pushed, taken and learned: a client that folds the news holds the last word.
    #[test]
    fn the_client_ends_with_the_aggregated_output(
        pieces in prop::collection::vec("[ab\u{e9}\n]{0,6}", 0..12),
        skipped in 0usize..4,
        takes in prop::collection::vec(any::<bool>(), 12),
    ) {
        let truth = pieces.concat();
        let mut it = Output::default();
        let mut client = String::new();
        let mut fold = |news: Option<News>| match news {
            Some(News::Chunk(text)) => client.push_str(&text),
            Some(News::Snapshot(text)) => client = text,
            None => {}
        };
        for (n, piece) in pieces.iter().enumerate().skip(skipped) {
            it.push(piece);
            if takes[n] {
                fold(it.take());
            }
            if n == 5 && it.learn_early(&pieces[..=n].concat()) {
                fold(Some(it.take_all()));
            }
        }
        fold(it.settle(Some(&truth)));
        prop_assert_eq!(client, truth);
    }
}
