//! Connections from this server to the others, kept and shared.
//!
//! A session is a stream for as long as it lasts, and the streams of one connection
//! share its window and its place in the kernel: so there are several connections to
//! a server, and each call takes the one that carries the least.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint, Error};

/// Streams on one connection: a frame of one of them holds up the others.
const STREAMS: usize = 100;
const CONNECT_WITHIN: Duration = Duration::from_millis(1000);
/// A server that hangs is found out within the sum of the two: before the default
/// lease (2 s) of an executor ends whose session is piped to it.
const PING_EVERY: Duration = Duration::from_millis(500);
const PONG_WITHIN: Duration = Duration::from_secs(1);
const CONNECTION_WINDOW: u32 = 16 * 1024 * 1024;
const STREAM_WINDOW: u32 = 1024 * 1024;

/// The connections to every other server.
#[derive(Debug)]
pub struct Peers {
    tls: Option<ClientTlsConfig>,
    lanes: Mutex<HashMap<Arc<str>, Vec<Lane>>>,
}

#[derive(Clone, Debug)]
struct Lane {
    channel: Channel,
    /// Counted by its copies.
    uses: Arc<()>,
}

/// A connection that is used until this is dropped.
#[derive(Clone, Debug)]
pub struct Used {
    pub channel: Channel,
    _uses: Arc<()>,
}

impl Peers {
    /// No connection yet.
    pub fn new(tls: Option<ClientTlsConfig>) -> Self {
        Self { tls, lanes: Mutex::default() }
    }

    /// A connection to the server at `host:port`; it is made when it is used.
    ///
    /// # Errors
    /// That is no address.
    pub fn to(&self, address: &Arc<str>) -> Result<Used, Error> {
        let mut all = self.lanes.lock();
        let lanes = all.entry(address.clone()).or_default();
        let least = lanes.iter().min_by_key(|lane| Arc::strong_count(&lane.uses));
        let lane = match least {
            Some(lane) if Arc::strong_count(&lane.uses) <= STREAMS => lane.clone(),
            Some(_) | None => {
                lanes.push(Lane { channel: self.connect(address)?, uses: Arc::default() });
                lanes[lanes.len() - 1].clone()
            }
        };
        Ok(Used { channel: lane.channel, _uses: lane.uses })
    }

    /// Forgets the connections to servers that are gone.
    pub fn retain(&self, is_there: impl Fn(&str) -> bool) {
        self.lanes.lock().retain(|address, _| is_there(address));
    }

    fn connect(&self, address: &str) -> Result<Channel, Error> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let endpoint = Endpoint::from_shared(format!("{scheme}://{address}"))?
            .connect_timeout(CONNECT_WITHIN)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PONG_WITHIN)
            .keep_alive_while_idle(true)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .initial_stream_window_size(STREAM_WINDOW);
        let endpoint = match &self.tls {
            Some(tls) => endpoint.tls_config(tls.clone())?,
            None => endpoint,
        };
        Ok(endpoint.connect_lazy())
    }
}

/// Whether nobody listens at that address: the process that did is dead.
pub async fn refuses(address: &str) -> bool {
    let connect = tokio::net::TcpStream::connect(address);
    match tokio::time::timeout(CONNECT_WITHIN, connect).await {
        Ok(Err(error)) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        Ok(Ok(_)) | Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_connection_that_is_full_is_joined_by_another() {
        let (peers, address) = (Peers::new(None), Arc::from("127.0.0.1:1"));
        let mut used: Vec<_> = (0..STREAMS).map(|_| peers.to(&address).unwrap()).collect();
        assert_eq!(peers.lanes.lock()[&address].len(), 1);
        used.push(peers.to(&address).unwrap());
        assert_eq!(peers.lanes.lock()[&address].len(), 2);
        drop(used);
        let _used = peers.to(&address).unwrap();
        assert_eq!(peers.lanes.lock()[&address].len(), 2);
    }

    #[tokio::test]
    async fn a_port_where_nobody_listens_refuses() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        assert!(!refuses(&address).await);
        drop(listener);
        assert!(refuses(&address).await);
    }
}
