//! An executor session by hand, message by message.

use anyhow::{Context, Result};
use plimsoll_wire::v1;
use plimsoll_wire::v1::executor_service_client::ExecutorServiceClient;
use plimsoll_wire::v1::session_request::Message as Say;
use plimsoll_wire::v1::session_response::Message as Hear;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

use crate::soon;

/// A session that is open.
#[derive(Debug)]
pub struct Session {
    say: mpsc::UnboundedSender<v1::SessionRequest>,
    hear: Streaming<v1::SessionResponse>,
}

impl Session {
    /// Opens a session with a hello.
    ///
    /// # Errors
    /// The server refused it at once.
    pub async fn open(
        mut client: ExecutorServiceClient<Channel>,
        hello: v1::Hello,
    ) -> Result<Self, Status> {
        let (say, said) = mpsc::unbounded_channel();
        // The other half is here.
        let _ = say.send(v1::SessionRequest { message: Some(Say::Hello(hello)) });
        let hear = client.session(UnboundedReceiverStream::new(said)).await?.into_inner();
        Ok(Self { say, hear })
    }

    /// Sends a message; one that nobody reads any more is lost.
    pub fn say(&self, message: Say) {
        let _ = self.say.send(v1::SessionRequest { message: Some(message) });
    }

    /// The next message.
    ///
    /// # Errors
    /// The session ended: with this status, or `None` in good order.
    pub async fn hear(&mut self) -> Result<Hear, Option<Status>> {
        match soon(self.hear.message()).await {
            Ok(Some(response)) => response.message.ok_or(None),
            Ok(None) => Err(None),
            Err(status) => Err(Some(status)),
        }
    }

    /// The next message that is not an acknowledgement of a beat.
    ///
    /// # Errors
    /// As [`Session::hear`].
    pub async fn news(&mut self) -> Result<Hear, Option<Status>> {
        loop {
            match self.hear().await? {
                Hear::BeatAck(_) => {}
                news => return Ok(news),
            }
        }
    }

    /// The welcome.
    ///
    /// # Errors
    /// Something else came.
    pub async fn welcome(&mut self) -> Result<v1::Welcome> {
        match self.hear().await {
            Ok(Hear::Welcome(welcome)) => Ok(welcome),
            other => Err(anyhow::anyhow!("no welcome: {other:?}")),
        }
    }

    /// Grants until there are so many, of as many messages as it takes.
    ///
    /// # Errors
    /// Something else came.
    pub async fn grants(&mut self, count: usize) -> Result<Vec<v1::Grant>> {
        let mut grants = Vec::new();
        while grants.len() < count {
            match self.news().await {
                Ok(Hear::Granted(granted)) => grants.extend(granted.grants),
                other => return Err(anyhow::anyhow!("no grant: {other:?}")),
            }
        }
        Ok(grants)
    }

    /// The next revocation.
    ///
    /// # Errors
    /// Something else came.
    pub async fn revocation(&mut self) -> Result<v1::Revocation> {
        match self.news().await {
            Ok(Hear::Revoked(revoked)) => {
                revoked.revocations.into_iter().next().context("an empty revocation")
            }
            other => Err(anyhow::anyhow!("no revocation: {other:?}")),
        }
    }

    /// The farewell, whatever comes before it.
    ///
    /// # Errors
    /// The session ended without one.
    pub async fn farewell(&mut self) -> Result<v1::farewell::Reason> {
        loop {
            match self.hear().await {
                Ok(Hear::Farewell(farewell)) => return Ok(farewell.reason()),
                Ok(_) => {}
                Err(status) => return Err(anyhow::anyhow!("no farewell: {status:?}")),
            }
        }
    }
}

/// A hello that runs nothing.
pub fn hello(namespace: &str, executor: &str) -> v1::Hello {
    v1::Hello {
        namespace: namespace.to_owned(),
        executor_id: executor.to_owned(),
        host: executor.to_owned(),
        ..v1::Hello::default()
    }
}

/// A beat with these loads.
pub fn beat(sequence: u64, loads: &[(&str, f64)]) -> Say {
    let loads = loads.iter().map(|(shard_key, load)| v1::MeasuredLoad {
        shard_key: (*shard_key).to_owned(),
        load: *load,
        move_cost: None,
    });
    Say::Beat(v1::Beat { sequence, loads: loads.collect(), metadata: None })
}

/// The confirmation of a revocation.
pub fn stopped(revocation: &v1::Revocation) -> Say {
    let (shard_key, generation) = (revocation.shard_key.clone(), revocation.generation);
    Say::Stopped(v1::Stopped { shard_key, generation, ..v1::Stopped::default() })
}
