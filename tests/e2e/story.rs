//! The main job from end to end: a dev server outlives its turn, is seen, and is stopped.

use testkit::belief::Version;
use testkit::model::{Script, exec, say};

use crate::stage::{Casting, play};

in_both_versions!(dev_server);

const DEV_SERVER: &str =
    "echo ready; n=0; until [ -e end-dev ]; do n=$((n + 1)); echo tick $n; sleep 0.1; done";

async fn dev_server(version: Version) {
    dev_server_for(Casting::of(version)).await;
}

#[tokio::test]
#[expect(clippy::print_stderr, reason = "a test that did not run says so")]
async fn dev_server_for_python() {
    match Casting::python() {
        Some(casting) => dev_server_for(casting).await,
        None => eprintln!("skipped: no python with the ACP SDK"),
    }
}

async fn dev_server_for(casting: Casting) {
    play(async |stage| {
        let version = casting.version;
        let client = stage.client(casting).await?;
        let session = stage.open(&client).await?;
        let pause = std::time::Duration::from_millis(5);
        let script = Script::new().step(say("Starting the server.").chunks(4, pause)).prompt("hello");
        let turn = session.turn(&script).await?;
        assert_eq!(session.text(turn.from), "Starting the server.");

        let script = Script::new().step(exec(DEV_SERVER).id("dev").yield_ms(500)).step(say("It runs."));
        let turn = session.turn(&script.prompt("start the server")).await?;
        assert_eq!(session.text(turn.from), "It runs.");
        session.until_listed(&["dev"]).await?;

        // The turn is over, the output goes on.
        let n = session.output("dev").lines().count();
        session.until_output("dev", &format!("tick {}", n + 3)).await?;
        session.at_rest().await?;

        session.put_down(stage, "dev").await?;
        let status = session.final_status("dev").await?;
        assert_eq!(status, if version == Version::V1 { "completed" } else { "failed" });
        session.until_listed(&[]).await?;
        assert!(session.output("dev").starts_with("ready\ntick 1\ntick 2\n"), "{:?}", session.output("dev"));
        session.at_rest().await?;

        assert_eq!(client.end().await?.code, Some(0));
        Ok(())
    })
    .await;
}
