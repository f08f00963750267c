//! Keeps the server and the client out of each other's way.

use std::path::Path;
use std::process::{Command, Stdio};

const TASKSET: &str = "/usr/bin/taskset";
/// The server has the first core, the client the second.
const SERVER_CORE: &str = "0";
const CLIENT_CORE: &str = "1";

fn possible() -> bool {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores > 1 && Path::new(TASKSET).exists()
}

/// A command that runs `program` on the server's core.
pub(super) fn server_command(program: &Path) -> Command {
    if !possible() {
        return Command::new(program);
    }
    let mut command = Command::new(TASKSET);
    command.args(["-c", SERVER_CORE]).arg(program);
    command
}

/// Moves this thread to the client's core. Does nothing where that is impossible:
/// the figures are then less steady, not wrong.
pub(super) fn this_client() {
    let Ok(thread) = std::fs::read_link("/proc/thread-self") else { return };
    let Some(thread) = thread.file_name().filter(|_| possible()) else { return };
    let mut command = Command::new(TASKSET);
    command.args(["-cp", CLIENT_CORE]).arg(thread).stdout(Stdio::null()).stderr(Stdio::null());
    drop(command.status());
}
