//! `plimsoll log-filter`: what a server on this machine logs, read or changed while it
//! runs.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;

/// It answers from memory: whoever takes longer is not well.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The filter from now on, as RUST_LOG: info,plimsoll_server=debug. Without it the
    /// one in force is printed
    #[arg(value_name = "FILTER")]
    filter: Option<String>,
    /// The server's HTTP address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7944")]
    http: String,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let method = if options.filter.is_some() { "PUT" } else { "GET" };
    let body = options.filter.as_deref().unwrap_or_default();
    let answer = ask(&options.http, method, body).with_context(|| {
        format!("no answer from {}: is a server's HTTP port there?", options.http)
    })?;
    let (head, text) = answer.split_once("\r\n\r\n").context("half an answer came")?;
    if head.split_whitespace().nth(1).is_none_or(|status| status != "200") {
        bail!("{}", text.trim());
    }
    print!("{text}");
    Ok(ExitCode::SUCCESS)
}

fn ask(address: &str, method: &str, body: &str) -> std::io::Result<String> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let length = body.len();
    let head = format!("{method} /api/v1/log-filter HTTP/1.0\r\nhost: {address}\r\n");
    let head = format!("{head}content-type: text/plain\r\ncontent-length: {length}\r\n\r\n");
    socket.write_all((head + body).as_bytes())?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    Ok(answer)
}
