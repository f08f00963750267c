//! Opens connections to one of several servers, the next one after each failure,
//! with waits between. It does not care what is said on them.

use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio::time::Instant;
use tonic::transport::{Channel, Endpoint};

use crate::backoff::Backoff;
use crate::handshake::Failure;
use crate::{ConnectError, Tls};

const CONNECT_WITHIN: Duration = Duration::from_secs(2);
/// A dead peer is noticed after these two together.
const PING_EVERY: Duration = Duration::from_secs(5);
const PONG_WITHIN: Duration = Duration::from_secs(3);
const STREAM_WINDOW_BYTES: u32 = 1024 * 1024;
/// h2 ends a connection whose small unread frames exceed its window.
const CONNECTION_WINDOW_BYTES: u32 = 16 * 1024 * 1024;
/// Between two tries where there is little hope, less up to a half.
const SELDOM: Duration = Duration::from_secs(10);

/// The longest wait while there is a lease to save.
const IN_A_HURRY: Duration = Duration::from_millis(200);

/// A connection that is being opened.
pub(crate) type Dialing = BoxFuture<'static, (Dialer, Channel)>;

/// The servers and which one is next.
#[derive(Clone, Debug)]
pub(crate) struct Dialer {
    servers: Vec<Endpoint>,
    next: usize,
    backoff: Backoff,
    hurry_until: Option<Instant>,
    /// Whether this outage has been logged.
    complained: bool,
    complained_of_tls: bool,
    /// Failures of TLS in a row.
    untrusted: usize,
    /// The last failure of TLS once every server has failed so, one after the other.
    distrust: watch::Sender<Option<(String, Failure)>>,
}

impl Dialer {
    /// Starts at a random one of the servers in a list with commas, so that many
    /// clients spread over them.
    pub(crate) fn new(list: &str, tls: Option<&Tls>) -> Result<Self, ConnectError> {
        let servers = parse(list, tls)?;
        let next = rand::random_range(0..servers.len());
        Ok(Self {
            servers,
            next,
            backoff: Backoff::default(),
            hurry_until: None,
            complained: false,
            complained_of_tls: false,
            untrusted: 0,
            distrust: watch::Sender::new(None),
        })
    }

    /// One channel a server, that connects when it is used.
    pub(crate) fn lazy_channels(&self) -> Vec<Channel> {
        self.servers.iter().map(Endpoint::connect_lazy).collect()
    }

    /// The server did its part: the next failure is the first of a row.
    pub(crate) fn succeeded(&mut self) {
        self.backoff.reset();
        self.complained = false;
        self.complained_of_tls = false;
        self.untrusted = 0;
    }

    /// Waits until TLS has failed with every server, one after the other: trying
    /// on would be in vain.
    pub(crate) fn untrusted(&self) -> impl Future<Output = ConnectError> + use<> {
        let mut distrust = self.distrust.subscribe();
        async move {
            // Cloned before the next wait: the guard must not be held over it.
            let last = distrust.wait_for(Option::is_some).await.ok().and_then(|last| last.clone());
            match last {
                Some((server, Failure { why, advice })) => {
                    ConnectError::Untrusted { server, why, advice }
                }
                // The dialer is gone, and whoever dialed says why.
                None => std::future::pending().await,
            }
        }
    }

    /// Notes a failure; `true` for the first of a row.
    pub(crate) fn failed(&mut self) -> bool {
        self.untrusted = 0;
        self.next_in_row()
    }

    /// The same if it may have been TLS: that is logged here, with what to do.
    pub(crate) fn failed_by(&mut self, error: &(dyn std::error::Error + 'static)) -> bool {
        let Some(failure) = Failure::of(error) else { return self.failed() };
        self.distrust(failure);
        self.next_in_row();
        false
    }

    fn next_in_row(&mut self) -> bool {
        self.rotate();
        !std::mem::replace(&mut self.complained, true)
    }

    fn distrust(&mut self, failure: Failure) {
        let server = self.servers[self.next].uri().to_string();
        self.untrusted += 1;
        if self.untrusted >= self.servers.len() && self.distrust.receiver_count() > 0 {
            self.distrust.send_replace(Some((server, failure)));
        } else if !std::mem::replace(&mut self.complained_of_tls, true) {
            let Failure { why, advice } = failure;
            tracing::warn!(server, why, advice, "no TLS, trying on");
        }
    }

    /// Dials the next of the servers from now on.
    pub(crate) fn rotate(&mut self) {
        self.next = (self.next + 1) % self.servers.len();
    }

    /// Waits are short until then: a connection comes too late after it.
    pub(crate) fn hurry_until(&mut self, end: Option<Instant>) {
        self.hurry_until = end;
    }

    /// Opens a connection now; if that fails, again and again.
    pub(crate) fn dial(self) -> Dialing {
        self.dial_after(Duration::ZERO)
    }

    /// As after any failure: waits a little more each time.
    pub(crate) fn dial_backed_off(mut self) -> Dialing {
        let wait = self.wait();
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
                    if self.failed_by(&error) {
                        tracing::warn!(server, error = %Chain(&error), "no connection, trying on");
                    }
                    wait = self.wait();
                }
            }
        }
    }

    fn wait(&mut self) -> Duration {
        match self.hurry_until {
            Some(end) if Instant::now() < end => self.backoff.next_within(IN_A_HURRY),
            _ => self.backoff.next(),
        }
    }
}

fn parse(list: &str, tls: Option<&Tls>) -> Result<Vec<Endpoint>, ConnectError> {
    let given = list.split(',').map(str::trim).filter(|server| !server.is_empty());
    let servers = given.map(|given| endpoint(given, tls)).collect::<Result<Vec<_>, _>>()?;
    if servers.is_empty() { Err(ConnectError::NoServer) } else { Ok(servers) }
}

fn endpoint(given: &str, tls: Option<&Tls>) -> Result<Endpoint, ConnectError> {
    let bad = |why: String| ConnectError::BadServer { given: given.to_owned(), why };
    let (scheme, rest) = match given.split_once("://") {
        Some(whole) => whole,
        None if tls.is_some() => ("https", given),
        None => ("http", given),
    };
    let endpoint = Endpoint::from_shared(format!("{scheme}://{rest}"));
    let endpoint = || endpoint.map(configured).map_err(|error| bad(error.to_string()));
    match scheme {
        "http" if tls.is_some() => Err(ConnectError::PlainAddress { given: given.to_owned() }),
        "http" => endpoint(),
        "https" => secured(endpoint()?, given, tls),
        _ => Err(bad(format!("{scheme} is not supported"))),
    }
}

fn secured(endpoint: Endpoint, given: &str, tls: Option<&Tls>) -> Result<Endpoint, ConnectError> {
    let given = || given.to_owned();
    let Some(config) = tls.and_then(Tls::config) else {
        return Err(ConnectError::NoAuthority { given: given() });
    };
    endpoint.tls_config(config.timeout(CONNECT_WITHIN)).map_err(|error| ConnectError::Untrusted {
        server: given(),
        why: Chain(&error).cause().to_string(),
        advice: "write the name that is in the server's certificate, or give it with Tls::domain",
    })
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

impl<'a> Chain<'a> {
    /// What began it.
    pub(crate) fn cause(&self) -> &'a (dyn std::error::Error + 'static) {
        let causes = std::iter::successors(Some(self.0), |error| error.source());
        causes.last().unwrap_or(self.0)
    }
}

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
        let servers = parse("http://a:7943, b:7943,", None).unwrap();
        let uris: Vec<_> = servers.iter().map(|server| server.uri().to_string()).collect();
        assert_eq!(uris, ["http://a:7943/", "http://b:7943/"]);
    }

    #[test]
    fn what_is_no_address_is_refused_with_its_name() {
        let refused = parse("ftp://a", None).unwrap_err().to_string();
        assert!(refused.contains("\"ftp://a\"") && refused.contains("ftp is not"), "{refused}");
        assert!(matches!(parse(" , ", None), Err(ConnectError::NoServer)));
    }

    #[test]
    fn https_needs_an_authority_to_trust() {
        for tls in [None, Some(Tls::new())] {
            let refused = parse("https://a:1", tls.as_ref()).unwrap_err().to_string();
            assert!(
                refused.contains("ca_file") && refused.contains("\"https://a:1\""),
                "{refused}"
            );
        }
    }

    #[test]
    fn what_was_meant_to_be_secret_is_not_sent_in_the_clear() {
        let refused = parse("http://a:1", Some(&Tls::new()));
        assert!(matches!(refused, Err(ConnectError::PlainAddress { .. })), "{refused:?}");
        let secret = parse("a:1", Some(&Tls::new()));
        assert!(matches!(secret, Err(ConnectError::NoAuthority { .. })), "{secret:?}");
    }

    #[test]
    fn the_next_server_has_its_turn_after_a_failure() {
        let mut dialer = Dialer::new("a:1,b:2", None).unwrap();
        let first = dialer.next;
        assert!(dialer.failed());
        assert_ne!(dialer.next, first);
        assert!(!dialer.failed(), "one outage is logged once");
        assert_eq!(dialer.next, first);
    }

    #[test]
    fn waits_are_short_while_there_is_a_lease_to_save() {
        let mut dialer = Dialer::new("a:1", None).unwrap();
        dialer.hurry_until(Some(Instant::now() + Duration::from_secs(60)));
        assert!((0..100).all(|_| dialer.wait() <= IN_A_HURRY));
        dialer.hurry_until(None);
        assert!((0..100).any(|_| dialer.wait() > IN_A_HURRY));
    }
}
