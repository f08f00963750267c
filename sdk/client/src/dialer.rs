//! Opens connections to one of several servers, the next one after each failure,
//! with waits between. It does not care what is said on them.

use std::time::Duration;

use futures::future::BoxFuture;
use tonic::transport::{Channel, Endpoint};

use crate::ConnectError;
use crate::backoff::Backoff;

const CONNECT_WITHIN: Duration = Duration::from_secs(2);
/// A dead peer is noticed after these two together.
const PING_EVERY: Duration = Duration::from_secs(5);
const PONG_WITHIN: Duration = Duration::from_secs(3);
const STREAM_WINDOW_BYTES: u32 = 1024 * 1024;
/// h2 ends a connection whose small unread frames exceed its window.
const CONNECTION_WINDOW_BYTES: u32 = 16 * 1024 * 1024;
/// Between two tries where there is little hope, less up to a half.
const SELDOM: Duration = Duration::from_secs(10);

/// A connection that is being opened.
pub(crate) type Dialing = BoxFuture<'static, (Dialer, Channel)>;

/// The servers and which one is next.
#[derive(Clone, Debug)]
pub(crate) struct Dialer {
    servers: Vec<Endpoint>,
    next: usize,
    backoff: Backoff,
    /// Whether this outage has been logged.
    complained: bool,
}

impl Dialer {
    /// Starts at a random one of the servers in a list with commas, so that many
    /// clients spread over them.
    pub(crate) fn new(list: &str) -> Result<Self, ConnectError> {
        let servers = parse(list)?;
        let next = rand::random_range(0..servers.len());
        Ok(Self { servers, next, backoff: Backoff::default(), complained: false })
    }

    /// One channel a server, that connects when it is used.
    pub(crate) fn lazy_channels(&self) -> Vec<Channel> {
        self.servers.iter().map(Endpoint::connect_lazy).collect()
    }

    /// The server did its part: the next failure is the first of a row.
    pub(crate) fn succeeded(&mut self) {
        self.backoff.reset();
        self.complained = false;
    }

    /// Notes a failure; `true` for the first of a row.
    pub(crate) fn failed(&mut self) -> bool {
        self.rotate();
        !std::mem::replace(&mut self.complained, true)
    }

    /// Dials the next of the servers from now on.
    pub(crate) fn rotate(&mut self) {
        self.next = (self.next + 1) % self.servers.len();
    }

    /// Opens a connection now; if that fails, again and again.
    pub(crate) fn dial(self) -> Dialing {
        self.dial_after(Duration::ZERO)
    }

    /// As after any failure: waits a little more each time.
    pub(crate) fn dial_backed_off(mut self) -> Dialing {
        let wait = self.backoff.next();
        self.dial_after(wait)
    }

    /// Where there is little hope.
    pub(crate) fn dial_seldom(self) -> Dialing {
        self.dial_after(SELDOM.mul_f64(rand::random_range(0.5..=1.0)))
    }

    fn dial_after(self, wait: Duration) -> Dialing {
        Box::pin(self.until_connected(wait))
    }

    async fn until_connected(mut self, mut wait: Duration) -> (Self, Channel) {
        loop {
            tokio::time::sleep(wait).await;
            let server = &self.servers[self.next];
            match server.connect().await {
                Ok(channel) => return (self, channel),
                Err(error) => {
                    let server = server.uri().to_string();
                    if self.failed() {
                        tracing::warn!(server, error = %Chain(&error), "no connection, trying on");
                    }
                    wait = self.backoff.next();
                }
            }
        }
    }
}

fn parse(list: &str) -> Result<Vec<Endpoint>, ConnectError> {
    let given = list.split(',').map(str::trim).filter(|server| !server.is_empty());
    let servers = given.map(endpoint).collect::<Result<Vec<_>, _>>()?;
    if servers.is_empty() { Err(ConnectError::NoServer) } else { Ok(servers) }
}

fn endpoint(given: &str) -> Result<Endpoint, ConnectError> {
    let bad = |why: String| ConnectError::BadServer { given: given.to_owned(), why };
    let url = match given.split_once("://") {
        None => format!("http://{given}"),
        Some(("http", _)) => given.to_owned(),
        Some((scheme, _)) => return Err(bad(format!("{scheme} is not supported"))),
    };
    let endpoint = Endpoint::from_shared(url).map_err(|error| bad(error.to_string()))?;
    Ok(configured(endpoint))
}

fn configured(endpoint: Endpoint) -> Endpoint {
    endpoint
        .connect_timeout(CONNECT_WITHIN)
        .http2_keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PONG_WITHIN)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
}

/// An error and what caused it, on one line.
pub(crate) struct Chain<'a>(pub(crate) &'a (dyn std::error::Error + 'static));

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let causes = std::iter::successors(self.0.source(), |error| error.source());
        causes.into_iter().try_for_each(|cause| write!(f, ": {cause}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_listed_with_commas_and_need_no_scheme() {
        let servers = parse("http://a:7943, b:7943,").unwrap();
        let uris: Vec<_> = servers.iter().map(|server| server.uri().to_string()).collect();
        assert_eq!(uris, ["http://a:7943/", "http://b:7943/"]);
    }

    #[test]
    fn what_is_no_address_is_refused_with_its_name() {
        let refused = parse("ftp://a").unwrap_err().to_string();
        assert!(refused.contains("\"ftp://a\"") && refused.contains("ftp is not"), "{refused}");
        assert!(matches!(parse(" , "), Err(ConnectError::NoServer)));
    }

    #[test]
    fn the_next_server_has_its_turn_after_a_failure() {
        let mut dialer = Dialer::new("a:1,b:2").unwrap();
        let first = dialer.next;
        assert!(dialer.failed());
        assert_ne!(dialer.next, first);
        assert!(!dialer.failed(), "one outage is logged once");
        assert_eq!(dialer.next, first);
    }
}
