//! etcd processes for tests, on free ports of loopback, gone when the test is.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use std::{env, fs, net, thread};

use tempfile::TempDir;

/// Ends the server when our end of the pipe closes, however we end.
const UNTIL_STDIN_ENDS: &str =
    r#"pid_file=$1; shift; "$@" & echo $! >"$pid_file"; read -r _; kill -9 $!"#;

/// Three members of one etcd.
#[derive(Debug)]
pub(crate) struct Members {
    ports: Vec<(u16, u16)>,
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

    fn of(count: usize) -> Self {
        let data = TempDir::new().expect("a temporary folder");
        let ports = (0..count).map(|_| (free_port(), free_port())).collect();
        let mut members = Self { ports, shells: Vec::new(), data };
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

    fn signal(&self, member: usize, signal: &str) {
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
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh")
    }

    /// `/health` answers `true` once there is a leader.
    fn wait_until_healthy(&self, member: usize) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !is_healthy(self.ports[member].0) {
            assert!(Instant::now() < deadline, "etcd does not answer; is etcd-server installed?");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn is_healthy(port: u16) -> bool {
    use std::io::{Read, Write};
    let ask = || -> std::io::Result<String> {
        let mut stream = net::TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.write_all(b"GET /health HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.contains("true"))
}

fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
