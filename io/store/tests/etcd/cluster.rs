//! etcd processes for tests, on free ports of loopback, gone when the test is.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use std::{env, fs, io, net, thread};

use tempfile::TempDir;

/// Ends the server when our end of the pipe closes, however we end.
const UNTIL_STDIN_ENDS: &str =
    r#"pid_file=$1; shift; "$@" & echo $! >"$pid_file"; read -r _; kill -9 $!"#;

/// The members of one etcd.
#[derive(Debug)]
pub(crate) struct Members {
    ports: Vec<(u16, u16)>,
    /// Options of etcd beyond the usual ones.
    options: Vec<String>,
    shells: Vec<Child>,
    data: TempDir,
}

/// The etcd that all tests of this binary share, each with a prefix of its own.
pub(crate) fn shared() -> &'static str {
    static SHARED: OnceLock<(String, Members)> = OnceLock::new();
    let start = || {
        let members = Members::of(1);
        (members.endpoints().remove(0), members)
    };
    &SHARED.get_or_init(start).0
}

impl Members {
    /// Starts three members and waits until they answer.
    pub(crate) fn start() -> Self {
        Self::of(3)
    }

    pub(crate) fn of(count: usize) -> Self {
        Self::with(count, Vec::new())
    }

    pub(crate) fn with(count: usize, options: Vec<String>) -> Self {
        let ports = (0..count).map(|_| (free_port(), free_port())).collect();
        Self::on(ports, options)
    }

    /// One member, whose plain port is this; the options say where it listens.
    pub(crate) fn at(port: u16, options: Vec<String>) -> Self {
        Self::on(vec![(port, free_port())], options)
    }

    fn on(ports: Vec<(u16, u16)>, options: Vec<String>) -> Self {
        let (count, data) = (ports.len(), TempDir::new().expect("a temporary folder"));
        let mut members = Self { ports, options, shells: Vec::new(), data };
        members.shells = (0..count).map(|number| members.spawn(number)).collect();
        (0..count).for_each(|number| members.wait_until_healthy(number));
        members
    }

    pub(crate) fn endpoints(&self) -> Vec<String> {
        self.ports.iter().map(|(client, _)| url(*client)).collect()
    }

    pub(crate) fn kill(&self, member: usize) {
        self.signal(member, "KILL");
    }

    pub(crate) fn stop(&self, member: usize) {
        self.signal(member, "STOP");
    }

    pub(crate) fn go_on(&self, member: usize) {
        self.signal(member, "CONT");
        self.wait_until_healthy(member);
    }

    /// After a kill, with the same data.
    pub(crate) fn restart(&mut self, member: usize) {
        self.shells[member] = self.spawn(member);
        self.wait_until_healthy(member);
    }

    /// Forgets what happened before this revision.
    pub(crate) fn compact(&self, member: usize, revision: i64) {
        let request = format!(r#"{{"revision":"{revision}","physical":true}}"#);
        self.post(member, "/v3/kv/compaction", "", &request);
    }

    /// Asks etcd's JSON gateway, in plain text.
    pub(crate) fn post(&self, member: usize, path: &str, token: &str, json: &str) -> String {
        // An empty token would be a wrong one.
        let sign =
            if token.is_empty() { String::new() } else { format!("Authorization: {token}\r\n") };
        let length = json.len();
        let request =
            format!("POST {path} HTTP/1.0\r\n{sign}Content-Length: {length}\r\n\r\n{json}");
        let answer = http(self.ports[member].0, &request).expect("etcd answers");
        assert!(answer.lines().next().is_some_and(|it| it.contains("200")), "{path}: {answer}");
        answer
    }

    pub(crate) fn signal(&self, member: usize, signal: &str) {
        let pid = fs::read_to_string(self.pid_file(member)).expect("the shell wrote it");
        let sent = Command::new("kill").args([&format!("-{signal}"), pid.trim()]).status();
        assert!(sent.expect("kill").success(), "member {member}");
    }

    fn pid_file(&self, member: usize) -> std::path::PathBuf {
        self.data.path().join(format!("{member}.pid"))
    }

    fn spawn(&self, member: usize) -> Child {
        let (client, peer) = self.ports[member];
        let all: Vec<_> =
            (0..).zip(&self.ports).map(|(n, it)| format!("m{n}={}", url(it.1))).collect();
        Command::new("sh")
            .args(["-c", UNTIL_STDIN_ENDS, "sh"])
            .arg(self.pid_file(member))
            .arg(env::var("ETCD_BIN").unwrap_or_else(|_| "etcd".to_owned()))
            .args(["--name", &format!("m{member}"), "--data-dir"])
            .arg(Path::new(self.data.path()).join(format!("m{member}")))
            .args(["--listen-client-urls", &url(client), "--advertise-client-urls", &url(client)])
            .args(["--listen-peer-urls", &url(peer), "--initial-advertise-peer-urls", &url(peer)])
            .args(["--initial-cluster", &all.join(",")])
            .args(&self.options)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh")
    }

    /// `/health` answers `true` once there is a leader.
    pub(crate) fn wait_until_healthy(&self, member: usize) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !is_healthy(self.ports[member].0) {
            assert!(Instant::now() < deadline, "etcd does not answer; is etcd-server installed?");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn is_healthy(port: u16) -> bool {
    http(port, "GET /health HTTP/1.0\r\n\r\n").is_ok_and(|answer| answer.contains("true"))
}

fn http(port: u16, request: &str) -> io::Result<String> {
    let mut stream = net::TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

pub(crate) fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
