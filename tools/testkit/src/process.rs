//! The real binary in a process of its own, to be killed and stopped.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::{SOON, eventually, soon};

/// The `plimsoll` binary of the profile that this test was built with. Built
/// here if it is not up to date: a test of yesterday's binary tells nothing.
///
/// # Errors
/// It cannot be built.
pub fn binary() -> Result<&'static Path> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| build().map_err(|error| format!("{error:#}")));
    built.as_deref().map_err(|error| anyhow::anyhow!("{error}"))
}

fn build() -> Result<PathBuf> {
    let test = std::env::current_exe().context("where is this test?")?;
    let profile = test.ancestors().nth(2).context("this test is not in target/PROFILE/deps")?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--package", "plimsoll"]).current_dir(workspace());
    // Build scripts (ring's) depend on what cargo says of the package that it
    // runs: this test's would have half the workspace built anew.
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_this_package(name)) {
        cargo.env_remove(name);
    }
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    let built = cargo.output().context("cannot start cargo")?;
    ensure!(built.status.success(), "no plimsoll: {}", String::from_utf8_lossy(&built.stderr));
    Ok(profile.join("plimsoll"))
}

fn is_of_this_package(variable: &OsStr) -> bool {
    let name = variable.to_string_lossy();
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// Runs the binary to its end.
///
/// # Errors
/// It cannot be started.
pub async fn run(arguments: &[&str]) -> Result<Output> {
    let mut command = command(arguments)?;
    let (sender, ended) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // Nobody waits any more if the test is over.
        let _ = sender.send(command.output());
    });
    ended.await?.context("cannot start plimsoll")
}

/// The binary with nothing of the environment's settings.
fn command(arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new(binary()?);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PLIMSOLL_")) {
        command.env_remove(name);
    }
    command.args(arguments).stdin(Stdio::null());
    Ok(command)
}

/// A `plimsoll server` that serves. Killed when it is dropped.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    pub grpc: SocketAddr,
    pub http: SocketAddr,
}

impl ServerProcess {
    /// Starts a server and waits until it serves.
    ///
    /// # Errors
    /// It ended, with what it said.
    pub async fn start(arguments: &[&str]) -> Result<Self> {
        let mut command = command(&[&["server"], arguments].concat())?;
        command.env("PLIMSOLL_LOG_FORMAT", "json").stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = Killed(Some(command.spawn().context("cannot start plimsoll")?));
        let stderr = child.0.as_mut().and_then(|child| child.stderr.take());
        let (grpc, http) = serving(stderr.context("no stderr")?).await?;
        let child = child.0.take().context("it is here")?;
        Ok(Self { child, grpc, http })
    }

    /// The same, again and again while the port is not free yet.
    pub async fn restart(arguments: &[&str]) -> Self {
        eventually(SOON, "the server starts again", || async { Self::start(arguments).await.ok() })
            .await
    }

    /// What the SDK connects to.
    pub fn url(&self) -> String {
        format!("http://{}", self.grpc)
    }

    /// `kill -9`, and waits until it is gone.
    ///
    /// # Errors
    /// It cannot be killed.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Sends a signal by name.
    ///
    /// # Errors
    /// There is no such process.
    pub fn signal(&self, name: &str) -> Result<()> {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status()?;
        ensure!(sent.success(), "kill -s {name} {pid}: {sent}");
        Ok(())
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// It goes on for longer.
    pub async fn ended(mut self, within: Duration) -> ExitStatus {
        eventually(within, "the server ends", || {
            std::future::ready(self.child.try_wait().ok().flatten())
        })
        .await
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A child that does not outlive a failed start.
struct Killed(Option<Child>);

impl Drop for Killed {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Reads the log until it says where it serves, and on for as long as it lives.
async fn serving(stderr: impl Read + Send + 'static) -> Result<(SocketAddr, SocketAddr)> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            // After the first of them nobody listens: it must be read all the same.
            let _ = sender.send(line);
        }
    });
    let found = tokio::task::spawn_blocking(move || addresses(&lines));
    soon(found).await?
}

fn addresses(lines: &mpsc::Receiver<String>) -> Result<(SocketAddr, SocketAddr)> {
    let mut said = String::new();
    while let Ok(line) = lines.recv_timeout(SOON) {
        let entry: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        if entry["message"] == "serving" {
            let address = |name: &str| entry[name].as_str().unwrap_or_default().parse();
            return Ok((address("grpc")?, address("http")?));
        }
        said += &line;
        said.push('\n');
    }
    bail!("the server does not serve: {said}")
}
