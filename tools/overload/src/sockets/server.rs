//! The server process: one thread, HTTP/1.1 and HTTP/2, a shedder and a handler.

use std::net::Ipv4Addr;

use anyhow::{Context, Result};
use bytes::Bytes;
use clap::Args;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use plimsoll_qalm::QalmLayer;
use plimsoll_shedding::Criticality;
use plimsoll_shedding::policy::{Policy, Rule};
use plimsoll_shedding::settings::Auto;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tower_layer::Layer;
use tower_service::Service;

use super::work::{Peer, Work};
use super::{HEALTH, Kind};
use crate::io::ServicePlan;
use crate::shedders::{Shedder, Truth};

/// The command line of the hidden `lab overload-server`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[arg(long)]
    shedder: String,
    #[arg(long, value_enum)]
    work: Kind,
    #[arg(long)]
    capacity: f64,
}

/// Streams of one connection at once: an unprotected server must be able to drown.
const STREAMS: u32 = 100_000;

/// Prints its port and serves until standard input ends.
///
/// # Errors
/// An unknown shedder, or a socket that cannot be opened.
pub fn serve(options: &Options) -> Result<()> {
    let shedder = Shedder::named(&options.shedder).context("there is no such shedder")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        println!("{}", listener.local_addr()?.port());
        tokio::select! {
            served = with(shedder, options, listener) => served,
            () = end_of_input() => Ok(()),
        }
    })
}

async fn end_of_input() {
    let mut rest = Vec::new();
    // An error is an end too.
    drop(tokio::io::stdin().read_to_end(&mut rest).await);
}

async fn with(shedder: Shedder, options: &Options, listener: TcpListener) -> Result<()> {
    let work = Work::new(options.work);
    let places = match options.work {
        Kind::Io => ServicePlan::default().places,
        Kind::Cpu | Kind::Bare => 1,
    };
    let fixed = Auto::Fixed(u32::try_from(places)?);
    match shedder {
        Shedder::Plimsoll => accept(listener, ours(Auto::Auto)?.layer(work)).await,
        Shedder::PlimsollFixed => accept(listener, ours(fixed)?.layer(work)).await,
        peer => {
            let capacity = options.capacity;
            let truth = Truth { places, capacity, endpoints: HEALTH + 1, seed: 1 };
            accept(listener, Peer { admission: peer.build(truth), work }).await
        }
    }
}

/// The layer with what every deployment would say: which caller has which level.
fn ours(concurrency: Auto<u32>) -> Result<QalmLayer> {
    let rule = |level: Criticality| Rule {
        caller: Some(format!("level-{level}-*")),
        criticality: Some(level),
        ..Rule::default()
    };
    let mut policy = Policy { rules: Criticality::ALL.map(rule).to_vec(), ..Policy::default() };
    if concurrency != Auto::Auto {
        policy.queue.concurrency = Some(concurrency);
    }
    QalmLayer::builder().build_with(&policy).context("the policy was refused")
}

/// The name of a caller of that level.
pub(super) fn name(level: Criticality, caller: u32) -> String {
    format!("level-{level}-{caller}")
}

/// The level and the number in a caller's name.
pub(super) fn caller(name: &str) -> (Option<Criticality>, u32) {
    let mut parts = name.split('-').skip(1);
    let level = parts.next().and_then(|it| it.parse().ok()).and_then(Criticality::from_level);
    (level, parts.next().and_then(|it| it.parse().ok()).unwrap_or(0))
}

async fn accept<S, B>(listener: TcpListener, service: S) -> Result<()>
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        tokio::spawn(connection(socket, service.clone()));
    }
}

async fn connection<S, B>(socket: TcpStream, service: S)
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http2().max_concurrent_streams(STREAMS);
    let service = TowerToHyperService::new(service);
    // A client that went away is the client's business.
    drop(builder.serve_connection(TokioIo::new(socket), service).await);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callers_name_says_its_level_and_number() {
        assert_eq!(caller(&name(Criticality::CoreFlow, 7)), (Some(Criticality::CoreFlow), 7));
        assert_eq!(caller("somebody"), (None, 0));
    }
}
