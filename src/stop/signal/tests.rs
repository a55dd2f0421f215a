#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::super::place;
use super::super::tree::{ProcessKey, Processes};
use super::{Sent, Signal, send_to_group};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// The leader of a session with two children, and their pids.
fn group() -> (Child, [u32; 3]) {
    let script = "sleep 60 & a=$!; sleep 60 & echo $$ $a $!; wait";
    let mut leader =
        Command::new("setsid").args(["sh", "-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(leader.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pids: Vec<u32> = line.split_whitespace().map(|it| it.parse().unwrap()).collect();
    (leader, pids.try_into().unwrap())
}

fn key(processes: &Processes, pid: u32) -> ProcessKey {
    processes.key(pid).unwrap()
}

#[test]
fn a_group_is_reached_as_a_whole_and_by_its_leader_only() {
    let (mut leader, [first, second, third]) = group();
    let mut processes = Processes::look().unwrap();
    let keys = [first, second, third].map(|pid| key(&processes, pid));
    assert_eq!(send_to_group(&mut processes, keys[1], Signal::Term), Sent::Refused, "it leads none");
    let stale = ProcessKey { started: keys[0].started - 1, ..keys[0] };
    assert_eq!(send_to_group(&mut processes, stale, Signal::Term), Sent::Gone, "somebody else by now");
    assert_eq!(processes.alive(keys), keys.into());

    assert_eq!(send_to_group(&mut processes, keys[0], Signal::Term), Sent::Delivered);
    while !processes.alive(keys).is_empty() {
        std::thread::yield_now();
    }
    leader.wait().unwrap();
}

#[test]
fn our_own_group_is_never_signalled() {
    let mut processes = Processes::look().unwrap();
    let own = place::group(std::process::id()).unwrap();
    // Where the leader of our group is gone there is nothing to refuse.
    if let Some(leader) = processes.key(own) {
        assert_eq!(send_to_group(&mut processes, leader, Signal::Term), Sent::Refused);
    }
}
