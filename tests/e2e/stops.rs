//! How each kind of command ends, by everybody who can end it: in a pipe and in a tty, called directly and from code
//! mode, without and with Codex's sandbox. What the client is told of it is exactly what docs/META.md says.

mod table;

use std::collections::BTreeMap;
use std::io::Write as _;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::home::Config;
use testkit::model::{Action, Script, Step, exec, exec_code, say};
use testkit::processes::{self, Census, Signal};

use crate::session::Session;
use crate::stage::{Casting, GRACE, Stage, play, play_with};
use table::{CASES, Case, End, Told, Way};

/// How the model calls a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Direct,
    Code,
}

#[tokio::test]
async fn direct() {
    ends(Mode::Direct, &[Way::Pipe, Way::Tty], "danger-full-access").await;
}

#[tokio::test]
async fn from_code_mode() {
    ends(Mode::Code, &[Way::Pipe, Way::Tty], "danger-full-access").await;
}

#[tokio::test]
async fn direct_in_a_sandbox() {
    ends(Mode::Direct, &[Way::SandboxedPipe, Way::SandboxedTty], "workspace-write").await;
}

#[tokio::test]
async fn from_code_mode_in_a_sandbox() {
    ends(Mode::Code, &[Way::SandboxedPipe, Way::SandboxedTty], "workspace-write").await;
}

/// One command of the table at work.
struct Running {
    case: &'static Case,
    way: Way,
    id: String,
}

/// Runs the whole table at once in one session, ends each command as it says, and compares what is told.
async fn ends(mode: Mode, ways: &[Way], sandbox: &str) {
    let model = match mode {
        Mode::Direct => "gpt-5.5",
        Mode::Code => "gpt-6.2-sol",
    };
    let configure = |config: Config| config.model(model).sandbox_mode(sandbox);
    play_with(configure, async |stage| {
        // Some end when they are asked to, and some never.
        let client = stage.client(Casting::v2().env(GRACE, "10")).await?;
        let session = stage.open(&client).await?;
        if sandbox != "danger-full-access" && !can_sandbox(&session, mode).await? {
            client.end().await?;
            return Ok(());
        }
        let running = start(stage, &session, mode, ways).await?;
        for it in &running {
            match it.case.end {
                End::Stopped => session.stop(&it.id).await?,
                End::Outside(signal) => processes::signal(leader(stage, &it.id)?, signal)?,
                End::Itself => {}
            }
        }
        stage.signal_file("go")?;
        for it in &running {
            let what = format!("{} in {:?}", it.case.name, it.way);
            let told = told(&session, &it.id).await?;
            it.case.check(it.way, &told).context(what.clone())?;
            let status = session.final_status(&it.id).await?;
            let wanted = if told.status == json!({"exitCode": 0}) { "completed" } else { "failed" };
            assert_eq!(status, wanted, "{what}");
            until_left(&it.id, it.case.n_left(it.way)).await.context(what)?;
        }
        session.until_listed(&[]).await?;
        // What those that ended by themselves have left goes with the session; the stage counts.
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Starts every command of the table in these ways, and waits until each is at work in the background.
async fn start(
    stage: &Stage,
    session: &Session<'_>,
    mode: Mode,
    ways: &[Way],
) -> anyhow::Result<Vec<Running>> {
    let all = || ways.iter().flat_map(|way| CASES.iter().map(move |case| (case, *way)));
    let step: Step = match mode {
        Mode::Direct => {
            let call = |(case, way): (&Case, Way)| {
                exec(case.script(way)).id(case.up(way)).tty(way.is_tty()).yield_ms(250).into()
            };
            all().map(call).collect::<Vec<Action>>().into()
        }
        Mode::Code => {
            let args = |(case, way): (&Case, Way)| json!({"cmd": case.script(way), "tty": way.is_tty(), "yield_time_ms": 250});
            let calls: Vec<_> = all().map(|it| format!("tools.exec_command({})", args(it))).collect();
            exec_code(&format!("await Promise.all([{}]); text(\"started\");", calls.join(", "))).into()
        }
    };
    session.turn(&Script::new().step(step).step(say("They run.")).prompt("go")).await?;
    for (case, way) in all() {
        stage.file(&case.up(way)).await?;
    }
    let pair = |update: &Value| {
        Some((update["command"].as_str()?.to_owned(), update["terminalId"].as_str()?.to_owned()))
    };
    let ids: BTreeMap<String, String> =
        session.client.look(|it| it.updates(&session.id, 0).filter_map(|(_, update)| pair(update)).collect());
    let id = |case: &Case, way| ids.get(&case.script(way)).cloned().context("an announced terminal");
    let running: Vec<Running> = all()
        .map(|(case, way)| Ok(Running { case, way, id: id(case, way)? }))
        .collect::<anyhow::Result<_>>()?;
    session.until_listed(&running.iter().map(|it| &*it.id).collect::<Vec<_>>()).await?;
    Ok(running)
}

/// The process that Codex itself started for a command: in a sandbox, the sandbox.
fn leader(stage: &Stage, id: &str) -> anyhow::Result<u32> {
    let servers = stage.app_servers();
    let all = Census::of_env("CODEX_TOOL_CALL_ID", id);
    let leader = all.iter().find(|it| it.ppid.is_some_and(|ppid| servers.contains(&ppid)));
    Ok(leader.with_context(|| format!("{id} has no process"))?.pid)
}

/// What the client was told of an end, without the time it took.
async fn told(session: &Session<'_>, id: &str) -> anyhow::Result<Told> {
    let is_it = |update: &Value| update["terminalId"] == id && update["exitStatus"].is_object();
    let update = session.update(&format!("exit of {id}"), 0, |it| is_it(it).then(|| it.clone())).await?;
    let mut meta = update["_meta"]["dev.appserver-acp"].clone();
    let duration = meta.as_object_mut().and_then(|it| it.remove("durationMs"));
    ensure!(duration.is_some_and(|it| it.is_u64()), "no duration: {update}");
    Ok(Told { status: update["exitStatus"].clone(), meta })
}

async fn until_left(id: &str, n_left: usize) -> anyhow::Result<()> {
    let census = Census::new("CODEX_TOOL_CALL_ID", id);
    let left = census.wait(testkit::PATIENCE, |all| all.len() == n_left).await;
    left.map(drop).map_err(|left| anyhow::anyhow!("{n_left} were to be left, and not {left:#?}"))
}

/// Whether this machine lets Codex make a sandbox. Where it does not, that is said past the capture of the tests, and
/// the refusal itself is looked at.
async fn can_sandbox(session: &Session<'_>, mode: Mode) -> anyhow::Result<bool> {
    let step: Step = match mode {
        Mode::Direct => exec("echo inside").id("probe").into(),
        Mode::Code => exec("echo inside").in_code().into(),
    };
    let turn = session.turn(&Script::new().step(step).step(say("Tried.")).prompt("try")).await?;
    let announced = session.until_announced(turn.from, 1).await?;
    let id = announced.first().context("an announced terminal")?;
    if told(session, id).await?.status == json!({"exitCode": 0}) {
        return Ok(true);
    }
    check_refusal(session, id).await?;
    writeln!(std::io::stderr(), "NOT TESTED: stops in a sandbox; this machine lets Codex make none")?;
    Ok(false)
}

/// A command whose sandbox cannot be made fails with the words of the sandbox, and is over.
async fn check_refusal(session: &Session<'_>, id: &str) -> anyhow::Result<()> {
    let told = told(session, id).await?;
    ensure!(told.meta["by"] == "itself", "{told:?}");
    let code = told.status["exitCode"].as_i64().context("an exit code")?;
    ensure!(session.final_status(id).await? == "failed", "code {code} is no failure");
    let output = session.output(id);
    ensure!(output.contains("bwrap") || output.contains("sandbox"), "it does not say why: {output:?}");
    session.until_listed(&[]).await?;
    session.at_rest().await
}

/// As on a machine without user namespaces: Codex gets none.
#[tokio::test]
async fn a_sandbox_that_cannot_be_made() {
    play_with(
        |config| config.sandbox_mode("workspace-write"),
        async |stage| {
            let program = stage.home.user_home().join("codex");
            // Where there are none for us either, it is so already.
            let script = "unshare --user true || exec \"$REAL_CODEX\" \"$@\"\n\
            exec unshare --user --map-root-user sh -c \
            'echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"' \"$REAL_CODEX\" \"$@\"";
            testkit::program::script(&program, script)?;
            let casting = Casting::v2().env("CODEX_PATH", program).env("REAL_CODEX", stage.codex_binary());
            let client = stage.client(casting).await?;
            let session = stage.open(&client).await?;
            let script = Script::new().step(exec("echo inside").id("probe")).step(say("Tried."));
            session.turn(&script.prompt("try")).await?;
            check_refusal(&session, "probe").await?;
            client.end().await?;
            Ok(())
        },
    )
    .await;
}

/// Codex keeps 64 terminals, and ends the one that was used least recently for the next.
#[tokio::test]
async fn ended_by_codex() {
    play(async |stage| {
        let client = stage.client(Casting::v2()).await?;
        let session = stage.open(&client).await?;
        // Of those that are asked for at once, which comes first is chance.
        for (ids, tty) in [(0..1, false), (1..2, true), (2..66, false)] {
            let call = |idx: u32| exec("sleep 1000").id(format!("cmd-{idx}")).tty(tty).yield_ms(250).into();
            let step: Step = ids.map(call).collect::<Vec<Action>>().into();
            session.turn(&Script::new().step(step).step(say("They run.")).prompt("go")).await?;
        }
        for id in ["cmd-0", "cmd-1"] {
            let wanted =
                json!({"by": "codex", "reason": "codex ended it and did not say how", "rawCode": -1});
            assert_eq!(told(&session, id).await?, Told { status: json!({}), meta: wanted });
            assert_eq!(session.final_status(id).await?, "failed");
            until_left(id, 0).await?;
        }
        let rest: Vec<String> = (2..66).map(|idx| format!("cmd-{idx}")).collect();
        session.until_listed(&rest.iter().map(|it| &**it).collect::<Vec<_>>()).await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// The limit that the README states: without the environment, and outside of the session of the command, nothing
/// tells whose it is. Codex's sandbox ends it all the same.
#[tokio::test]
async fn what_cannot_be_found() {
    play(async |stage| {
        let client = stage.client(Casting::v2()).await?;
        let session = stage.open(&client).await?;
        let cmd = "env -i setsid sh -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 1001' >/dev/null 2>&1 & \
            until [ -e pid ]; do sleep 0.05; done; touch up; exec env -i sleep 1000";
        let script = Script::new().step(exec(cmd).id("hidden").yield_ms(250)).step(say("It runs."));
        session.turn(&script.prompt("go")).await?;
        stage.file("up").await?;
        let pid = std::fs::read_to_string(stage.home.workspace().join("pid"))?.trim().parse()?;
        // The last step of the command is an exec: as long as its shell is there it would be found.
        let gone = Census::new("CODEX_TOOL_CALL_ID", "hidden").wait_gone(testkit::PATIENCE).await;
        gone.map_err(|left| anyhow::anyhow!("still marked: {left:?}"))?;
        session.stop("hidden").await?;
        table::check_unfound(&told(&session, "hidden").await?)?;
        session.until_listed(&[]).await?;
        client.end().await?;
        processes::signal(pid, Signal::KILL).context("end what nobody could find")
    })
    .await;
}
