//! How every kind of command ends, by everybody who can end it: in a pipe and a tty, called directly and from code mode,
//! with and without Codex's sandbox. What `exitStatus` and `_meta` then say is docs/META.md.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::home::Config;
use testkit::model::{Action, Exec, Script, Step, exec, exec_code, say};
use testkit::processes::{self, Census, Signal};

use crate::session::Session;
use crate::stage::{Casting, Stage, play_with};

#[derive(Clone, Copy, Debug)]
struct Case {
    name: &'static str,
    cmd: &'static str,
    end: End,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Stop,
    Outside(Signal),
    Itself,
}

const LOOP: &str = "while :; do sleep 0.1; done";

const CASES: &[(&str, &str, End)] = &[
    ("handler", "trap 'echo bye; exit 3' TERM INT; touch up-ID; while :; do sleep 0.1; done", End::Stop),
    ("none", "touch up-ID; while :; do sleep 0.1; done", End::Stop),
    ("simple", "touch up-ID; exec sleep 1000", End::Stop),
    ("ignored", "trap '' TERM INT HUP; touch up-ID; while :; do sleep 0.1; done", End::Stop),
    ("setsid", "setsid sleep 1000 & touch up-ID; wait", End::Stop),
    ("jobs", "set -m; sleep 1000 & touch up-ID; wait", End::Stop),
    (
        "setsid-stubborn",
        "(setsid sh -c 'trap \"\" TERM INT; sleep 1000' &); touch up-ID; sleep 1000",
        End::Stop,
    ),
    ("out-term", "touch up-ID; while :; do sleep 0.1; done", End::Outside(Signal::TERM)),
    ("out-kill", "touch up-ID; while :; do sleep 0.1; done", End::Outside(Signal::KILL)),
    ("self", "touch up-ID; until [ -e go ]; do sleep 0.05; done; exit 3", End::Itself),
    (
        "self-left",
        "sleep 1001 >/dev/null 2>&1 & touch up-ID; until [ -e go ]; do sleep 0.05; done",
        End::Itself,
    ),
    (
        "self-setsid",
        "setsid sleep 1001 >/dev/null 2>&1 & touch up-ID; until [ -e go ]; do sleep 0.05; done",
        End::Itself,
    ),
];

async fn measure(model: &str, sandbox: &str) {
    let code = model != "gpt-5.5";
    play_with(
        |c: Config| c.model(model).sandbox_mode(sandbox),
        async |stage| {
            let client = stage.client(Casting::v2()).await?;
            let session = stage.open(&client).await?;
            let mut names = Vec::new();
            let mut cmds = Vec::new();
            for tty in [false, true] {
                for (name, cmd, end) in CASES {
                    let id = format!("{name}-{}", if tty { "tty" } else { "pipe" });
                    let cmd = cmd.replace("ID", &id);
                    names.push((id.clone(), *end, cmd.clone()));
                    cmds.push((id, cmd, tty));
                }
            }
            let step: Step = if code {
                let calls: Vec<String> = cmds
                    .iter()
                    .map(|(_, cmd, tty)| {
                        format!(
                            "tools.exec_command({})",
                            json!({"cmd": cmd, "tty": tty, "yield_time_ms": 250})
                        )
                    })
                    .collect();
                exec_code(&format!("await Promise.all([{}]); text('x');", calls.join(","))).into()
            } else {
                cmds.iter()
                    .map(|(id, cmd, tty)| exec(cmd).id(id).tty(*tty).yield_ms(250).into())
                    .collect::<Vec<Action>>()
                    .into()
            };
            let t = std::time::SystemTime::now();
            session.turn(&Script::new().step(step).step(say("x")).prompt("go")).await?;
            eprintln!("{model} {sandbox} started in {:?}", t.elapsed());
            for (name, _, _) in &names {
                stage.file(&format!("up-{name}")).await?;
            }
            let ids: BTreeMap<String, String> = client.look(|it| {
                it.updates(&session.id, 0)
                    .filter_map(|(_, u)| {
                        Some((u["command"].as_str()?.to_owned(), u["terminalId"].as_str()?.to_owned()))
                    })
                    .collect()
            });
            let server = stage.app_servers();
            for (name, end, cmd) in &names {
                let id = &ids[cmd];
                match end {
                    End::Stop => session.stop(id).await?,
                    End::Outside(signal) => {
                        let all = Census::of_env("CODEX_TOOL_CALL_ID", id);
                        let leader = all.iter().find(|it| it.ppid == server.first().copied());
                        for it in &all {
                            let st =
                                std::fs::read_to_string(format!("/proc/{}/stat", it.pid)).unwrap_or_default();
                            let exe = std::fs::read_link(format!("/proc/{}/exe", it.pid));
                            eprintln!("GPT {name} {st:.60} exe {exe:?} argv0 {:.60}", it.cmd);
                        }
                        processes::signal(leader.context("leader")?.pid, *signal)?;
                    }
                    End::Itself => {}
                }
            }
            stage.signal_file("go")?;
            for (name, _, cmd) in &names {
                let id = &ids[cmd];
                let update = session
                    .update(&format!("end of {name}"), 0, |u| {
                        (u["terminalId"] == **id && u["exitStatus"].is_object()).then(|| u.clone())
                    })
                    .await?;
                let status = session.final_status(id).await?;
                let left = Census::of_env("CODEX_TOOL_CALL_ID", id).len();
                eprintln!(
                    "{model} {sandbox} {name}: {} {} {status} left {left}",
                    update["exitStatus"], update["_meta"]["dev.appserver-acp"]
                );
            }
            client.end().await?;
            Ok(())
        },
    )
    .await;
}

#[tokio::test]
async fn m1() {
    measure("gpt-5.5", "danger-full-access").await
}
#[tokio::test]
async fn m2() {
    measure("gpt-5.5", "workspace-write").await
}
#[tokio::test]
async fn m3() {
    measure("gpt-6.2-sol", "danger-full-access").await
}
#[tokio::test]
async fn m4() {
    measure("gpt-6.2-sol", "workspace-write").await
}
