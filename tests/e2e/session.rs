//! A session as a test looks at it: the same questions for both protocol versions.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::processes::Census;

use crate::client::{Client, Pending};
use crate::live;
use crate::seen::Seen;
use crate::stage::Stage;

/// A session of a client.
#[derive(Clone, Debug)]
pub(crate) struct Session<'a> {
    pub(crate) client: &'a Client,
    pub(crate) id: String,
}

/// A prompt under way.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) answer: Pending,
    /// Where on the wire it began.
    pub(crate) from: usize,
}

/// How the client was told that a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Code(i64),
    Signal(String),
    Unknown,
}

impl Session<'_> {
    /// Starts a prompt.
    pub(crate) fn prompt(&self, text: &str) -> Turn {
        let from = self.client.look(|it| it.wire.len());
        let answer = self.client.start("prompt", json!({"sessionId": self.id, "text": text}));
        Turn { answer, from }
    }

    /// Waits for the end of the turn and returns its stop reason.
    ///
    /// # Errors
    /// When the prompt fails, too.
    pub(crate) async fn finish(&self, turn: &Turn) -> anyhow::Result<String> {
        let answer = self.client.outcome(turn.answer).await?;
        let answer = answer.map_err(|error| anyhow!("the prompt failed: {error}"))?;
        let reason = match self.client.version {
            Version::V1 => answer["stopReason"].clone(),
            Version::V2 => {
                ensure!(answer["messageId"].is_string(), "a prompt without messageId: {answer}");
                self.update("end of the turn", turn.from, |update| {
                    is_end(update).then(|| update["stopReason"].clone())
                })
                .await?
            }
        };
        Ok(reason.as_str().unwrap_or_default().to_owned())
    }

    /// Runs a whole turn that must end by itself.
    pub(crate) async fn turn(&self, text: &str) -> anyhow::Result<Turn> {
        let turn = self.prompt(text);
        let reason = self.finish(&turn).await?;
        ensure!(reason == "end_turn", "the turn ended with {reason}; {}", self.client.look(|it| it.tail(40)));
        Ok(turn)
    }

    /// Waits for an update from message `from` on.
    pub(crate) async fn update<T>(
        &self,
        what: &str,
        from: usize,
        mut pick: impl FnMut(&Value) -> Option<T>,
    ) -> anyhow::Result<T> {
        self.client.wait(what, |it| it.updates(&self.id, from).find_map(|(_, update)| pick(update))).await
    }

    /// Cancels the turn.
    pub(crate) async fn cancel(&self) -> anyhow::Result<()> {
        self.client.call("cancel", json!({"sessionId": self.id})).await.map(drop)
    }

    /// Closes the session.
    pub(crate) async fn close(&self) -> anyhow::Result<()> {
        self.client.call("close", json!({"sessionId": self.id})).await.map(drop)
    }

    /// Stops one terminal by `terminal/cancel`, which is v2.
    pub(crate) async fn stop(&self, terminal: &str) -> anyhow::Result<()> {
        let args = json!({"sessionId": self.id, "terminalId": terminal});
        let answer = self.client.call("cancelTerminal", args).await?;
        ensure!(answer == json!({}), "terminal/cancel answered {answer}");
        Ok(())
    }

    /// Brings a [`forever`](crate::stage::forever) command to its end and checks how that is told:
    /// by `terminal/cancel` where there is one, else by itself.
    pub(crate) async fn put_down(&self, stage: &Stage, terminal: &str) -> anyhow::Result<()> {
        let expected = match self.client.version {
            Version::V1 => {
                stage.signal_file(&format!("end-{terminal}"))?;
                Ended::Code(0)
            }
            Version::V2 => {
                self.stop(terminal).await?;
                Ended::Signal("SIGTERM".to_owned())
            }
        };
        let ended = self.ended(terminal).await?;
        ensure!(ended == expected, "{terminal} ended with {ended:?}, not {expected:?}");
        Ok(())
    }

    /// What the agent said from message `from` on.
    pub(crate) fn text(&self, from: usize) -> String {
        let mut text = String::new();
        self.client.look(|it| {
            for (_, update) in it.updates(&self.id, from) {
                if update["sessionUpdate"] == "agent_message_chunk" {
                    text += update["content"]["text"].as_str().unwrap_or_default();
                }
            }
        });
        text
    }

    /// The command output that the client holds.
    pub(crate) fn output(&self, terminal: &str) -> String {
        self.client.look(|it| it.belief.output(&self.id, terminal)).unwrap_or_default()
    }

    /// Waits until the client holds output with this text in it.
    pub(crate) async fn until_output(&self, terminal: &str, text: &str) -> anyhow::Result<()> {
        let holds = |it: &Seen| it.belief.output(&self.id, terminal)?.contains(text).then_some(());
        self.client.wait(&format!("{text:?} from {terminal}"), holds).await
    }

    /// Waits until the client knows of the terminal and believes that it runs.
    pub(crate) async fn until_running(&self, terminal: &str) -> anyhow::Result<()> {
        let runs = |it: &Seen| (it.belief.is_running(&self.id, terminal)?).then_some(());
        self.client.wait(&format!("announcement of {terminal}"), runs).await
    }

    /// Waits until exactly these terminals are the background; v1 has no list: until they are believed to run.
    pub(crate) async fn until_listed(&self, terminals: &[&str]) -> anyhow::Result<()> {
        let wanted: BTreeSet<String> = terminals.iter().map(|it| format!("terminal:{it}")).collect();
        let is_so = |it: &Seen| {
            let so = match self.client.version {
                Version::V1 => terminals.iter().all(|id| it.belief.is_running(&self.id, id) == Some(true)),
                Version::V2 => BTreeSet::from_iter(it.belief.listed(&self.id)) == wanted,
            };
            so.then_some(())
        };
        self.client.wait(&format!("background list {terminals:?}"), is_so).await
    }

    /// Waits until the client is told that the terminal ended, and how.
    pub(crate) async fn ended(&self, terminal: &str) -> anyhow::Result<Ended> {
        self.update(&format!("exit of {terminal}"), 0, |update| ended(update, terminal)).await
    }

    /// Waits for the final status of a tool call.
    pub(crate) async fn final_status(&self, call: &str) -> anyhow::Result<String> {
        let pick = |update: &Value| {
            let status = update["status"].as_str()?;
            let is_final = ["completed", "failed", "cancelled"].contains(&status);
            (is_final && update["toolCallId"] == call).then(|| status.to_owned())
        };
        self.update(&format!("final status of {call}"), 0, pick).await
    }

    /// Waits for `n` announced terminals from message `from` on.
    pub(crate) async fn until_announced(&self, from: usize, n: usize) -> anyhow::Result<Vec<String>> {
        let enough = |it: &Seen| Some(announced(it, &self.id, from)).filter(|ids| ids.len() >= n);
        self.client.wait(&format!("{n} terminals"), enough).await
    }

    /// Every background list that was reported from message `from` on.
    pub(crate) fn lists(&self, from: usize) -> Vec<Value> {
        self.client.look(|it| {
            let states = it.updates(&self.id, from).filter(|(_, it)| it["sessionUpdate"] == "state_update");
            states.map(|(_, it)| it["background"].clone()).collect()
        })
    }

    /// Compares what the client believes with what runs, until they agree.
    ///
    /// # Errors
    /// With the difference, when it stays: a command's last process may go a moment after its exit was told.
    pub(crate) async fn at_rest(&self) -> anyhow::Result<()> {
        let deadline = tokio::time::Instant::now() + testkit::PATIENCE;
        loop {
            let live = live::commands(&self.id);
            let found = self.client.change(|it| it.at_rest(&self.id, &live));
            if found.is_empty() {
                return Ok(());
            }
            if tokio::time::Instant::now() > deadline {
                let tail = self.client.look(|it| it.tail(40));
                bail!("at rest, while {live:?} run: {}; {tail}", found.join("; "));
            }
            // The system has no event for "a process of this environment ended".
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until no command of the session has a process.
    pub(crate) async fn until_dead(&self) -> anyhow::Result<()> {
        live::until_none(&self.id).await
    }

    /// The pid of the leader of a command: the one whose group is its own.
    pub(crate) fn leader(&self, item: &str) -> anyhow::Result<u32> {
        let of_thread = Census::of_env("CODEX_THREAD_ID", &self.id);
        let of_item = Census::of_env("CODEX_TOOL_CALL_ID", item);
        // The ids of the tests' commands are not unique, those of their threads are.
        let leader = of_item.iter().find(|it| it.pgid == Some(it.pid) && of_thread.contains(it));
        Ok(leader.with_context(|| format!("{item} has no process"))?.pid)
    }
}

pub(crate) fn is_end(update: &Value) -> bool {
    update["sessionUpdate"] == "state_update" && update["state"] == "idle" && update["stopReason"].is_string()
}

fn announced(seen: &Seen, session: &str, from: usize) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for (_, update) in seen.updates(session, from) {
        let id = match update["sessionUpdate"].as_str() {
            Some("terminal_update") => &update["terminalId"],
            Some("tool_call") => &update["_meta"]["terminal_info"]["terminal_id"],
            _ => continue,
        };
        if let Some(id) = id.as_str().filter(|it| !ids.iter().any(|known| known == it)) {
            ids.push(id.to_owned());
        }
    }
    ids
}

fn ended(update: &Value, terminal: &str) -> Option<Ended> {
    let v1 = &update["_meta"]["terminal_exit"];
    let (code, signal) = if update["terminalId"] == terminal && update["exitStatus"].is_object() {
        (&update["exitStatus"]["exitCode"], &update["exitStatus"]["signal"])
    } else if v1["terminal_id"] == terminal {
        (&v1["exit_code"], &v1["signal"])
    } else {
        return None;
    };
    Some(match (code.as_i64(), signal.as_str()) {
        (_, Some(signal)) => Ended::Signal(signal.to_owned()),
        (Some(code), None) => Ended::Code(code),
        (None, None) => Ended::Unknown,
    })
}
