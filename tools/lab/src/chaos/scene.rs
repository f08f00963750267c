//! The processes of a run, and the links between them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use plimsoll_testkit::chaos::{Disk, EtcdMember, MemberPlace, Moment, Process, start_etcd};
use plimsoll_testkit::http_get;
use tokio::time::{sleep, timeout};

use super::addresses::{ETCD, EXECUTORS, End, Net, SERVERS, SPECTATORS};
use super::ground::Ground;
use super::links::Links;
use super::namespaces;

/// What etcd may hold, little enough to be filled in a moment.
pub(super) const QUOTA: u64 = 24 * 1024 * 1024;
/// Requests a second of each spectator.
pub(super) const RATE: u32 = 50;
const UP_WITHIN: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Scene {
    pub(super) net: Net,
    pub(super) links: Links,
    pub(super) etcd: Vec<EtcdMember>,
    /// Of the members of etcd, if they can have any; goes after them.
    pub(super) disks: Vec<Disk>,
    pub(super) servers: Vec<Process>,
    pub(super) executors: Vec<Process>,
    pub(super) spectators: Vec<Process>,
}

impl Scene {
    /// Starts everything, the servers' way up first, and waits until servers serve.
    pub(super) async fn start(
        folder: &Path,
        plimsoll: &Path,
        seed: u64,
        ground: Ground,
    ) -> Result<Self> {
        let links = match ground.drops_packets() {
            true => Links::of_packets()?,
            false => Links::of_relays().await?,
        };
        let (net, disks) = (links.net(), ground.disks.unwrap_or_default());
        let places: Vec<_> = (0..ETCD).map(|n| member(folder, &links, disks.get(n), n)).collect();
        let etcd = start_etcd(folder, &places, QUOTA)?;
        for member in &etcd {
            let what = format!("{} knows a leader", member.process.name());
            until(&what, || async { member.is_healthy().await }).await?;
        }
        std::fs::write(folder.join("plimsoll.toml"), namespaces::configuration())?;
        let servers = (0..SERVERS).map(|n| server(folder, plimsoll, &links, n)).collect();
        let executors = (0..EXECUTORS).map(|n| executor(folder, &links, n));
        let spectators = (0..SPECTATORS).map(|n| spectator(folder, &links, n, seed));
        let (executors, spectators) =
            (executors.collect::<Result<_>>()?, spectators.collect::<Result<_>>()?);
        let mut scene = Self { net, links, etcd, disks, servers, executors, spectators };
        scene.servers.iter_mut().try_for_each(Process::start)?;
        for n in 0..SERVERS {
            scene.until_ready(n).await?;
        }
        scene.executors.iter_mut().try_for_each(Process::start)?;
        scene.spectators.iter_mut().try_for_each(Process::start)?;
        Ok(scene)
    }

    /// Every executor and spectator with the file that it writes.
    pub(super) fn records(folder: &Path) -> Vec<(String, PathBuf)> {
        let executors = (0..EXECUTORS).map(executor_name);
        let spectators = (0..SPECTATORS).map(|n| End::Spectator(n).to_string());
        let file = |name: String| (name.clone(), folder.join(format!("{name}.jsonl")));
        executors.chain(spectators).map(file).collect()
    }

    /// Waits until the server says that it is ready.
    pub(super) async fn until_ready(&mut self, server: usize) -> Result<()> {
        let (begun, http) = (Moment::now(), self.net.http(server));
        while get(http, "/readyz").await.is_none() {
            let process = &mut self.servers[server];
            let (runs, name) = (process.is_running(), process.name());
            ensure!(runs, "{name} ended: see {}", process.output().display());
            ensure!(begun.elapsed() < UP_WITHIN, "{name} is not ready within {UP_WITHIN:?}");
            sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Which server says that it leads the namespace.
    pub(super) async fn leader(&self, namespace: &str) -> Option<usize> {
        let led =
            format!("{}{{namespace=\"{namespace}\"}} 1", plimsoll_telemetry::names::IS_LEADER.name);
        for n in (0..SERVERS).filter(|n| !self.servers[*n].is_paused()) {
            let metrics = get(self.net.http(n), "/metrics").await.unwrap_or_default();
            if metrics.lines().any(|line| line == led) {
                return Some(n);
            }
        }
        None
    }

    /// `kill -9`; whoever connects is refused from then on.
    pub(super) fn kill_server(&mut self, n: usize) -> Result<Moment> {
        let killed = self.servers[n].kill()?;
        self.links.refuse(End::Server(n), true)?;
        Ok(killed)
    }

    pub(super) fn start_server(&mut self, n: usize) -> Result<()> {
        self.servers[n].start()?;
        self.links.refuse(End::Server(n), false)
    }

    pub(super) fn kill_etcd(&mut self, n: usize) -> Result<()> {
        self.etcd[n].process.kill()?;
        self.links.refuse(End::Etcd(n), true)
    }

    pub(super) fn start_etcd(&mut self, n: usize) -> Result<()> {
        self.etcd[n].process.start()?;
        self.links.refuse(End::Etcd(n), false)
    }

    pub(super) async fn until_etcd_is_healthy(&self) -> Result<()> {
        for member in &self.etcd {
            let what = format!("{} knows a leader again", member.process.name());
            until(&what, || async { member.is_healthy().await }).await?;
        }
        Ok(())
    }

    /// Who ended without being told to: a fault of its own.
    pub(super) fn dead(&mut self) -> Vec<String> {
        let etcd = self.etcd.iter_mut().map(|member| &mut member.process);
        let all = etcd.chain(&mut self.servers).chain(&mut self.executors);
        let dead = all
            .chain(&mut self.spectators)
            .filter_map(|process| (!process.is_running()).then(|| process.name().to_owned()));
        dead.collect()
    }
}

pub(super) fn executor_name(n: usize) -> String {
    End::Executor(n).to_string()
}

fn member(folder: &Path, links: &Links, disk: Option<&Disk>, n: usize) -> MemberPlace {
    let (net, name) = (links.net(), End::Etcd(n));
    MemberPlace {
        client: net.of(name),
        peer: net.etcd_peer(n),
        data: match disk {
            Some(disk) => disk.folder().join("data"),
            None => folder.join(format!("{name}.data")),
        },
        starter: links.starter(name),
        group: disk.map(Disk::group),
    }
}

fn server(folder: &Path, plimsoll: &Path, links: &Links, n: usize) -> Process {
    let (net, name) = (links.net(), End::Server(n).to_string());
    let url = |to| format!("http://{}", links.address(End::Server(n), to));
    let etcd = (0..ETCD).map(|member| url(End::Etcd(member))).collect::<Vec<_>>().join(",");
    let arguments = [
        ("config", folder.join("plimsoll.toml").display().to_string()),
        ("store", "etcd".to_owned()),
        ("etcd", etcd),
        ("advertise", links.address(End::Servers, End::Server(n)).to_string()),
        ("grpc", net.of(End::Server(n)).to_string()),
        ("http", net.http(n).to_string()),
    ];
    let flags = arguments.map(|(name, value)| format!("--{name}={value}"));
    // Beyond the loopback: the network is the run's alone.
    let words = ["server", "--allow-open"].map(str::to_owned);
    let arguments = words.into_iter().chain(flags).collect();
    let process = Process::new(&name, plimsoll, arguments, folder.join(format!("{name}.out")));
    process.started_by(links.starter(End::Server(n))).variable("PLIMSOLL_LOG_FORMAT", "json")
}

fn executor(folder: &Path, links: &Links, n: usize) -> Result<Process> {
    let end = End::Executor(n);
    let mut arguments = vec![
        "chaos-executor".to_owned(),
        format!("--servers={}", servers(links, end)),
        format!("--id={end}"),
        format!("--listen={}", links.net().of(end)),
        format!("--log={}", folder.join(format!("{end}.jsonl")).display()),
    ];
    arguments.extend(namespaces::all().map(|namespace| format!("--namespace={namespace}")));
    child(folder, links, end, arguments)
}

fn spectator(folder: &Path, links: &Links, n: usize, seed: u64) -> Result<Process> {
    let end = End::Spectator(n);
    let arguments = vec![
        "chaos-spectator".to_owned(),
        format!("--servers={}", servers(links, end)),
        format!("--log={}", folder.join(format!("{end}.jsonl")).display()),
        format!("--rate={RATE}"),
        format!("--seed={}", seed.wrapping_add(n as u64)),
    ];
    child(folder, links, end, arguments)
}

fn child(folder: &Path, links: &Links, end: End, arguments: Vec<String>) -> Result<Process> {
    let lab = std::env::current_exe().context("cannot find this program")?;
    let name = end.to_string();
    let process = Process::new(&name, &lab, arguments, folder.join(format!("{name}.out")));
    // Two threads: twenty processes share the machine.
    Ok(process.started_by(links.starter(end)).variable("TOKIO_WORKER_THREADS", "2"))
}

fn servers(links: &Links, from: End) -> String {
    let url = |n| format!("http://{}", links.address(from, End::Server(n)));
    (0..SERVERS).map(url).collect::<Vec<_>>().join(",")
}

/// Waits until it holds.
async fn until<F: Future<Output = bool>>(what: &str, holds: impl Fn() -> F) -> Result<()> {
    let begun = Moment::now();
    while !holds().await {
        ensure!(begun.elapsed() < UP_WITHIN, "not within {UP_WITHIN:?}: {what}");
        sleep(LOOK_EVERY).await;
    }
    Ok(())
}

pub(super) async fn get(http: std::net::SocketAddr, path: &str) -> Option<String> {
    let asked = timeout(Duration::from_secs(1), http_get(http, path)).await;
    asked.ok()?.ok()
}
