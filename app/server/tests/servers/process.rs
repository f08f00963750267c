//! A server in a process of its own, to be killed and stopped: this test binary,
//! started once more.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use super::etcd::{Etcd, signal};
use super::fleet::{namespace, start};

/// What the process is told.
const ETCD: &str = "PLIMSOLL_TEST_ETCD";

/// A server process.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    pub(crate) grpc: String,
    pub(crate) http: SocketAddr,
}

impl Process {
    /// Starts a server with the namespace `orders` and waits until it serves.
    pub(crate) fn start(etcd: &Etcd) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "process::serve", "--ignored", "--nocapture"])
            .env(ETCD, etcd.url())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let serving = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, addresses) = line.split_once("serving ")?;
            let (grpc, http) = addresses.split_once(' ')?;
            Some((grpc.to_owned(), http.trim().parse().ok()?))
        });
        // Read on, so that it can write.
        std::thread::spawn(move || lines.for_each(drop));
        let (grpc, http) = serving.expect("it serves");
        Self { grpc, http, child }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn stop(&self) {
        signal(self.child.id(), "STOP");
    }

    pub(crate) fn go_on(&self) {
        signal(self.child.id(), "CONT");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where a process writes what it has to say: a file, if the folder for it is given.
fn log() -> Stdio {
    let Ok(folder) = std::env::var("PLIMSOLL_TEST_LOGS") else { return Stdio::null() };
    let name = format!("{folder}/{}.log", rand::random::<u32>());
    std::fs::File::create(name).map_or_else(|_| Stdio::null(), Stdio::from)
}

/// Not a test: the process that [`Process`] starts.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "started by other tests"]
async fn serve() {
    let Ok(url) = std::env::var(ETCD) else { return };
    let format = "text".parse().unwrap();
    plimsoll_telemetry::logging::init(format, "info,plimsoll_server=debug").unwrap();
    let etcd = plimsoll_server::config::Etcd { urls: url, ..Default::default() };
    let mut config = config_of(etcd);
    config.namespaces = vec![namespace("orders", 24), namespace("carts", 0)];
    let server = start(&config).await;
    println!("serving {} {}", server.grpc, server.http);
    std::future::pending::<()>().await;
}

fn config_of(etcd: plimsoll_server::config::Etcd) -> plimsoll_server::Config {
    let store = plimsoll_server::config::StoreKind::Etcd;
    let mut config = plimsoll_server::Config { store, etcd, ..Default::default() };
    config.grpc.listen = "127.0.0.1:0".to_owned();
    config.http.listen = "127.0.0.1:0".to_owned();
    config
}
