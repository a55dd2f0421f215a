//! Traces of real runs, run again: what departs is what departed.
//!
//! A bug report becomes a test by copying its `--trace` file to tests/traces and putting right what it
//! should have done. These were written with the real Codex 0.171.0 and the demo's scripted model.

use appserver_acp::cmd::replay::differences;
use appserver_acp::trace;
use std::path::PathBuf;

#[test]
fn traces_run_again_as_they_were_written() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/traces");
    let mut n_steps = 0;
    for entry in folder.read_dir().expect("tests/traces is there") {
        let file = entry.expect("tests/traces can be read").path();
        let steps = trace::read(&file).expect("a trace reads");
        n_steps += steps.len();
        assert_eq!(differences(&steps), [], "{}", file.display());
    }
    assert!(n_steps > 100, "there are traces to run: {n_steps} steps");
}
