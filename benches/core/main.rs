//! How many lines of Codex per second go through decoding, the core and encoding.
//!
//! `cargo bench --bench core`. Lines come from the recordings of the real Codex; nothing is read or written.

mod desk;

use std::hint::black_box;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use serde_json::Value;

use desk::{Desk, Recording};

fn main() {
    divan::main();
}

/// A turn that starts a background command, all of its lines.
#[divan::bench]
fn background_turn(bencher: Bencher<'_, '_>) {
    let recording = Recording::read();
    let lines = recording.turn_lines(1);
    bencher
        .counter(ItemsCount::new(lines.len()))
        .with_inputs(|| Desk::with_sessions(&recording, 1))
        .bench_local_values(|mut desk| lines.iter().for_each(|line| desk.codex(black_box(line))));
}

/// Output of one command while `n` sessions have one running: the cost per line must not grow with `n`.
#[divan::bench(args = [1, 50])]
fn output_with_sessions(bencher: Bencher<'_, '_>, n: usize) {
    const N_LINES: usize = 10_000;
    let recording = Recording::read();
    let mut desk = Desk::with_sessions(&recording, n);
    for session in 1..=n {
        recording.turn_lines(session).iter().for_each(|line| desk.codex(line));
    }
    let line = recording.output_line(1, "server listens on port 3000, request 17 took 4 ms\n");
    bencher.counter(ItemsCount::new(N_LINES)).bench_local(|| {
        for _ in 0..N_LINES {
            desk.codex(black_box(&line));
        }
    });
}

/// A flood in Codex's largest pieces.
#[divan::bench]
fn output_in_pieces_of_8_kb(bencher: Bencher<'_, '_>) {
    const N_LINES: usize = 1_000;
    let recording = Recording::read();
    let mut desk = Desk::with_sessions(&recording, 1);
    recording.turn_lines(1).iter().for_each(|line| desk.codex(line));
    let text = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n".repeat(128);
    let line = recording.output_line(1, &text);
    bencher.counter(BytesCount::new(N_LINES * text.len())).bench_local(|| {
        for _ in 0..N_LINES {
            desk.codex(black_box(&line));
        }
    });
}

/// Text of the agent, a few words per line.
#[divan::bench]
fn agent_text(bencher: Bencher<'_, '_>) {
    const N_LINES: usize = 10_000;
    let recording = Recording::read();
    let mut desk = Desk::with_sessions(&recording, 1);
    let is_text = |line: &Value| line["method"] == "item/agentMessage/delta";
    let lines = recording.turn_values(1);
    let n_before = lines.iter().position(is_text).expect("the recorded agent says something");
    for line in &lines[..n_before] {
        desk.codex(&line.to_string());
    }
    let line = lines[n_before].to_string();
    bencher.counter(ItemsCount::new(N_LINES)).bench_local(|| {
        for _ in 0..N_LINES {
            desk.codex(black_box(&line));
        }
    });
}
