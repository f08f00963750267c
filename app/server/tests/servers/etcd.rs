//! One etcd member in a process of its own, gone when the test is.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How many tests have an etcd at a time: each has servers and executors besides, and
/// where nothing gets its turn everybody is taken for dead.
const AT_ONCE: usize = 3;

static RUNNING: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// One of the etcds that may run at a time.
#[derive(Debug)]
struct Place;

/// An etcd that runs.
#[derive(Debug)]
pub(crate) struct Etcd {
    _place: Place,
    child: Child,
    port: u16,
    peer: u16,
    data: TempDir,
}

impl Etcd {
    pub(crate) fn start() -> Self {
        let place = Place::take();
        let data = TempDir::new().unwrap();
        let (port, peer) = (free_port(), free_port());
        let child = spawn(port, peer, &data);
        let etcd = Self { _place: place, child, port, peer, data };
        etcd.wait_until_healthy();
        etcd
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// After a kill, with the same data.
    pub(crate) fn restart(&mut self) {
        self.child = spawn(self.port, self.peer, &self.data);
        self.wait_until_healthy();
    }

    pub(crate) fn stop(&self) {
        signal(self.child.id(), "STOP");
    }

    pub(crate) fn go_on(&self) {
        signal(self.child.id(), "CONT");
    }

    /// From now on nothing can be stored, as when its quota is spent; or it can again.
    pub(crate) fn refuse_changes(&self, refuse: bool) {
        let action = if refuse { "ACTIVATE" } else { "DEACTIVATE" };
        let body = format!(r#"{{"action":"{action}","memberID":"0","alarm":"NOSPACE"}}"#);
        let answer = self.post("maintenance/alarm", &body);
        assert!(answer.contains("200 OK"), "{answer}");
    }

    /// The number of changes there have been.
    pub(crate) fn revision(&self) -> u64 {
        let answer = self.post("kv/range", r#"{"key":"AA=="}"#);
        let (_, after) = answer.split_once(r#""revision":""#).expect("a revision");
        after.split('"').next().unwrap().parse().unwrap()
    }

    fn post(&self, path: &str, body: &str) -> String {
        let length = body.len();
        let request = format!("POST /v3/{path} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{body}");
        http(self.port, &request)
    }

    fn wait_until_healthy(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !is_healthy(self.port) {
            assert!(Instant::now() < deadline, "etcd does not answer; is etcd-server installed?");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Place {
    fn take() -> Self {
        let (count, freed) = &RUNNING;
        let taken = count.lock().unwrap();
        *freed.wait_while(taken, |taken| *taken >= AT_ONCE).unwrap() += 1;
        Self
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let (count, freed) = &RUNNING;
        *count.lock().unwrap() -= 1;
        freed.notify_one();
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        // It may be gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap();
    assert!(sent.success(), "kill -s {name} {pid}");
}

fn spawn(port: u16, peer: u16, data: &TempDir) -> Child {
    let (client, peer) = (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{peer}"));
    Command::new(std::env::var("ETCD_BIN").unwrap_or_else(|_| "etcd".to_owned()))
        .args(["--name", "m", "--data-dir"])
        .arg(data.path().join("m"))
        .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
        .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
        .args(["--initial-cluster", &format!("m={peer}")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("etcd")
}

fn is_healthy(port: u16) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.write_all(b"GET /health HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.contains("true"))
}

fn http(port: u16, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
