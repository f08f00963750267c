//! An executor in a process of its own, which writes down what it runs.
//!
//! Ownership is what `owns` says, asked every few milliseconds and for every
//! request; and what the application was told to start and stop. The two are
//! judged apart: see `oracle`.

mod application;
mod sampling;
mod serving;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use futures::future::{join_all, select_all};
use plimsoll_client::Executor;
use plimsoll_telemetry::logging;
use plimsoll_testkit::chaos::Moment;
use tokio::signal::unix::{SignalKind, signal};

use self::application::Application;
use super::record::{Entry, Log};

const AGAIN_AFTER: Duration = Duration::from_millis(300);

#[derive(Args, Debug)]
pub(crate) struct Options {
    #[arg(long)]
    servers: String,
    #[arg(long)]
    id: String,
    #[arg(long)]
    listen: SocketAddr,
    #[arg(long)]
    log: PathBuf,
    #[arg(long)]
    namespace: Vec<String>,
}

/// Runs until SIGTERM, or until another process has taken its name.
pub(crate) async fn run(options: Options) -> Result<()> {
    logging::init(logging::Format::Text, "info")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let log = Arc::new(Log::open(&options.log)?);
    log.append(&Entry::Up { at: Moment::now() });
    let listener = tokio::net::TcpListener::bind(options.listen).await?;
    let executors = join_all(options.namespace.iter().map(|it| start(&options, it, &log))).await;
    let executors: Arc<[_]> = executors.into();
    let _sampling = sampling::start(executors.clone(), log)?;
    let serving = serving::serve(listener, executors.clone(), options.id);
    tokio::select! {
        () = serving => {}
        _ = terminate.recv() => {
            join_all(executors.iter().map(|(_, executor)| executor.shutdown())).await;
        }
        _ = select_all(executors.iter().map(|(_, executor)| Box::pin(executor.closed()))) => {}
    }
    Ok(())
}

/// Again and again: a server may refuse while it does not know the namespace yet.
async fn start(options: &Options, namespace: &str, log: &Arc<Log>) -> (String, Executor) {
    loop {
        let application = Application::new(namespace, log.clone());
        let this = application.executor();
        let builder = Executor::builder(namespace, application).connect(&options.servers);
        let builder = builder.id(&options.id).host(&options.id).address(options.listen.to_string());
        match builder.returning(true).start().await {
            Ok(executor) => {
                // Set once: the application is new.
                let _ = this.set(executor.clone());
                return (namespace.to_owned(), executor);
            }
            Err(error) => eprintln!("{namespace}: {error}"),
        }
        tokio::time::sleep(AGAIN_AFTER).await;
    }
}
