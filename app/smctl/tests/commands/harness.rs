//! Runs `smctl` and keeps the golden files.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What one run of the binary left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

/// Runs `smctl` with the words of a line, one at a time, and something on stdin.
pub(crate) fn smctl(address: &str, line: &str, stdin: &str) -> Run {
    smctl_with_env(&[("SMCTL_ADDRESS", address)], line, stdin)
}

/// As [`smctl`], with these variables and no other of its own.
pub(crate) fn smctl_with_env(variables: &[(&str, &str)], line: &str, stdin: &str) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_smctl"))
        .args(words(line))
        .env_clear()
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A run that ends without reading its input closes the pipe: no failure.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    Run {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap(),
    }
}

/// Splits at spaces; 'single quotes' keep a word together.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        match index % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

/// Runs a line and compares everything with `tests/golden/<name>.txt`.
pub(crate) fn golden(address: &str, name: &str, line: &str, stdin: &str) {
    let run = smctl(address, line, stdin);
    compare(name, &transcript(address, line, stdin, &run));
}

fn transcript(address: &str, line: &str, stdin: &str, run: &Run) -> String {
    let typed = if stdin.is_empty() { String::new() } else { format!("--- stdin\n{stdin}") };
    let Run { stdout, stderr, code } = run;
    let text = format!(
        "$ smctl {line}\n{typed}--- stdout\n{stdout}--- stderr\n{stderr}\n--- exit {code}\n"
    );
    text.replace(address, "ADDRESS").replace(&drained_by(&user()), &drained_by("USER"))
}

fn drained_by(user: &str) -> String {
    format!("\"DrainedBy\": \"{user}\"")
}

fn user() -> String {
    let output = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn compare(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, actual).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "{} differs: UPDATE_GOLDEN=1 rewrites it", path.display());
}
