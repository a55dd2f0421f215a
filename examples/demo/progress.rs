//! A line on stderr while something takes its time.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::Context;
use tokio::time::{Instant, interval_at};

/// What is done sooner is not worth a line.
const UNNOTICED: Duration = Duration::from_millis(800);
const TICK: Duration = Duration::from_secs(1);

/// Runs `work` on a thread of its own, and says `what` goes on if it takes longer than a moment.
///
/// On a terminal the line counts the seconds and is wiped at the end; elsewhere it is written once.
pub(crate) async fn blocking<T: Send + 'static>(
    what: &str,
    work: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    let mut err = anstream::stderr();
    let is_live = std::io::stderr().is_terminal();
    let started = Instant::now();
    let mut ticks = interval_at(started + UNNOTICED, TICK);
    let mut is_told = false;
    let mut job = tokio::task::spawn_blocking(work);
    let done = loop {
        tokio::select! {
            done = &mut job => break done,
            _ = ticks.tick() => {
                let seconds = started.elapsed().as_secs();
                // Progress is for whoever looks: a closed stderr is no reason to stop.
                let _ = match (is_live, is_told) {
                    (true, _) => write!(err, "\r  {what} … {seconds} s"),
                    (false, false) => writeln!(err, "  {what} …"),
                    (false, true) => Ok(()),
                }
                .and_then(|()| err.flush());
                is_told = true;
            }
        }
    };
    if is_told && is_live {
        // As above.
        let _ = write!(err, "\r\u{1b}[2K").and_then(|()| err.flush());
    }
    done.context("the work broke off")?
}
