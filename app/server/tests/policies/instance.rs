//! An instance of a service, by hand.

use plimsoll_wire::v1;
use plimsoll_wire::v1::sync_request::Message as ToServer;
use plimsoll_wire::v1::sync_response::Message as FromServer;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::support::{SOON, client};

/// One stream.
#[derive(Debug)]
pub(crate) struct Instance {
    requests: mpsc::Sender<v1::SyncRequest>,
    answers: Streaming<v1::SyncResponse>,
}

pub(crate) fn hello(service: &str, instance: &str, revision: u64) -> v1::SyncHello {
    v1::SyncHello {
        service: service.to_owned(),
        instance: instance.to_owned(),
        version: "1.2.3".to_owned(),
        revision,
        text_version: String::new(),
    }
}

impl Instance {
    pub(crate) async fn try_connect(
        address: impl std::fmt::Display,
        hello: v1::SyncHello,
    ) -> Result<Self, Status> {
        let (requests, sent) = mpsc::channel(16);
        let hello = v1::SyncRequest { message: Some(ToServer::Hello(hello)) };
        requests.send(hello).await.unwrap();
        let answers = client(address).sync(ReceiverStream::new(sent)).await?.into_inner();
        Ok(Self { requests, answers })
    }

    pub(crate) async fn connect(
        address: impl std::fmt::Display,
        service: &str,
        instance: &str,
        revision: u64,
    ) -> Self {
        let mut connected =
            Self::try_connect(address, hello(service, instance, revision)).await.unwrap();
        let first = connected.next().await;
        assert!(matches!(first, Ok(FromServer::ObserveEvery(_))), "{first:?}");
        connected
    }

    pub(crate) async fn next(&mut self) -> Result<FromServer, Status> {
        let message = tokio::time::timeout(SOON, self.answers.message());
        let message = message.await.expect("something is told in time")?;
        message.and_then(|it| it.message).ok_or_else(|| Status::ok("the stream has ended"))
    }

    /// The next policy; that it holds is answered.
    pub(crate) async fn policy(&mut self) -> v1::PolicyRevision {
        match self.next().await {
            Ok(FromServer::Policy(policy)) => {
                self.applied(policy.revision, "").await;
                policy
            }
            other => panic!("no policy but {other:?}"),
        }
    }

    pub(crate) async fn applied(&self, revision: u64, refused: &str) {
        let refused = refused.to_owned();
        self.send(ToServer::Applied(v1::PolicyApplied { revision, refused })).await;
    }

    pub(crate) async fn send(&self, message: ToServer) {
        self.requests.send(v1::SyncRequest { message: Some(message) }).await.unwrap();
    }
}
