//! A real Chromium, driven over the DevTools protocol: as much of it as tests of pages
//! and their pictures need, which is a dozen commands over one socket.

mod connection;
mod page;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use serde_json::json;
use tempfile::TempDir;

use connection::Connection;
pub use page::{Page, Screen};

/// Programs that may be Chromium, in order.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// A browser without a window. Ends when it is dropped.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    connection: Arc<Connection>,
    _profile: TempDir,
}

impl Browser {
    /// Starts one.
    ///
    /// # Errors
    /// There is none to start: `apt-get install chromium`.
    pub async fn start() -> Result<Self> {
        let profile = tempfile::tempdir()?;
        let mut child = spawn(&profile)?;
        let stderr = child.stderr.take().context("no stderr")?;
        let address = tokio::task::spawn_blocking(move || address(stderr)).await?;
        let connection = match address {
            Ok(address) => Connection::open(&address).await,
            Err(error) => Err(error),
        };
        match connection {
            Ok(connection) => Ok(Self { child, connection, _profile: profile }),
            Err(error) => {
                // It may have ended by itself.
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// A tab of its own, as large as a screen.
    ///
    /// # Errors
    /// The browser has ended.
    pub async fn open(&self, screen: Screen) -> Result<Page> {
        let made = self.connection.call(None, "Target.createTarget", json!({"url": "about:blank"}));
        let target = made.await?["targetId"].clone();
        let attach = json!({"targetId": target, "flatten": true});
        let attached = self.connection.call(None, "Target.attachToTarget", attach).await?;
        let session = attached["sessionId"].as_str().context("no session")?.to_owned();
        Page::new(self.connection.clone(), session, screen).await
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(profile: &TempDir) -> Result<Child> {
    let arguments = [
        "--headless=new",
        // The sandbox needs rights that test machines often lack; the pages are ours.
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--no-default-browser-check",
        "--disable-background-networking",
        "--disable-component-update",
        "--hide-scrollbars",
        "--font-render-hinting=none",
        "--remote-debugging-port=0",
        "about:blank",
    ];
    for name in NAMES {
        let mut command = Command::new(name);
        command.args(arguments).arg(format!("--user-data-dir={}", profile.path().display()));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        if let Ok(child) = command.spawn() {
            return Ok(child);
        }
    }
    bail!("there is no Chromium: apt-get install chromium, or run cargo xtask test as root")
}

/// Reads what it says until it says where it listens, and on for as long as it lives.
fn address(stderr: impl std::io::Read + Send + 'static) -> Result<String> {
    let mut lines = BufReader::new(stderr).lines();
    let mut said = String::new();
    while let Some(Ok(line)) = lines.next() {
        if let Some(address) = line.strip_prefix("DevTools listening on ") {
            let address = address.to_owned();
            std::thread::spawn(move || lines.for_each(drop));
            return Ok(address);
        }
        said = said + &line + "\n";
    }
    bail!("Chromium does not listen: {said}")
}
