//! The census finds what carries a marker, and only that.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Stdio;

use testkit::PATIENCE;
use testkit::processes::{Census, NoneLeft, Signal, signal};
use tokio::process::Command;

const KEY: &str = "TESTKIT_MARKER";

#[tokio::test]
async fn a_process_is_found_by_its_environment_until_it_ends() -> anyhow::Result<()> {
    let value = format!("{}-found", std::process::id());
    let none_left = NoneLeft::new(KEY, &value);
    let census = Census::new(KEY, &value);
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "sleep 300 & wait"]).env(KEY, &value).process_group(0);
    let mut leader = command.stdout(Stdio::null()).kill_on_drop(true).spawn()?;
    let pid = leader.id();

    // The shell is one of them before and after its child is a program of its own.
    let both = census.wait(PATIENCE, |it| it.len() == 2 && it.iter().any(|it| it.cmd == "sleep 300")).await;
    let both = both.expect("the shell starts its child");
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(both.iter().all(|it| it.pgid == pid), "{both:?}");
    assert!(both.iter().any(|it| it.ppid == pid), "{both:?}");
    assert_eq!(Census::of_env(KEY, value.trim_end_matches('d')), []);

    for it in &both {
        signal(it.pid, Signal::TERM)?;
    }
    // The leader is a zombie until it is waited for below.
    none_left.check_within(PATIENCE).await;
    assert!(!leader.wait().await?.success());
    assert!(signal(0, Signal::TERM).is_err());
    Ok(())
}

#[tokio::test]
async fn what_is_left_fails_the_check() -> anyhow::Result<()> {
    let value = format!("{}-left", std::process::id());
    let none_left = NoneLeft::new(KEY, &value);
    let mut sleeper = Command::new("sleep").arg("300").env(KEY, &value).kill_on_drop(true).spawn()?;
    // Whoever starts a program goes on in the middle of its exec, when it shows no environment.
    Census::new(KEY, &value).wait(PATIENCE, |it| it.len() == 1).await.expect("it is there");
    assert!(catch_unwind(AssertUnwindSafe(|| none_left.check())).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(NoneLeft::new(KEY, &value)))).is_err());
    sleeper.kill().await?;
    NoneLeft::new(KEY, &value).check();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(NoneLeft::new(KEY, &value)))).is_err());
    Ok(())
}
