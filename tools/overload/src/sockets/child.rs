//! The server process, seen from here.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::{Server, pin};
use crate::shedders::Shedder;

/// A running server; killed when dropped.
pub(super) struct Child {
    process: process::Child,
    port: u16,
    /// Where a faked wall clock is set, if it is faked.
    clock: Option<PathBuf>,
}

/// What the process has used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// User and system time of all its threads, in microseconds.
    pub(super) cpu_us: f64,
    pub(super) rss_mib: f64,
}

/// How many clocks were faked so far: each has a file of its own.
static CLOCKS: AtomicU32 = AtomicU32::new(0);
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

impl Child {
    pub(super) fn start(server: &Server, shedder: Shedder, capacity: f64) -> Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = pin::server_command(&program);
        command.args([
            "overload-server",
            "--shedder",
            shedder.name(),
            "--work",
            server.kind.word(),
        ]);
        command.args(["--capacity", &capacity.to_string()]);
        let clock = fake_clock(server, &mut command)?;
        // It ends when its standard input does: it cannot outlive this process.
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().context("cannot start the server process")?;
        let port = port(&mut process).inspect_err(|_| drop(process.kill()))?;
        Ok(Self { process, port, clock })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn usage(&self) -> Usage {
        let folder = PathBuf::from(format!("/proc/{}", self.process.id()));
        Usage { cpu_us: cpu_us(&folder).unwrap_or(0.0), rss_mib: rss_mib(&folder).unwrap_or(0.0) }
    }

    /// Stops the process and moves its clock when it is time to, from `origin` on.
    pub(super) fn disturb(&self, server: &Server, origin: Instant) {
        for &at in &server.stops {
            sleep_until(origin + Duration::from_secs_f64(at));
            self.signal("STOP");
            std::thread::sleep(Duration::from_secs(1));
            self.signal("CONT");
        }
        for (n, &at) in server.jumps.iter().enumerate() {
            sleep_until(origin + Duration::from_secs_f64(at));
            self.set_clock(if n % 2 == 0 { "+3600" } else { "-3600" });
        }
    }

    fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        // If it is gone, the records say so.
        drop(Command::new("kill").args([&format!("-{name}"), &id]).status());
    }

    fn set_clock(&self, offset: &str) {
        if let Some(clock) = &self.clock {
            drop(std::fs::write(clock, offset));
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
        if let Some(clock) = &self.clock {
            drop(std::fs::remove_file(clock));
        }
    }
}

/// libfaketime moves the wall clock and leaves the monotonic one alone.
fn fake_clock(server: &Server, command: &mut Command) -> Result<Option<PathBuf>> {
    if server.jumps.is_empty() || !Path::new(FAKETIME).exists() {
        return Ok(None);
    }
    let number = CLOCKS.fetch_add(1, Ordering::Relaxed);
    let file = std::env::temp_dir().join(format!("plimsoll-clock-{}-{number}", process::id()));
    let mut clock = std::fs::File::create(&file).context("cannot write the faked clock")?;
    clock.write_all(b"+0").context("cannot write the faked clock")?;
    command.env("LD_PRELOAD", FAKETIME).env("FAKETIME_TIMESTAMP_FILE", &file);
    // Read again every second: to read it at every call would be the load.
    command.env("FAKETIME_CACHE_DURATION", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    Ok(Some(file))
}

/// Whether a wall clock can be faked here.
pub(crate) fn can_fake_clock() -> bool {
    Path::new(FAKETIME).exists()
}

fn port(process: &mut process::Child) -> Result<u16> {
    let output = process.stdout.take().context("the server process has no output")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).context("the server process said nothing")?;
    line.trim().parse().with_context(|| format!("the server process said {line:?}"))
}

fn sleep_until(moment: Instant) {
    std::thread::sleep(moment.saturating_duration_since(Instant::now()));
}

/// Of all threads: the first number of schedstat is nanoseconds on a CPU.
fn cpu_us(folder: &Path) -> Option<f64> {
    let threads = std::fs::read_dir(folder.join("task")).ok()?;
    let nanos = threads.flatten().filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    Some(nanos.sum::<f64>() / 1e3)
}

fn rss_mib(folder: &Path) -> Option<f64> {
    let text = std::fs::read_to_string(folder.join("status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
}
