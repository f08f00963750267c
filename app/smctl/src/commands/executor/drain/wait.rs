//! Waits until drained hosts carry nothing, with a progress bar on a terminal
//! and a line for every change elsewhere.
//!
//! Asks for counts, not for shards: a namespace of a million shards is watched
//! as cheaply as one of ten.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plimsoll_wire::v1::{GetLoadsRequest, ListDrainsRequest};

use super::preview;
use crate::go_duration;
use crate::output::say;
use crate::rpc_error::RpcError;
use crate::server::Server;

const INTERVAL: Duration = Duration::from_millis(200);

/// What is still on the hosts.
#[derive(Clone, Debug, Default, PartialEq)]
struct Rest {
    shards: u64,
    /// One sentence a host that cannot be emptied yet.
    reasons: Vec<String>,
}

/// The hosts that are being drained.
pub(super) struct Hosts<'a> {
    pub(super) server: &'a Server,
    pub(super) namespace: &'a str,
    pub(super) hostnames: &'a [String],
}

impl Hosts<'_> {
    /// Returns when the hosts, which held so many shards before the order, are
    /// empty; an error if that takes too long.
    pub(super) async fn until_empty(&self, held: usize, timeout: Duration) -> Result<()> {
        let start = Instant::now();
        let mut progress = Progress::new(held as u64);
        loop {
            let rest = self.rest().await?;
            progress.show(&rest);
            if rest == Rest::default() {
                return Ok(());
            }
            if start.elapsed() >= timeout {
                return Err(self.gave_up(&rest, timeout));
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    fn gave_up(&self, rest: &Rest, timeout: Duration) -> anyhow::Error {
        let hosts = self.hostnames.join(", ");
        let after = go_duration::format(timeout);
        let advice = "the drain stays in force: `smctl executor undrain` lifts it";
        anyhow!("{}\n{advice}", rest.sentence())
            .context(format!("{hosts} still not empty after {after}"))
    }

    async fn rest(&self) -> Result<Rest> {
        match self.shards_by_count().await {
            Ok(shards) => Ok(Rest { shards, reasons: self.reasons().await? }),
            Err(error) if RpcError::is_unimplemented(&error) => self.rest_at_go_server().await,
            Err(error) => Err(error),
        }
    }

    async fn shards_by_count(&self) -> Result<u64> {
        let namespace = self.namespace.to_owned();
        let message = GetLoadsRequest { namespace, ..GetLoadsRequest::default() };
        let request = self.server.request(message);
        let loads = self.server.call("GetLoads", self.server.admin().get_loads(request)).await?;
        let here = loads.executors.iter().filter(|it| self.hostnames.contains(&it.host));
        Ok(here.map(|executor| executor.shards).sum())
    }

    async fn reasons(&self) -> Result<Vec<String>> {
        let message = ListDrainsRequest { namespace: self.namespace.to_owned() };
        let request = self.server.request(message);
        let drains =
            self.server.call("ListDrains", self.server.admin().list_drains(request)).await?;
        let here = drains.hosts.iter().filter(|it| self.hostnames.contains(&it.name));
        let waiting = here.filter(|drain| !drain.waiting_for.is_empty());
        Ok(waiting.map(|it| format!("{}: {}", it.name, it.waiting_for)).collect())
    }

    /// A Go server tells what is there, but not why.
    async fn rest_at_go_server(&self) -> Result<Rest> {
        let state = self.server.namespace_state(self.namespace).await?;
        let shards = preview::held(self.hostnames, &state.executors) as u64;
        Ok(Rest { shards, reasons: Vec::new() })
    }
}

impl Rest {
    fn sentence(&self) -> String {
        let count = match self.shards {
            0 => "no shard left".to_owned(),
            1 => "1 shard left".to_owned(),
            shards => format!("{shards} shards left"),
        };
        std::iter::once(count).chain(self.reasons.iter().cloned()).collect::<Vec<_>>().join("\n")
    }
}

/// A bar on a terminal, lines elsewhere.
struct Progress {
    bar: Option<ProgressBar>,
    start: u64,
    shown: Option<Rest>,
}

impl Progress {
    fn new(shards: u64) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| bar(shards));
        Self { bar, start: shards, shown: None }
    }

    fn show(&mut self, rest: &Rest) {
        if self.shown.as_ref() == Some(rest) {
            return;
        }
        match &self.bar {
            Some(bar) => self.move_bar(bar, rest),
            None => say(&rest.sentence().replace('\n', "; ")),
        }
        self.shown = Some(rest.clone());
    }

    /// A host may get more before it gets less: the bar never runs backwards
    /// below its start.
    fn move_bar(&self, bar: &ProgressBar, rest: &Rest) {
        bar.set_position(self.start.saturating_sub(rest.shards));
        bar.set_message(rest.reasons.join("; "));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.abandon();
        }
    }
}

fn bar(shards: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} shards moved  {elapsed}  {msg}");
    let bar = ProgressBar::with_draw_target(Some(shards), ProgressDrawTarget::stderr());
    // The template is a constant; were it wrong, the default one would do.
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
