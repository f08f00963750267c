//! What a proxy can be told, with its defaults.

use std::net::SocketAddr;
use std::time::Duration;

use http::uri::Authority;

use crate::target::{self, Target};

/// hyper's smallest buffer for an HTTP/1 head, in bytes.
const LEAST_HEAD: u64 = 8192;
/// The largest head that can be asked for, in bytes: HTTP/2 counts in 32 bits and
/// a head is held in memory whole.
const MOST_HEAD: u64 = 16 << 20;

/// Everything that a proxy can be told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where requests are taken; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where metrics, health and the debug page are; none if `None`.
    pub metrics: Option<SocketAddr>,
    /// Where requests go.
    pub upstream: Target,
    /// What `Host` and `:authority` become.
    pub host: HostRule,
    /// Whether requests and answers get a `Via`.
    pub via: bool,
    /// What is said about the client to the service.
    pub forwarded: Forwarded,
    pub timeouts: Timeouts,
    pub limits: Limits,
    pub drain: DrainSettings,
}

/// What `Host` and `:authority` become.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum HostRule {
    /// What the client wrote.
    Keep,
    /// The upstream's host and port.
    Upstream,
    /// This.
    Named(Authority),
}

/// What is said about the client to the service, and what becomes of what the
/// client itself says there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Forwarded {
    pub style: ForwardedStyle,
    /// Adds to what the client sent instead of replacing it: only right behind
    /// another proxy that one's own people run.
    pub trust_client: bool,
}

/// Which header fields tell the service about the client.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ForwardedStyle {
    /// None; those of the client pass as they are.
    Off,
    /// `Forwarded` (RFC 7239).
    Standard,
    /// `X-Forwarded-For`, `-Host` and `-Proto`.
    X,
}

/// How long things may take.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Timeouts {
    /// Until a connection to the upstream stands: name looked up, connected and, on
    /// HTTP/2, greeted by it.
    pub connect: Duration,
    /// Until a client has sent a head whole, from its first byte.
    pub header: Duration,
    /// Until the upstream begins to answer, from the last piece of the request
    /// that was passed on: uploads and bidirectional streams are not cut. Zero
    /// waits forever.
    pub first_byte: Duration,
    /// How long a client may keep a connection open without a request on it.
    pub idle: Duration,
    /// How long a connection to the upstream is kept without a request on it.
    /// Below what the upstream itself allows, or requests meet a connection that
    /// is just being closed.
    pub upstream_idle: Duration,
    /// How long an upgraded connection may carry no byte.
    pub tunnel_idle: Duration,
}

/// How much is allowed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Bytes of a request body; `None` sets no limit. Bodies are never held whole,
    /// so none is needed for the proxy's own sake.
    pub body: Option<u64>,
    /// Bytes of a request's head, 8 KiB to 16 MiB.
    pub head: u64,
    /// Header fields of a request over HTTP/1.
    pub fields: usize,
    /// Requests at once on one HTTP/2 connection of a client.
    pub streams: u32,
    /// Requests at once on one HTTP/2 connection to the upstream before another
    /// one is opened; what the upstream allows counts if it is less.
    pub upstream_streams: usize,
    /// HTTP/2 connections to the upstream.
    pub upstream_connections: usize,
}

/// How the proxy leaves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DrainSettings {
    /// How long it goes on as before while already reporting that it is not
    /// ready, so that callers are sent elsewhere first.
    pub delay: Duration,
    /// How long requests and streams in progress may go on after that.
    pub deadline: Duration,
}

/// Why settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Target(#[from] target::Error),
    #[error("the upstream is the proxy's own address {0}: requests would go in circles")]
    Circle(SocketAddr),
    #[error("metrics and requests cannot share the address {0}: give metrics a port of its own")]
    SharedAddress(SocketAddr),
    #[error("the limit of a head must be 8KiB to 16MiB, not {0} bytes")]
    Head(u64),
    #[error("the {0} must be more than zero")]
    Zero(&'static str),
}

impl Settings {
    /// The defaults, from `listen` to `upstream`.
    pub fn new(listen: SocketAddr, upstream: Target) -> Self {
        Self {
            listen,
            metrics: None,
            upstream,
            host: HostRule::Keep,
            via: false,
            forwarded: Forwarded { style: ForwardedStyle::Off, trust_client: false },
            timeouts: Timeouts::default(),
            limits: Limits::default(),
            drain: DrainSettings::default(),
        }
    }

    /// Looks for what would not work, before anything is opened.
    ///
    /// # Errors
    /// Settings that exclude each other or are out of their range.
    pub fn check(&self) -> Result<(), Error> {
        let own =
            self.listen.port() != 0 && self.upstream.authority.as_str() == self.listen.to_string();
        if own {
            return Err(Error::Circle(self.listen));
        }
        if self.listen.port() != 0 && self.metrics == Some(self.listen) {
            return Err(Error::SharedAddress(self.listen));
        }
        if !(LEAST_HEAD..=MOST_HEAD).contains(&self.limits.head) {
            return Err(Error::Head(self.limits.head));
        }
        self.check_zero()
    }

    fn check_zero(&self) -> Result<(), Error> {
        let (times, limits) = (&self.timeouts, &self.limits);
        let zero = [
            ("connect timeout", times.connect.is_zero()),
            ("header timeout", times.header.is_zero()),
            ("idle timeout", times.idle.is_zero()),
            ("idle timeout of the upstream", times.upstream_idle.is_zero()),
            ("idle timeout of tunnels", times.tunnel_idle.is_zero()),
            ("limit of header fields", limits.fields == 0),
            ("limit of streams", limits.streams == 0),
            ("limit of upstream streams", limits.upstream_streams == 0),
            ("limit of upstream connections", limits.upstream_connections == 0),
        ];
        match zero.into_iter().find(|(_, is_zero)| *is_zero) {
            Some((what, _)) => Err(Error::Zero(what)),
            None => Ok(()),
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(2),
            header: Duration::from_secs(10),
            first_byte: Duration::from_secs(60),
            idle: Duration::from_secs(90),
            // Node closes after five seconds, and it is not the only one.
            upstream_idle: Duration::from_secs(4),
            tunnel_idle: Duration::from_secs(3600),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: None,
            head: 64 << 10,
            fields: 100,
            streams: 1000,
            upstream_streams: 100,
            upstream_connections: 64,
        }
    }
}

impl Default for DrainSettings {
    fn default() -> Self {
        Self { delay: Duration::ZERO, deadline: Duration::from_secs(25) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings::new(([127, 0, 0, 1], 8000).into(), "127.0.0.1:9000".parse().unwrap())
    }

    #[test]
    fn the_defaults_can_be_used() {
        settings().check().unwrap();
    }

    #[test]
    fn a_proxy_in_front_of_itself_is_refused() {
        let circle = Settings { upstream: "h2c://127.0.0.1:8000".parse().unwrap(), ..settings() };
        assert!(matches!(circle.check(), Err(Error::Circle(_))));
    }

    #[test]
    fn metrics_have_a_port_of_their_own() {
        let shared = Settings { metrics: Some(settings().listen), ..settings() };
        assert!(matches!(shared.check(), Err(Error::SharedAddress(_))));
    }

    #[test]
    fn a_head_within_reason_is_asked_for() {
        for head in [0, 8191, (16 << 20) + 1] {
            let mut odd = settings();
            odd.limits.head = head;
            assert!(matches!(odd.check(), Err(Error::Head(_))), "{head}");
        }
    }

    #[test]
    fn zero_is_named_where_it_makes_no_sense() {
        let mut odd = settings();
        odd.timeouts.connect = Duration::ZERO;
        assert_eq!(
            odd.check().unwrap_err().to_string(),
            "the connect timeout must be more than zero"
        );
    }
}
