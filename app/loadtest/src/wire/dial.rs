//! Opens connections, plain or TLS, and does not hammer a target that refuses them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::tls::Tls;
use super::{Broken, PATIENCE};
use crate::error::Error;
use crate::plan::{Plan, Version};
use crate::target::Target;

/// How long a refusal stands for all requests that need a connection.
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A connection that hyper can use.
pub(crate) type Stream = TokioIo<Box<dyn Io>>;

/// Opens connections to one target.
#[derive(Clone, Debug)]
pub(crate) struct Dialer {
    target: Target,
    tls: Option<Tls>,
    refused: Arc<Mutex<Option<(Instant, Broken)>>>,
}

impl Dialer {
    pub(crate) fn new(plan: &Plan) -> Result<Self, Error> {
        let tls = plan.target.is_tls().then(|| Tls::new(plan, plan.version())).transpose()?;
        Ok(Self { target: plan.target.clone(), tls, refused: Arc::default() })
    }

    /// Finds out which version is spoken, and holds on to it.
    pub(super) async fn settle_version(
        mut self,
        version: Version,
    ) -> Result<(Self, Version), Broken> {
        match (version, &mut self.tls) {
            (Version::Negotiated, Some(tls)) => {
                let tcp = connect(&self.target).await?;
                let version = tls.negotiate(self.target.address().0, tcp).await?;
                Ok((self, version))
            }
            (version, _) => Ok((self, version)),
        }
    }

    /// A new connection, or at once the last refusal if that was a moment ago.
    pub(crate) async fn dial(&self) -> Result<Stream, Broken> {
        let refused = self.refused.lock().clone();
        if let Some((at, broken)) = refused
            && at.elapsed() < PAUSE
        {
            return Err(broken);
        }
        let dialled = self.dial_now().await;
        if let Err(broken) = &dialled {
            *self.refused.lock() = Some((Instant::now(), broken.clone()));
        }
        dialled
    }

    async fn dial_now(&self) -> Result<Stream, Broken> {
        let tcp = connect(&self.target).await?;
        let io: Box<dyn Io> = match &self.tls {
            None => Box::new(tcp),
            Some(tls) => Box::new(tls.wrap(self.target.address().0, tcp).await?),
        };
        Ok(TokioIo::new(io))
    }

    /// A plain connection to look at before the first use; none over TLS.
    pub(super) async fn probe(&self) -> Result<Option<TcpStream>, Broken> {
        match self.tls {
            None => connect(&self.target).await.map(Some),
            Some(_) => Ok(None),
        }
    }
}

async fn connect(target: &Target) -> Result<TcpStream, Broken> {
    let connecting = timeout(PATIENCE, TcpStream::connect(target.address())).await;
    let late = || io::Error::new(io::ErrorKind::TimedOut, "no answer within 5 s");
    let tcp = connecting.unwrap_or_else(|_| Err(late())).map_err(|error| broken(&error))?;
    // Only a slower connection if this fails.
    let _ = tcp.set_nodelay(true);
    Ok(tcp)
}

fn broken(error: &io::Error) -> Broken {
    let advice = match error.kind() {
        io::ErrorKind::ConnectionRefused => "start the service, or correct host and port",
        io::ErrorKind::TimedOut => "check host and port, and whether a firewall is between",
        io::ErrorKind::AddrNotAvailable => "out of local ports: use HTTP/2, or fewer connections",
        _ => "check host and port, and the limit on open files",
    };
    Broken { why: error.to_string(), advice }
}
