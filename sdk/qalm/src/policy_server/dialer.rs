//! The servers, one after the other.

use std::time::Duration;

use tonic::transport::{Channel, ClientTlsConfig, Endpoint};

use super::PolicyServerError;

/// A server that does not answer within this is tried later.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How often an idle connection is tried out, and how long the answer may take: a
/// server that has vanished is noticed within both together.
const PING_EVERY: Duration = Duration::from_secs(10);
const PONG_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Dialer {
    /// At least one.
    servers: Vec<Endpoint>,
    next: usize,
}

impl Dialer {
    pub(super) fn new(
        servers: &[String],
        tls: Option<&ClientTlsConfig>,
    ) -> Result<Self, PolicyServerError> {
        let servers: Vec<Endpoint> =
            servers.iter().map(|given| endpoint(given, tls)).collect::<Result<_, _>>()?;
        if servers.is_empty() {
            Err(PolicyServerError::NoServer)
        } else {
            Ok(Self { servers, next: 0 })
        }
    }

    /// Begins with one of them by chance, 0 to 1: instances share servers out.
    pub(crate) fn begin(&mut self, dice: f64) {
        self.next = (self.servers.len() as f64 * dice) as usize;
    }

    /// The next server, and its address.
    pub(crate) fn next(&mut self) -> (Endpoint, String) {
        let server = self.servers[self.next % self.servers.len()].clone();
        self.next = (self.next + 1) % self.servers.len();
        let address = server.uri().to_string();
        (server, address.trim_end_matches('/').to_owned())
    }
}

/// # Errors
/// Nobody is there, with what began it.
pub(crate) async fn connect(server: &Endpoint) -> Result<Channel, String> {
    server.connect().await.map_err(|error| Chain(&error).to_string())
}

fn endpoint(given: &str, tls: Option<&ClientTlsConfig>) -> Result<Endpoint, PolicyServerError> {
    let bad = |why: String| PolicyServerError::BadServer { given: given.to_owned(), why };
    let scheme = if tls.is_some() { "https" } else { "http" };
    let address =
        if given.contains("://") { given.to_owned() } else { format!("{scheme}://{given}") };
    let endpoint = Endpoint::from_shared(address).map_err(|error| bad(error.to_string()))?;
    let endpoint = endpoint
        .connect_timeout(CONNECT_WITHIN)
        .http2_keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PONG_WITHIN)
        .keep_alive_while_idle(true);
    match (endpoint.uri().scheme_str(), tls) {
        (Some("http"), None) => Ok(endpoint),
        (Some("http"), Some(_)) => Err(bad("there is no TLS at http://".to_owned())),
        (Some("https"), None) => Err(PolicyServerError::NoTls { given: given.to_owned() }),
        (Some("https"), Some(tls)) => {
            let secured = endpoint.tls_config(tls.clone());
            secured.map_err(|error| bad(Chain(&error).to_string()))
        }
        (other, _) => Err(bad(format!("{} is not supported", other.unwrap_or("no scheme")))),
    }
}

/// An error and what caused it, on one line.
pub(crate) struct Chain<'a>(pub(crate) &'a (dyn std::error::Error + 'static));

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut causes = std::iter::successors(self.0.source(), |error| error.source());
        causes.try_for_each(|cause| write!(f, ": {cause}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialer(servers: &[&str]) -> Result<Dialer, PolicyServerError> {
        let servers: Vec<String> = servers.iter().map(|&it| it.to_owned()).collect();
        Dialer::new(&servers, None)
    }

    #[test]
    fn servers_are_asked_in_turn_from_any_of_them() {
        let mut servers = dialer(&["http://a:1", "b:2", "http://c:3"]).unwrap();
        servers.begin(0.99);
        let asked: Vec<String> = (0..4).map(|_| servers.next().1).collect();
        assert_eq!(asked, ["http://c:3", "http://a:1", "http://b:2", "http://c:3"]);
        servers.begin(1.0);
        assert_eq!(servers.next().1, "http://a:1");
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_to_write() {
        let refused = |given: &str| dialer(&[given]).unwrap_err().to_string();
        assert!(refused("ftp://a:1").contains("ftp is not supported"));
        assert!(refused("http://").contains("write http://HOST:PORT"));
        assert!(refused("https://a:1").contains("PolicyServer::tls"));
        assert_eq!(dialer(&[]).unwrap_err(), PolicyServerError::NoServer);
    }
}
