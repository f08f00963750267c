//! `plimsoll proxy`: options, logging, the proxy, signals, exit code.

mod following;
mod options;

use std::process::ExitCode;

use anyhow::{Context, Result};
use plimsoll_proxy::{Bound, Drained};
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) use options::Options;

/// Requests were still in progress at the deadline and were ended.
const CUT: u8 = 3;

/// What asks the proxy to leave, and a second time to hurry.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

pub(crate) fn run(options: Options) -> Result<ExitCode> {
    let format = options.log_format.parse()?;
    plimsoll_telemetry::logging::init(format, &options.log)?;
    tokio::runtime::Runtime::new().context("cannot start the runtime")?.block_on(serve(options))
}

async fn serve(options: Options) -> Result<ExitCode> {
    let mut signals = Signals::listen()?;
    let layer = options.following.layer(options.policy.as_deref())?;
    let proxy = Bound::new(options.settings()?).await?.serve_shedding(layer)?;
    tracing::info!(
        listen = %proxy.listen,
        upstream = %options.upstream,
        metrics = proxy.metrics.map(tracing::field::display),
        "proxying"
    );
    signals.next().await;
    tracing::info!("leaving: no more connections, what is in progress may end");
    Ok(exit(proxy.stop(signals.next()).await))
}

fn exit(drained: Drained) -> ExitCode {
    if drained.cut == 0 {
        tracing::info!("left with nothing in progress");
        return ExitCode::SUCCESS;
    }
    tracing::warn!(connections = drained.cut, "left with requests in progress, which were ended");
    ExitCode::from(CUT)
}

impl Signals {
    fn listen() -> Result<Self> {
        let listen = |kind, name| signal(kind).with_context(|| format!("cannot listen for {name}"));
        Ok(Self {
            terminate: listen(SignalKind::terminate(), "SIGTERM")?,
            interrupt: listen(SignalKind::interrupt(), "SIGINT")?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
