//! Flags of `plimsoll proxy`. Each is also an environment variable, which is how a
//! sidecar is set up.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use plimsoll_proxy::settings::{
    DrainSettings, Forwarded, ForwardedStyle, HostRule, Limits, Timeouts,
};
use plimsoll_proxy::{Settings, Target};

use super::following::Following;

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Address to take requests on
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "PLIMSOLL_PROXY_LISTEN",
        default_value = "127.0.0.1:7945"
    )]
    listen: SocketAddr,
    /// The service: HOST:PORT (each request in its own HTTP version), http://HOST:PORT
    /// (always HTTP/1.1) or h2c://HOST:PORT (always HTTP/2)
    #[arg(long, value_name = "TARGET", env = "PLIMSOLL_PROXY_UPSTREAM")]
    pub(crate) upstream: String,
    /// What is shed first: a policy file, which may be edited while the proxy runs
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_PROXY_POLICY")]
    pub(crate) policy: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) following: Following,
    /// Address of /metrics, /healthz, /readyz and /debug; none by default
    #[arg(long, value_name = "ADDRESS", env = "PLIMSOLL_PROXY_METRICS_LISTEN")]
    metrics_listen: Option<SocketAddr>,
    /// What Host and :authority become: keep, upstream or a name
    #[arg(long, value_name = "RULE", env = "PLIMSOLL_PROXY_HOST", default_value = "keep")]
    host: String,
    /// Add Via to requests and answers
    #[arg(long, env = "PLIMSOLL_PROXY_VIA")]
    via: bool,
    /// Tell the service who the client is
    #[arg(long, value_name = "FIELDS", env = "PLIMSOLL_PROXY_FORWARDED", default_value = "off")]
    forwarded: Fields,
    /// Believe what the client says about itself there, and add to it
    #[arg(long, env = "PLIMSOLL_PROXY_TRUST_FORWARDED")]
    trust_forwarded: bool,
    #[command(flatten)]
    times: Times,
    #[command(flatten)]
    bounds: Bounds,
    /// What is logged: a level, or levels by module
    #[arg(long, value_name = "FILTER", env = "RUST_LOG", default_value = "info")]
    pub(crate) log: String,
    /// text or json
    #[arg(long, value_name = "FORMAT", env = "PLIMSOLL_LOG_FORMAT", default_value = "text")]
    pub(crate) log_format: String,
}

/// Which header fields tell about the client.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Fields {
    /// None; the client's own pass as they are
    Off,
    /// Forwarded (RFC 7239)
    Forwarded,
    /// X-Forwarded-For, -Host and -Proto
    XForwarded,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Timeouts")]
struct Times {
    /// Until a connection to the service stands
    #[arg(long, value_name = "TIME", value_parser = duration, env = "PLIMSOLL_PROXY_CONNECT_TIMEOUT", default_value = "2s")]
    connect_timeout: Duration,
    /// Until a client has sent a request's head, from its first byte
    #[arg(long, value_name = "TIME", value_parser = duration, env = "PLIMSOLL_PROXY_HEADER_TIMEOUT", default_value = "10s")]
    header_timeout: Duration,
    /// Until the service begins to answer, from the last piece of the request; 0 waits forever
    #[arg(long, value_name = "TIME", value_parser = duration, env = "PLIMSOLL_PROXY_FIRST_BYTE_TIMEOUT", default_value = "60s")]
    first_byte_timeout: Duration,
    /// How long a client may keep a connection without a request on it
    #[arg(long, value_name = "TIME", value_parser = duration, env = "PLIMSOLL_PROXY_IDLE_TIMEOUT", default_value = "90s")]
    idle_timeout: Duration,
    /// How long a connection to the service is kept without a request on it
    #[arg(long, value_name = "TIME", value_parser = duration, env = "PLIMSOLL_PROXY_UPSTREAM_IDLE", default_value = "4s")]
    upstream_idle: Duration,
    /// How long an upgraded connection (WebSocket) may carry no byte
    #[arg(long, value_name = "TIME", value_parser = duration, env = "PLIMSOLL_PROXY_TUNNEL_IDLE", default_value = "1h")]
    tunnel_idle: Duration,
    /// On SIGTERM, how long to go on as before while /readyz says that the proxy leaves
    #[arg(long, value_name = "TIME", value_parser = duration, env = "PLIMSOLL_PROXY_DRAIN_DELAY", default_value = "0s")]
    drain_delay: Duration,
    /// After that, how long requests and streams in progress may go on
    #[arg(long, value_name = "TIME", value_parser = duration, env = "PLIMSOLL_PROXY_DRAIN_DEADLINE", default_value = "25s")]
    drain_deadline: Duration,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Limits")]
struct Bounds {
    /// Largest body of a request, e.g. 10MiB; no limit by default, bodies are not held
    #[arg(long, value_name = "SIZE", value_parser = size, env = "PLIMSOLL_PROXY_MAX_BODY")]
    max_body: Option<u64>,
    /// Largest head of a request, 8KiB to 16MiB
    #[arg(long, value_name = "SIZE", value_parser = size, env = "PLIMSOLL_PROXY_MAX_HEAD", default_value = "64KiB")]
    max_head: u64,
    /// Most header fields of a request over HTTP/1
    #[arg(long, value_name = "N", env = "PLIMSOLL_PROXY_MAX_FIELDS", default_value_t = 100)]
    max_fields: usize,
    /// Most requests at once on one HTTP/2 connection of a client
    #[arg(long, value_name = "N", env = "PLIMSOLL_PROXY_MAX_STREAMS", default_value_t = 1000)]
    max_streams: u32,
    /// Requests at once on one HTTP/2 connection to the service before another is opened
    #[arg(long, value_name = "N", env = "PLIMSOLL_PROXY_UPSTREAM_STREAMS", default_value_t = 100)]
    upstream_streams: usize,
    /// Most HTTP/2 connections to the service
    #[arg(
        long,
        value_name = "N",
        env = "PLIMSOLL_PROXY_UPSTREAM_CONNECTIONS",
        default_value_t = 64
    )]
    upstream_connections: usize,
}

impl Options {
    /// What was asked for, as the proxy takes it.
    pub(crate) fn settings(&self) -> Result<Settings> {
        let upstream: Target = self.upstream.parse()?;
        let forwarded =
            Forwarded { style: self.forwarded.style(), trust_client: self.trust_forwarded };
        Ok(Settings {
            listen: self.listen,
            metrics: self.metrics_listen,
            upstream,
            host: self.host_rule()?,
            via: self.via,
            forwarded,
            timeouts: self.times.timeouts(),
            limits: self.bounds.limits(),
            drain: self.times.drain(),
        })
    }

    fn host_rule(&self) -> Result<HostRule> {
        Ok(match self.host.as_str() {
            "keep" => HostRule::Keep,
            "upstream" => HostRule::Upstream,
            name => HostRule::Named(name.parse().with_context(|| {
                format!("--host {name:?} is neither keep nor upstream nor a host name")
            })?),
        })
    }
}

impl Fields {
    fn style(self) -> ForwardedStyle {
        match self {
            Self::Off => ForwardedStyle::Off,
            Self::Forwarded => ForwardedStyle::Standard,
            Self::XForwarded => ForwardedStyle::X,
        }
    }
}

impl Times {
    fn timeouts(&self) -> Timeouts {
        Timeouts {
            connect: self.connect_timeout,
            header: self.header_timeout,
            first_byte: self.first_byte_timeout,
            idle: self.idle_timeout,
            upstream_idle: self.upstream_idle,
            tunnel_idle: self.tunnel_idle,
        }
    }

    fn drain(&self) -> DrainSettings {
        DrainSettings { delay: self.drain_delay, deadline: self.drain_deadline }
    }
}

impl Bounds {
    fn limits(&self) -> Limits {
        Limits {
            body: self.max_body,
            head: self.max_head,
            fields: self.max_fields,
            streams: self.max_streams,
            upstream_streams: self.upstream_streams,
            upstream_connections: self.upstream_connections,
        }
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let parsed = plimsoll_ownership::duration::parse(text);
    parsed.ok_or_else(|| format!("{text:?} is not a duration such as 500ms, 30s or 2m"))
}

fn size(text: &str) -> Result<u64, String> {
    let parsed = plimsoll_proxy::size::parse(text);
    parsed.ok_or_else(|| format!("{text:?} is not a size such as 8192, 64KiB or 10MiB"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use plimsoll_proxy::Bound;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn settings(line: &str) -> Result<Settings> {
        let words = format!("proxy {line}");
        Line::try_parse_from(words.split(' '))?.options.settings()
    }

    #[test]
    fn the_defaults_of_the_flags_are_those_of_the_library() {
        let asked = settings("--upstream 127.0.0.1:9000").unwrap();
        let plain = Settings::new(asked.listen, asked.upstream.clone());
        assert_eq!(asked.timeouts, plain.timeouts);
        assert_eq!(asked.limits, plain.limits);
        assert_eq!(asked.drain, plain.drain);
        assert_eq!(asked.forwarded, plain.forwarded);
        assert_eq!(asked.host, plain.host);
    }

    #[test]
    fn a_host_is_kept_rewritten_or_named() {
        let host =
            |rule: &str| settings(&format!("--upstream a:1 --host {rule}")).map(|it| it.host);
        assert_eq!(host("upstream").unwrap(), HostRule::Upstream);
        assert_eq!(host("b.example").unwrap(), HostRule::Named("b.example".parse().unwrap()));
        assert!(host("b/c").unwrap_err().to_string().contains("neither keep nor upstream"));
    }

    #[tokio::test]
    async fn what_would_go_in_circles_is_refused() {
        let circle = settings("--listen 127.0.0.1:9000 --upstream 127.0.0.1:9000").unwrap();
        let error = Bound::new(circle).await.unwrap_err();
        assert!(error.to_string().contains("circles"), "{error}");
    }
}
