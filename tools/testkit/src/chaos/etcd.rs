//! Members of one etcd, and the orders to it for which there is no client here:
//! filling it, and mending it after that.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Process;

const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// What etcd takes in one request, less a little.
const JUNK_BYTES: usize = 1_000_000;
/// "junk" and "junl", the end of its range, as etcd's JSON has bytes.
const JUNK: (&str, &str) = ("anVuaw==", "anVubA==");

/// One member.
#[derive(Debug)]
pub struct EtcdMember {
    pub process: Process,
    pub client: SocketAddr,
}

/// Where a member lives.
#[derive(Clone, Debug)]
pub struct MemberPlace {
    /// For clients.
    pub client: SocketAddr,
    /// For other members.
    pub peer: SocketAddr,
    /// Of its own; made if it is not there.
    pub data: PathBuf,
    /// What starts its process, as [`Process::started_by`].
    pub starter: Vec<String>,
    /// The control group of its process, as [`Process::in_group`].
    pub group: Option<PathBuf>,
}

/// Starts a member at each place, which hold at most `quota` bytes; does not wait for
/// them. Output goes to the folder. `ETCD_BIN` names another program than Debian's.
///
/// # Errors
/// It cannot be started: is etcd-server installed?
pub fn start_etcd(folder: &Path, places: &[MemberPlace], quota: u64) -> Result<Vec<EtcdMember>> {
    let names = (1..).map(|n: usize| format!("etcd-{n}"));
    let all: Vec<_> = names.clone().zip(places).collect();
    let cluster = all.iter().map(|(name, it)| format!("{name}=http://{}", it.peer));
    let cluster = cluster.collect::<Vec<_>>().join(",");
    all.into_iter().map(|(name, place)| start(folder, &name, place, &cluster, quota)).collect()
}

fn start(
    folder: &Path,
    name: &str,
    place: &MemberPlace,
    cluster: &str,
    quota: u64,
) -> Result<EtcdMember> {
    let program = std::env::var("ETCD_BIN").unwrap_or_else(|_| "etcd".to_owned());
    let (client, peer) = (format!("http://{}", place.client), format!("http://{}", place.peer));
    let arguments = [
        ("name", name),
        ("data-dir", &place.data.display().to_string()),
        ("listen-client-urls", &client),
        ("advertise-client-urls", &client),
        ("listen-peer-urls", &peer),
        ("initial-advertise-peer-urls", &peer),
        ("initial-cluster", cluster),
        ("quota-backend-bytes", &quota.to_string()),
    ];
    let arguments = arguments.map(|(name, value)| format!("--{name}={value}")).to_vec();
    let output = folder.join(format!("{name}.out"));
    let mut process = Process::new(name, Path::new(&program), arguments, output)
        .started_by(place.starter.clone());
    if let Some(group) = &place.group {
        process = process.in_group(group.clone());
    }
    process.start()?;
    Ok(EtcdMember { process, client: place.client })
}

impl EtcdMember {
    /// Whether it answers and knows a leader of its members.
    pub async fn is_healthy(&self) -> bool {
        let health = crate::http_get(self.client, "/health");
        matches!(timeout(ANSWER_WITHIN, health).await, Ok(Ok(body)) if body.contains("true"))
    }

    /// A figure of its metrics.
    ///
    /// # Errors
    /// It does not answer, or has no such figure.
    pub async fn figure(&self, name: &str) -> Result<f64> {
        let text = timeout(ANSWER_WITHIN, crate::http_get(self.client, "/metrics")).await??;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Ok(value.with_context(|| format!("etcd has no figure {name}"))?.trim().parse()?)
    }

    /// Puts junk until it takes no more.
    ///
    /// # Errors
    /// It takes more than there is room for.
    pub async fn fill(&self, quota: u64) -> Result<()> {
        let put = junk();
        for _ in 0..2 + quota / JUNK_BYTES as u64 {
            if self.order("kv/put", &put).await.is_err() {
                return Ok(());
            }
        }
        anyhow::bail!("etcd holds more than its quota")
    }

    /// Puts a little junk, which is kept in the files of every member.
    ///
    /// # Errors
    /// It refuses.
    pub async fn put_junk(&self) -> Result<()> {
        self.order("kv/put", &junk()).await.map(drop)
    }

    /// Takes the junk out again. Every member has to make room for itself by
    /// [`defragment`](Self::defragment) then.
    ///
    /// # Errors
    /// It refuses.
    pub async fn clear(&self) -> Result<()> {
        let range = json!({ "key": JUNK.0, "range_end": JUNK.1 });
        let answer = self.order("kv/deleterange", &range).await?;
        let revision = answer["header"]["revision"].as_str().context("no revision")?;
        self.order("kv/compaction", &json!({ "revision": revision, "physical": true })).await?;
        Ok(())
    }

    /// Gives room back to the disk.
    ///
    /// # Errors
    /// It refuses.
    pub async fn defragment(&self) -> Result<()> {
        self.order("maintenance/defragment", &json!({})).await.map(drop)
    }

    /// Has all members take writes again.
    ///
    /// # Errors
    /// It refuses.
    pub async fn disarm(&self) -> Result<()> {
        let answer = self.order("maintenance/alarm", &json!({ "action": "GET" })).await?;
        for alarm in answer["alarms"].as_array().into_iter().flatten() {
            let mut order = alarm.clone();
            order["action"] = json!("DEACTIVATE");
            self.order("maintenance/alarm", &order).await?;
        }
        Ok(())
    }

    async fn order(&self, what: &str, body: &Value) -> Result<Value> {
        let answer = timeout(ANSWER_WITHIN, post(self.client, what, &body.to_string())).await;
        answer.with_context(|| format!("{} does not answer", self.process.name()))?
    }
}

/// Of one key: what it was before takes room until it is compacted.
fn junk() -> Value {
    json!({ "key": JUNK.0, "value": "QUFB".repeat(JUNK_BYTES / 3) })
}

async fn post(address: SocketAddr, what: &str, body: &str) -> Result<Value> {
    let mut socket = TcpStream::connect(address).await?;
    let head = format!(
        "POST /v3/{what} HTTP/1.0\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).await?;
    socket.write_all(body.as_bytes()).await?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").context("half an answer")?;
    ensure!(head.lines().next().is_some_and(|line| line.contains(" 200 ")), "etcd: {body}");
    Ok(serde_json::from_str(body)?)
}
