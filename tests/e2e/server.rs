//! An app-server that the test starts itself and that outlives its clients.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, ensure};
use testkit::processes::{self, Signal};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::process::{Child, Command};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use crate::stage::{Casting, Stage};

/// Where it listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listen {
    Unix,
    Port,
}

/// Ended when dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    /// For `--connect`.
    pub(crate) address: String,
}

impl Server {
    pub(crate) async fn start(stage: &Stage, listen: Listen) -> anyhow::Result<Self> {
        let address = match listen {
            Listen::Unix => format!("unix:{}", stage.home.codex_home().join("s").display()),
            Listen::Port => "ws://127.0.0.1:0".to_owned(),
        };
        Self::at(stage, &address, &[]).await
    }

    /// Starts one at an address, with more arguments.
    pub(crate) async fn at(stage: &Stage, address: &str, args: &[&str]) -> anyhow::Result<Self> {
        let url = address.replacen("unix:", "unix://", 1);
        let mut child = Command::new(stage.codex_binary())
            .args(["app-server", "--listen", &url])
            .args(args)
            .env_clear()
            .envs(stage.home.env())
            .current_dir(stage.home.workspace())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("start an app-server")?;
        let mut said = BufReader::new(child.stderr.take().context("stderr is a pipe")?).lines();
        let mut server = Self { child, address: address.to_owned() };
        match address.strip_prefix("unix:") {
            Some(path) => {
                let deadline = Instant::now() + testkit::PATIENCE;
                while UnixStream::connect(path).await.is_err() {
                    ensure!(Instant::now() < deadline, "nobody listens at {path}");
                    // A socket tells nobody that it is there.
                    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                }
            }
            None => {
                let place = async {
                    while let Some(line) = said.next_line().await? {
                        if let Some((_, place)) = line.split_once("listening on: ") {
                            return Ok(place.trim().to_owned());
                        }
                    }
                    anyhow::bail!("it ended without listening")
                };
                server.address = timeout(testkit::PATIENCE, place).await??;
            }
        }
        // Its pipe must not fill up.
        tokio::spawn(async move { while let Ok(Some(_)) = said.next_line().await {} });
        Ok(server)
    }

    /// A client whose adapter connects to it.
    pub(crate) fn casting(&self, casting: Casting) -> Casting {
        casting.env("APPSERVER_ACP_CONNECT", &self.address)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id().expect("it was not waited for")
    }

    pub(crate) fn lives(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Starts another in the place of one that was killed.
    pub(crate) async fn again(self, stage: &Stage) -> anyhow::Result<Self> {
        if let Some(path) = self.address.strip_prefix("unix:") {
            // One that was killed leaves its socket behind.
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                Ok(()) | Err(_) => {}
            }
        }
        Self::at(stage, &self.address, &[]).await
    }

    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        processes::signal(self.pid(), Signal::KILL)?;
        timeout(testkit::PATIENCE, self.child.wait()).await??;
        Ok(())
    }

    /// Ends it, and what it runs.
    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        ensure!(self.lives(), "it ended before its time");
        processes::signal(self.pid(), Signal::TERM)?;
        timeout(testkit::PATIENCE, self.child.wait()).await??;
        Ok(())
    }
}

/// A wire to an app-server on a unix socket that can be cut while both ends live.
#[derive(Debug)]
pub(crate) struct Wire {
    /// For `--connect`.
    pub(crate) address: String,
    is_cut: Arc<AtomicBool>,
    cut: Arc<Notify>,
}

impl Wire {
    pub(crate) fn to(stage: &Stage, server: &Server) -> anyhow::Result<Self> {
        let path = stage.home.codex_home().join("wire");
        let address = format!("unix:{}", path.display());
        let to = server.address.strip_prefix("unix:").context("a unix socket")?.to_owned();
        let listener = UnixListener::bind(path)?;
        let wire = Self { address, is_cut: Arc::default(), cut: Arc::default() };
        let (is_cut, cut) = (Arc::clone(&wire.is_cut), Arc::clone(&wire.cut));
        tokio::spawn(async move {
            while let Ok((mut here, _)) = listener.accept().await {
                let cut = Arc::clone(&cut);
                if is_cut.load(Ordering::Relaxed) {
                    continue;
                }
                let to = to.clone();
                tokio::spawn(async move {
                    let Ok(mut there) = UnixStream::connect(to).await else { return };
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut here, &mut there) => {}
                        () = cut.notified() => {}
                    }
                });
            }
        });
        Ok(wire)
    }

    /// Nothing gets through until it is mended.
    pub(crate) fn cut(&self) {
        self.is_cut.store(true, Ordering::Relaxed);
        self.cut.notify_waiters();
    }

    pub(crate) fn mend(&self) {
        self.is_cut.store(false, Ordering::Relaxed);
    }
}
