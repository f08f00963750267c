//! Opens connections to one of several servers, the next one after each failure,
//! with waits between. It does not care what is said on them.

use std::time::Duration;

use futures::future::BoxFuture;
use rand::seq::SliceRandom;
use tokio::sync::watch;
use tokio::time::Instant;
use tonic::Status;
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

/// The longest wait for somebody to be there while there is a lease to save.
const IN_A_HURRY: Duration = Duration::from_millis(200);
/// How often to call then, until a server has said how often to beat.
const STEADY_PACE: Duration = Duration::from_millis(500);
/// Clients whose server leaves do not all go elsewhere in the same instant.
const SCATTER: Duration = Duration::from_millis(50);

/// gRPC's own word for when to try again, in milliseconds.
const PUSHBACK: &str = "grpc-retry-pushback-ms";
/// No server may send a client away for longer.
const PUSHED_BACK: Duration = Duration::from_secs(10);

/// A connection that is being opened.
pub(crate) type Dialing = BoxFuture<'static, (Dialer, Channel)>;

/// The servers and which one is next.
#[derive(Clone, Debug)]
pub(crate) struct Dialer {
    servers: Vec<Endpoint>,
    next: usize,
    backoff: Backoff,
    hurry_until: Option<Instant>,
    /// How often a client calls a server that is well: in a hurry about as often.
    steady_pace: Duration,
    /// When the server wants to hear of this client again.
    pushed_back: Option<Duration>,
    /// Whether this outage has been logged.
    complained: bool,
    complained_of_tls: bool,
    /// Failures of TLS in a row.
    untrusted: usize,
    /// The last failure of TLS once every server has failed so, one after the other.
    distrust: watch::Sender<Option<(String, Failure)>>,
}

impl Dialer {
    /// Goes through the servers of a list with commas in an order of its own, so
    /// that many clients spread over them, and those of one that dies over the rest.
    pub(crate) fn new(list: &str, tls: Option<&Tls>) -> Result<Self, ConnectError> {
        let mut servers = parse(list, tls)?;
        servers.shuffle(&mut rand::rng());
        Ok(Self {
            servers,
            next: 0,
            backoff: Backoff::default(),
            hurry_until: None,
            steady_pace: STEADY_PACE,
            pushed_back: None,
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

    /// The same if the server said so itself; it may also say for how long.
    pub(crate) fn failed_with(&mut self, status: &Status) -> bool {
        let millis =
            status.metadata().get(PUSHBACK).and_then(|text| text.to_str().ok()?.parse().ok());
        self.pushed_back = millis.map(Duration::from_millis);
        self.failed_by(status)
    }

    /// The same if it may have been TLS: that is logged here, with what to do.
    fn failed_by(&mut self, error: &(dyn std::error::Error + 'static)) -> bool {
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

    /// How often the server wants to hear of its client.
    pub(crate) fn set_steady_pace(&mut self, pace: Duration) {
        self.steady_pace = pace;
    }

    /// Waits are short until then: a connection comes too late after it.
    pub(crate) fn hurry_until(&mut self, end: Option<Instant>) {
        self.hurry_until = end;
    }

    /// Opens a connection now; if that fails, again and again.
    pub(crate) fn dial(self) -> Dialing {
        self.dial_after(Duration::ZERO)
    }

    /// Opens a connection almost now: many clients may do so for the same reason.
    pub(crate) fn dial_scattered(self) -> Dialing {
        self.dial_after(SCATTER.mul_f64(rand::random_range(0.0..=1.0)))
    }

    /// As after any failure: waits a little more each time. A server that answers
    /// and cannot help has work with every try.
    pub(crate) fn dial_backed_off(mut self) -> Dialing {
        let wait = self.wait_to_call();
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
                    wait = self.wait_to_knock();
                }
            }
        }
    }

    fn wait_to_call(&mut self) -> Duration {
        match self.pushed_back.take() {
            Some(wait) => wait.min(PUSHED_BACK).mul_f64(rand::random_range(1.0..=1.25)),
            None if self.is_in_a_hurry() => self.backoff.next_at_pace(self.steady_pace),
            None => self.backoff.next(),
        }
    }

    /// Nobody is there, whom trying often could trouble.
    fn wait_to_knock(&mut self) -> Duration {
        match self.is_in_a_hurry() {
            true => self.backoff.next_within(IN_A_HURRY),
            false => self.backoff.next(),
        }
    }

    fn is_in_a_hurry(&self) -> bool {
        self.hurry_until.is_some_and(|end| Instant::now() < end)
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
    fn a_server_that_says_when_to_come_again_is_obeyed_once() {
        let mut dialer = Dialer::new("a:1", None).unwrap();
        let mut status = Status::unavailable("come again");
        status.metadata_mut().insert(PUSHBACK, "3000".parse().unwrap());
        dialer.failed_with(&status);
        let asked_for = Duration::from_millis(3_000)..=Duration::from_millis(3_750);
        assert!(asked_for.contains(&dialer.wait_to_call()));
        assert!(dialer.wait_to_call() <= Duration::from_millis(50));
    }

    #[test]
    fn waits_are_short_while_there_is_a_lease_to_save() {
        let mut dialer = Dialer::new("a:1", None).unwrap();
        dialer.hurry_until(Some(Instant::now() + Duration::from_secs(60)));
        assert!((0..100).all(|_| dialer.wait_to_knock() <= IN_A_HURRY));
        dialer.hurry_until(None);
        assert!((0..100).any(|_| dialer.wait_to_knock() > IN_A_HURRY));
    }
}
