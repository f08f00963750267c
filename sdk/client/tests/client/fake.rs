//! A server that does nothing by itself: every stream and call is handed to the
//! test, which answers as it likes.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use plimsoll_wire::v1::executor_service_server::{ExecutorService, ExecutorServiceServer};
use plimsoll_wire::v1::routing_service_server::{RoutingService, RoutingServiceServer};
use plimsoll_wire::v1::session_request::Message as Said;
use plimsoll_wire::v1::session_response::Message as Saying;
use plimsoll_wire::v1::watch_response::Message as News;
use plimsoll_wire::v1::{
    self, Beat, BeatAck, Farewell, Goodbye, Grant, Hello, LookupRequest, LookupResponse,
    SessionRequest, SessionResponse, WatchRequest, WatchResponse, Welcome, farewell,
};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::{TcpListenerStream, UnboundedReceiverStream};
use tokio_util::task::AbortOnDropHandle;
use tonic::{Request, Response, Status, Streaming};

/// Longer than anything here should take, shorter than anybody's patience.
const SOON: Duration = Duration::from_secs(10);

/// Waits for something that must happen.
pub(crate) async fn soon<F: Future>(happens: F) -> F::Output {
    tokio::time::timeout(SOON, happens).await.unwrap()
}

pub(crate) struct Fake {
    address: SocketAddr,
    sessions: mpsc::UnboundedReceiver<Session>,
    watches: mpsc::UnboundedReceiver<Watch>,
    lookups: mpsc::UnboundedReceiver<Lookup>,
    _serving: AbortOnDropHandle<()>,
}

/// The server's end of an executor session. Dropping it ends the stream.
pub(crate) struct Session {
    said: Streaming<SessionRequest>,
    say: mpsc::UnboundedSender<Result<SessionResponse, Status>>,
}

/// The server's end of a watch. Dropping it ends the stream.
pub(crate) struct Watch {
    pub(crate) request: WatchRequest,
    say: mpsc::UnboundedSender<Result<WatchResponse, Status>>,
}

pub(crate) struct Lookup {
    pub(crate) key: String,
    answer: oneshot::Sender<Result<LookupResponse, Status>>,
}

impl Fake {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (session, sessions) = mpsc::unbounded_channel();
        let (watch, watches) = mpsc::unbounded_channel();
        let (lookup, lookups) = mpsc::unbounded_channel();
        let serving = tonic::transport::Server::builder()
            .add_service(ExecutorServiceServer::new(Executors { session }))
            .add_service(RoutingServiceServer::new(Routes { watch, lookup }))
            .serve_with_incoming(TcpListenerStream::new(listener))
            .map(|_| ());
        let serving = AbortOnDropHandle::new(tokio::spawn(serving));
        Self { address, sessions, watches, lookups, _serving: serving }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) async fn session(&mut self) -> Session {
        soon(self.sessions.recv()).await.unwrap()
    }

    /// The next session, greeted.
    pub(crate) async fn welcomed(&mut self, terms: Terms, grants: &[(&str, u64)]) -> Session {
        let mut session = self.session().await;
        session.hello().await;
        session.welcome(terms, grants);
        session
    }

    pub(crate) async fn watch(&mut self) -> Watch {
        soon(self.watches.recv()).await.unwrap()
    }

    pub(crate) async fn lookup(&mut self) -> Lookup {
        soon(self.lookups.recv()).await.unwrap()
    }

    /// Fails the next watch or lookup; counts lookups.
    pub(crate) async fn refuse(&mut self, lookups: &AtomicUsize) {
        let refusal = Status::unavailable("nobody");
        tokio::select! {
            Some(watch) = self.watches.recv() => watch.fail(refusal),
            Some(lookup) = self.lookups.recv() => {
                lookups.fetch_add(1, Ordering::Relaxed);
                // A scout may have gone meanwhile.
                let _ = lookup.answer.send(Err(refusal));
            }
        }
    }

    pub(crate) fn was_not_asked(&mut self) -> bool {
        self.lookups.try_recv().is_err()
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) lease_ms: u64,
    pub(crate) beat_ms: u64,
}

/// Long enough never to matter.
pub(crate) const LONG: Terms = Terms { lease_ms: 60_000, beat_ms: 20 };

impl Session {
    pub(crate) async fn next(&mut self) -> Said {
        let request = soon(self.said.next()).await.unwrap().unwrap();
        request.message.unwrap()
    }

    /// The next message; `None` when the client has ended the stream.
    pub(crate) async fn said(&mut self) -> Option<Said> {
        self.said.next().await?.ok()?.message
    }

    pub(crate) async fn hello(&mut self) -> Hello {
        match self.next().await {
            Said::Hello(hello) => hello,
            other => panic!("{other:?} before the hello"),
        }
    }

    /// The next beat, acknowledged. Other messages are skipped.
    pub(crate) async fn beat(&mut self) -> Beat {
        loop {
            if let Said::Beat(beat) = self.next().await {
                self.say(Saying::BeatAck(BeatAck { sequence: beat.sequence }));
                return beat;
            }
        }
    }

    /// The next message that is no beat; beats are acknowledged.
    pub(crate) async fn word(&mut self) -> Said {
        loop {
            match self.next().await {
                Said::Beat(beat) => self.say(Saying::BeatAck(BeatAck { sequence: beat.sequence })),
                other => return other,
            }
        }
    }

    pub(crate) fn say(&self, message: Saying) {
        // The client may have gone meanwhile; then it shows elsewhere.
        let _ = self.say.send(Ok(SessionResponse { message: Some(message) }));
    }

    pub(crate) fn fail(&self, status: Status) {
        self.say.send(Err(status)).unwrap();
    }

    pub(crate) fn welcome(&self, terms: Terms, grants: &[(&str, u64)]) {
        let grants = grants.iter().map(|(shard, generation)| grant(shard, *generation)).collect();
        let Terms { lease_ms, beat_ms } = terms;
        self.say(Saying::Welcome(Welcome { lease_ms, beat_ms, grants, ..Welcome::default() }));
    }

    pub(crate) fn grant(&self, shard: &str, generation: u64) {
        let grants = vec![grant(shard, generation)];
        self.say(Saying::Granted(v1::Granted { grants }));
    }

    pub(crate) fn revoke(&self, shard: &str, generation: u64) {
        self.revoke_for(shard, generation, "");
    }

    /// The shard goes to an executor whose address is made of its id.
    pub(crate) fn revoke_for(&self, shard: &str, generation: u64, next: &str) {
        let next_address = address_of(next).remove("grpc_address").unwrap_or_default();
        let revocation = v1::Revocation {
            shard_key: shard.to_owned(),
            generation,
            reason: "move".to_owned(),
            next_executor_id: next.to_owned(),
            next_address: if next.is_empty() { String::new() } else { next_address },
        };
        self.say(Saying::Revoked(v1::Revoked { revocations: vec![revocation] }));
    }

    /// With what the owner before handed over.
    pub(crate) fn grant_from(&self, shard: &str, generation: u64, previous: &str, state: &[u8]) {
        let grant = Grant {
            state: state.to_vec(),
            previous_executor_id: previous.to_owned(),
            ..grant(shard, generation)
        };
        self.say(Saying::Granted(v1::Granted { grants: vec![grant] }));
    }

    pub(crate) fn prepare(&self, shard: &str, generation: u64) {
        self.preparation(shard, generation, false);
    }

    pub(crate) fn abandon(&self, shard: &str, generation: u64) {
        self.preparation(shard, generation, true);
    }

    fn preparation(&self, shard: &str, generation: u64, abandoned: bool) {
        let shard_key = shard.to_owned();
        let preparations = vec![v1::Preparation { shard_key, generation, abandoned }];
        self.say(Saying::Prepare(v1::Prepare { preparations }));
    }

    pub(crate) fn farewell(&self, reason: farewell::Reason) {
        self.say(Saying::Farewell(Farewell { reason: reason.into() }));
    }
}

pub(crate) fn started(shard: &str, generation: u64) -> Said {
    Said::Started(v1::Started { shard_key: shard.to_owned(), generation })
}

pub(crate) fn stopped(shard: &str, generation: u64, error: &str) -> Said {
    let (shard_key, error) = (shard.to_owned(), error.to_owned());
    Said::Stopped(v1::Stopped { shard_key, generation, error, state: vec![] })
}

pub(crate) fn handed_over(shard: &str, generation: u64, state: &[u8]) -> Said {
    let (shard_key, error, state) = (shard.to_owned(), String::new(), state.to_vec());
    Said::Stopped(v1::Stopped { shard_key, generation, error, state })
}

pub(crate) fn prepared(shard: &str, generation: u64, error: &str) -> Said {
    let (shard_key, error) = (shard.to_owned(), error.to_owned());
    Said::Prepared(v1::Prepared { shard_key, generation, error })
}

pub(crate) fn goodbye() -> Said {
    Said::Goodbye(Goodbye { returning: false })
}

fn grant(shard: &str, generation: u64) -> Grant {
    Grant { shard_key: shard.to_owned(), generation, ..Grant::default() }
}

impl Watch {
    pub(crate) fn say(&self, message: News) {
        let _ = self.say.send(Ok(WatchResponse { message: Some(message) }));
    }

    pub(crate) fn fail(&self, status: Status) {
        self.say.send(Err(status)).unwrap();
    }
}

impl Lookup {
    pub(crate) fn answer(self, executor: &str, generation: u64) {
        let response = LookupResponse {
            executor_id: executor.to_owned(),
            generation,
            metadata: address_of(executor),
        };
        self.answer.send(Ok(response)).unwrap();
    }

    pub(crate) fn fail(self, status: Status) {
        self.answer.send(Err(status)).unwrap();
    }
}

pub(crate) fn address_of(executor: &str) -> std::collections::HashMap<String, String> {
    [("grpc_address".to_owned(), format!("{executor}:80"))].into()
}

struct Executors {
    session: mpsc::UnboundedSender<Session>,
}

#[tonic::async_trait]
impl ExecutorService for Executors {
    type SessionStream = BoxStream<'static, Result<SessionResponse, Status>>;

    async fn session(
        &self,
        request: Request<Streaming<SessionRequest>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        let (say, answers) = mpsc::unbounded_channel();
        let session = Session { said: request.into_inner(), say };
        self.session.send(session).map_err(|_| Status::unavailable("the test is over"))?;
        Ok(Response::new(UnboundedReceiverStream::new(answers).boxed()))
    }
}

struct Routes {
    watch: mpsc::UnboundedSender<Watch>,
    lookup: mpsc::UnboundedSender<Lookup>,
}

#[tonic::async_trait]
impl RoutingService for Routes {
    type WatchStream = BoxStream<'static, Result<WatchResponse, Status>>;

    async fn watch(
        &self,
        request: Request<WatchRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let (say, answers) = mpsc::unbounded_channel();
        let watch = Watch { request: request.into_inner(), say };
        self.watch.send(watch).map_err(|_| Status::unavailable("the test is over"))?;
        Ok(Response::new(UnboundedReceiverStream::new(answers).boxed()))
    }

    async fn lookup(
        &self,
        request: Request<LookupRequest>,
    ) -> Result<Response<LookupResponse>, Status> {
        let (answer, answered) = oneshot::channel();
        let lookup = Lookup { key: request.into_inner().shard_key, answer };
        self.lookup.send(lookup).map_err(|_| Status::unavailable("the test is over"))?;
        answered.await.map_err(|_| Status::unavailable("not answered"))?.map(Response::new)
    }
}
