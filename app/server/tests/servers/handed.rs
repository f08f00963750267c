//! What goes with a leadership beside owners: what one owner left for the next, and
//! what happened.

use std::sync::Arc;

use plimsoll_wire::v1;
use plimsoll_wire::v1::executor_service_client::ExecutorServiceClient;
use plimsoll_wire::v1::session_request::Message as Say;
use plimsoll_wire::v1::session_response::Message as Hear;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Status, Streaming};

use super::etcd::Etcd;
use super::fleet::{self, SOON, eventually, leader, namespace};

#[tokio::test(flavor = "multi_thread")]
async fn what_an_owner_left_and_what_happened_go_with_the_leadership() {
    let etcd = Etcd::start();
    let mut servers = fleet::start_all(&etcd, 2, &[namespace("orders", 1)]).await;
    let all: Vec<_> = servers.iter().map(|server| server.grpc.to_string()).collect();
    let leads = leader(&all[0], "orders").await;
    leaves_a_state(&all[0]).await;
    let old = servers.iter().position(|it| it.grpc.to_string() == leads).unwrap();
    servers.remove(old).stop().await;

    let left: Arc<str> = servers[0].grpc.to_string().into();
    let next = || async {
        let mut next = Session::open(&left, "next").await.ok()?;
        next.granted().await.ok()
    };
    let grant = eventually(SOON, "the next owner has it", next).await;
    assert_eq!((grant.previous_executor_id.as_str(), &*grant.state), ("last", &b"a state"[..]));

    let request = v1::HistoryRequest { namespace: "orders".into(), ..Default::default() };
    let told = fleet::admin(&*left).history(request).await.unwrap().into_inner().events;
    let place = |kind: &str, executor: &str| {
        told.iter().position(|it| it.kind == kind && it.executor_id == executor)
    };
    let (led, went) = (place("led", "").unwrap(), place("left", "last").unwrap());
    assert!(led < went, "newest first: {told:?}");
    assert!(told[went].at.as_ref().unwrap().seconds <= told[led].at.as_ref().unwrap().seconds);
    let first = told.iter().rposition(|it| it.kind == "led").unwrap();
    assert!(first > went, "the leader before has told since when it led");
}

/// Starts the only shard, and goes: nobody is there who could take it.
async fn leaves_a_state(server: &str) {
    let mut last = eventually(SOON, "a session", || Session::open_if(server, "last")).await;
    let v1::Grant { shard_key, generation, .. } = last.granted().await.unwrap();
    last.say(Say::Started(v1::Started { shard_key: shard_key.clone(), generation }));
    last.say(Say::Leaving(v1::Leaving {}));
    let (error, state) = (String::new(), b"a state".to_vec());
    last.say(Say::Stopped(v1::Stopped { shard_key, generation, error, state }));
    last.say(Say::Goodbye(v1::Goodbye { returning: false }));
    while !matches!(last.hear().await.unwrap(), Hear::Farewell(_)) {}
}

/// An executor by hand.
struct Session {
    say: mpsc::UnboundedSender<v1::SessionRequest>,
    heard: Streaming<v1::SessionResponse>,
}

impl Session {
    async fn open(server: &str, executor: &str) -> Result<Self, Status> {
        let (say, said) = mpsc::unbounded_channel();
        let hello = v1::Hello {
            namespace: "orders".to_owned(),
            executor_id: executor.to_owned(),
            host: executor.to_owned(),
            ..v1::Hello::default()
        };
        drop(say.send(v1::SessionRequest { message: Some(Say::Hello(hello)) }));
        let mut executors = ExecutorServiceClient::new(fleet::channel(server));
        let heard = executors.session(UnboundedReceiverStream::new(said)).await?.into_inner();
        Ok(Self { say, heard })
    }

    async fn open_if(server: &str, executor: &str) -> Option<Self> {
        Self::open(server, executor).await.ok()
    }

    fn say(&self, message: Say) {
        drop(self.say.send(v1::SessionRequest { message: Some(message) }));
    }

    async fn hear(&mut self) -> Result<Hear, Status> {
        let heard = self.heard.message().await?.and_then(|it| it.message);
        heard.ok_or_else(|| Status::unavailable("the session is over"))
    }

    /// The first grant that it is told.
    async fn granted(&mut self) -> Result<v1::Grant, Status> {
        loop {
            let grants = match self.hear().await? {
                Hear::Welcome(v1::Welcome { grants, .. }) => grants,
                Hear::Granted(v1::Granted { grants }) => grants,
                _ => Vec::new(),
            };
            if let Some(grant) = grants.into_iter().next() {
                return Ok(grant);
            }
        }
    }
}
