//! What the generator can do on one core: the load test on one thread, a trivial
//! HTTP/2 server on another. `throughput [RATE] [SECONDS]`
//!
//! `taskset` or a quiet machine with two cores keeps them from disturbing each other.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use plimsoll_loadtest::{Call, Plan, Version, run, view};
use tokio::net::TcpListener;
use tokio::runtime::Builder;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let rate = arguments.next().as_deref().unwrap_or("20000").parse()?;
    let seconds = arguments.next().as_deref().unwrap_or("10").parse()?;
    let call = Call::Http {
        version: Version::Http2,
        method: Method::GET,
        paths: Vec::new(),
        body: Bytes::new(),
    };
    let target = format!("http://{}", server()?).parse()?;
    let mut plan = Plan::new(target, call, rate, Duration::from_secs(seconds));
    plan.callers = vec!["checkout=1:20".parse()?, "app=3:50".parse()?, "batch=4:30".parse()?];
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(run(plan, view::Lines, std::future::pending()))?;
    print!("{}", view::table(&report));
    Ok(())
}

/// Answers everything, on a thread of its own.
fn server() -> std::io::Result<SocketAddr> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || runtime.block_on(serve(listener)));
    Ok(address)
}

async fn serve(listener: TcpListener) -> std::io::Result<()> {
    loop {
        let (tcp, _) = listener.accept().await?;
        tcp.set_nodelay(true)?;
        let answer = |_| async { Ok::<_, Infallible>(Response::new(Full::<Bytes>::from("ok"))) };
        let serving = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .max_concurrent_streams(1000)
            .serve_connection(TokioIo::new(tcp), service_fn(answer));
        tokio::spawn(serving);
    }
}
