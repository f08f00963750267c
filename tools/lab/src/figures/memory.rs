//! Memory of a server that holds a million shards.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::{Context, Result};
use plimsoll_client::Executor;
use plimsoll_wire::v1;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::Figure;
use crate::setup::{Reporting, admin, executor, fixed, ids};

const SHARDS: u64 = 1_000_000;
const EXECUTORS: usize = 100;
const PATIENCE: Duration = Duration::from_secs(180);
const LOOK: Duration = Duration::from_millis(500);

pub(super) async fn measure() -> Result<Vec<Figure>> {
    let data = tempfile::tempdir().context("cannot make a folder for the store")?;
    let (grpc, http) = (free_port()?, free_port()?);
    let mut server = start_server(data.path(), grpc, http)?;
    let measured = fill(&format!("http://{grpc}"), server.id()).await;
    server.kill().context("cannot end the server")?;
    server.wait().context("cannot wait for the server")?;
    let (empty, full, peak) = measured?;
    let per_shard = (full - empty) as f64 / SHARDS as f64;
    Ok(vec![Figure {
        name: "memory",
        measured: format!(
            "{per_shard:.0} bytes a shard at {SHARDS} shards on {EXECUTORS} executors with sessions, all measured ({:.0} MiB resident, {:.0} MiB empty, {:.0} MiB at the peak)",
            mib(full),
            mib(empty),
            mib(peak)
        ),
        to_reach: "under 400 bytes a shard",
        reached: per_shard < 400.0,
    }])
}

/// Fills a namespace, runs it and reads the server's memory.
async fn fill(url: &str, pid: u32) -> Result<(u64, u64, u64)> {
    let owners = ids(EXECUTORS);
    let mut admin = wait_for_server(url).await?;
    let empty = resident(pid, "VmRSS")?;
    admin.create_namespace(fixed("memory", SHARDS, &owners)).await?;
    let (began, _begun) = mpsc::unbounded_channel();
    let clock = plimsoll_server::clock::Clock::start();
    let mut executors: Vec<Executor> = Vec::new();
    for id in &owners {
        let reporting = Reporting { clock, began: began.clone() };
        executors.push(executor(url, "memory", id, reporting).await?);
    }
    let begun = Instant::now();
    loop {
        let request = v1::DescribeNamespaceRequest { name: "memory".to_owned() };
        let described = admin.describe_namespace(request).await?.into_inner();
        if described.balance.is_some_and(|balance| balance.measured >= 1.0) {
            break;
        }
        anyhow::ensure!(begun.elapsed() < PATIENCE, "a million shards were not measured in time");
        sleep(LOOK).await;
    }
    // A few cycles of balance, so that what they need is counted.
    sleep(Duration::from_secs(5)).await;
    Ok((empty, resident(pid, "VmRSS")?, resident(pid, "VmHWM")?))
}

async fn wait_for_server(
    url: &str,
) -> Result<v1::admin_service_client::AdminServiceClient<tonic::transport::Channel>> {
    let begun = Instant::now();
    let mut admin = admin(url)?;
    loop {
        let request = v1::DescribeNamespaceRequest { name: "nobody".to_owned() };
        match admin.describe_namespace(request).await {
            Err(status) if status.code() == tonic::Code::NotFound => return Ok(admin),
            _ => anyhow::ensure!(begun.elapsed() < PATIENCE, "the server did not start"),
        }
        sleep(LOOK).await;
    }
}

fn start_server(data: &std::path::Path, grpc: SocketAddr, http: SocketAddr) -> Result<Child> {
    let server = beside_this_program("plimsoll")?;
    let mut command = Command::new(&server);
    command.arg("server").arg("--data-dir").arg(data);
    command.args(["--grpc", &grpc.to_string(), "--http", &http.to_string()]);
    command.env("PLIMSOLL_LOG_FILTER", "error");
    command.spawn().with_context(|| format!("cannot start {}", server.display()))
}

fn beside_this_program(name: &str) -> Result<PathBuf> {
    let path = std::env::current_exe().context("cannot find this program")?.with_file_name(name);
    let built = path.is_file();
    anyhow::ensure!(built, "{} is missing: run cargo build --release -p plimsoll", path.display());
    Ok(path)
}

fn free_port() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").context("cannot open a port")?;
    listener.local_addr().context("the port has no address")
}

/// A line of /proc/PID/status, in bytes.
fn resident(pid: u32, field: &str) -> Result<u64> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let line = text.lines().find(|line| line.starts_with(field));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.map(|kib| kib * 1024).with_context(|| format!("{path} has no {field}"))
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}
