//! Things at the wrong moment: each test is a fault that a hunt found in this program, and its repair.
//!
//! The bridge alone, with a Codex and a client played by hand, line by line, in virtual time.

#[path = "faults/approvals.rs"]
mod approvals;
#[path = "faults/cancels.rs"]
mod cancels;
#[path = "faults/choices.rs"]
mod choices;
#[path = "faults/commands.rs"]
mod commands;
#[path = "faults/connected.rs"]
mod connected;
#[path = "faults/deaths.rs"]
mod deaths;
#[path = "faults/early.rs"]
mod early;
#[path = "faults/hangs.rs"]
mod hangs;
#[path = "faults/kin.rs"]
mod kin;
#[path = "faults/losses.rs"]
mod losses;
#[path = "faults/many.rs"]
mod many;
#[path = "faults/once.rs"]
mod once;
#[path = "faults/output.rs"]
mod output;
#[path = "faults/overload.rs"]
mod overload;
#[path = "faults/prompts.rs"]
mod prompts;
#[path = "faults/restored.rs"]
mod restored;
#[path = "faults/resumes.rs"]
mod resumes;
#[path = "faults/reviews.rs"]
mod reviews;
#[path = "faults/rig.rs"]
mod rig;
#[path = "faults/shelves.rs"]
mod shelves;
#[path = "faults/signin.rs"]
mod signin;
#[path = "faults/standing.rs"]
mod standing;
#[path = "faults/subagents.rs"]
mod subagents;
#[path = "faults/watches.rs"]
mod watches;
#[path = "faults/withdrawals.rs"]
mod withdrawals;
