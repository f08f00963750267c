//! A policy server that is told what to push, and a service behind its layer.

use std::collections::HashMap;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use plimsoll_qalm::policy_server::Status;
use plimsoll_qalm::{Context, PolicyServer, QalmLayer};
use plimsoll_wire::v1::policy_service_server::{PolicyService, PolicyServiceServer};
use plimsoll_wire::v1::sync_request::Message as Said;
use plimsoll_wire::v1::sync_response::Message as Told;
use plimsoll_wire::v1::{
    GetPolicyRequest, GetPolicyResponse, GetTrafficRequest, GetTrafficResponse,
    ListServicesRequest, ListServicesResponse, NoPolicy, Observation, PolicyApplied,
    PolicyHistoryRequest, PolicyHistoryResponse, PolicyRevision, PreviewPolicyRequest,
    PreviewPolicyResponse, SetPolicyRequest, SetPolicyResponse, SyncHello, SyncRequest,
    SyncResponse,
};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_stream::wrappers::{TcpListenerStream, UnboundedReceiverStream};
use tonic::{Request as Call, Response, Status as Refusal, Streaming};
use tower::ServiceExt;

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
pub(crate) const SERVICE: &str = "menu";

pub(crate) async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("in time")
}

/// What instances have said, in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Heard {
    Hello(SyncHello),
    Applied(PolicyApplied),
    Observation(Observation),
}

type Stream = mpsc::UnboundedSender<Result<SyncResponse, Refusal>>;

#[derive(Debug, Default)]
struct Script {
    /// What is said to whoever comes.
    greeting: Mutex<Vec<Told>>,
    streams: Mutex<HashMap<String, Stream>>,
    heard: watch::Sender<Vec<Heard>>,
}

/// A server that runs until it is stopped or dropped.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    script: Arc<Script>,
    stop: Option<oneshot::Sender<()>>,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_at(([127, 0, 0, 1], 0).into()).await
    }

    pub(crate) async fn start_at(address: SocketAddr) -> Self {
        let listener = in_time(async {
            loop {
                match TcpListener::bind(address).await {
                    Ok(listener) => break listener,
                    Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        })
        .await;
        let address = listener.local_addr().unwrap();
        let script = Arc::new(Script::default());
        let (stop, stopped) = oneshot::channel();
        let service = PolicyServiceServer::new(Player(Arc::clone(&script)));
        let server = tonic::transport::Server::builder().add_service(service);
        let incoming = TcpListenerStream::new(listener);
        let task = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            server.serve_with_incoming_shutdown(incoming, stopped).await.unwrap();
        });
        Self { address, script, stop: Some(stop), task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What everybody is told who comes from now on.
    pub(crate) fn greet_with(&self, greeting: Vec<Told>) {
        *self.script.greeting.lock() = greeting;
    }

    /// Tells all who are connected, and who comes later.
    pub(crate) fn push(&self, revision: u64, text: &str) {
        let policy = policy(revision, text);
        self.greet_with(vec![policy.clone()]);
        self.tell(&policy);
    }

    pub(crate) fn tell(&self, message: &Told) {
        for stream in self.script.streams.lock().values() {
            // Who has gone hears nothing.
            let _ = stream.send(Ok(SyncResponse { message: Some(message.clone()) }));
        }
    }

    /// Ends every stream with a status, the connections stay.
    pub(crate) fn hang_up(&self, refusal: &Refusal) {
        for (_, stream) in self.script.streams.lock().drain() {
            let _ = stream.send(Err(refusal.clone()));
        }
    }

    /// Waits for the first that fits, of all that was heard.
    pub(crate) async fn hears<T>(&self, what: impl Fn(&Heard) -> Option<T>) -> T {
        let mut heard = self.script.heard.subscribe();
        in_time(async {
            loop {
                if let Some(found) = heard.borrow_and_update().iter().find_map(&what) {
                    return found;
                }
                heard.changed().await.unwrap();
            }
        })
        .await
    }

    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.script.heard.borrow().clone()
    }

    pub(crate) async fn applied(&self, revision: u64) -> PolicyApplied {
        self.hears(|heard| match heard {
            Heard::Applied(it) if it.revision == revision => Some(it.clone()),
            _ => None,
        })
        .await
    }

    pub(crate) async fn hello(&self) -> SyncHello {
        self.hears(|heard| match heard {
            Heard::Hello(hello) => Some(hello.clone()),
            _ => None,
        })
        .await
    }

    /// Away, with every connection.
    pub(crate) async fn stop(mut self) -> SocketAddr {
        drop(self.stop.take());
        self.script.streams.lock().clear();
        in_time(&mut self.task).await.unwrap();
        self.address
    }
}

pub(crate) fn policy(revision: u64, text: &str) -> Told {
    Told::Policy(PolicyRevision {
        service: SERVICE.to_owned(),
        revision,
        text: text.to_owned(),
        author: "ada".to_owned(),
        ..PolicyRevision::default()
    })
}

pub(crate) fn no_policy() -> Told {
    Told::NoPolicy(NoPolicy {})
}

/// A policy that gives everybody this level.
pub(crate) fn level(level: u8) -> String {
    format!("default_criticality = {level}\n")
}

#[derive(Debug)]
struct Player(Arc<Script>);

type Pushed = Pin<Box<dyn tokio_stream::Stream<Item = Result<SyncResponse, Refusal>> + Send>>;

#[tonic::async_trait]
impl PolicyService for Player {
    type SyncStream = Pushed;

    async fn sync(
        &self,
        call: Call<Streaming<SyncRequest>>,
    ) -> Result<Response<Self::SyncStream>, Refusal> {
        let mut said = call.into_inner();
        let (tell, told) = mpsc::unbounded_channel();
        let mut tell: Option<Stream> = Some(tell);
        let script = Arc::clone(&self.0);
        tokio::spawn(async move {
            while let Ok(Some(SyncRequest { message: Some(message) })) = said.message().await {
                let heard = match message {
                    Said::Hello(hello) => {
                        // Whoever is greeted is also told what comes after it.
                        let greeting = script.greeting.lock();
                        let tell = tell.take().expect("one hello");
                        for message in &*greeting {
                            let message = SyncResponse { message: Some(message.clone()) };
                            let _ = tell.send(Ok(message));
                        }
                        script.streams.lock().insert(hello.instance.clone(), tell);
                        Heard::Hello(hello)
                    }
                    Said::Applied(applied) => Heard::Applied(applied),
                    Said::Observation(observation) => Heard::Observation(observation),
                };
                script.heard.send_modify(|it| it.push(heard));
            }
        });
        Ok(Response::new(Box::pin(UnboundedReceiverStream::new(told))))
    }

    async fn list_services(
        &self,
        _: Call<ListServicesRequest>,
    ) -> Result<Response<ListServicesResponse>, Refusal> {
        Err(Refusal::unimplemented("not played"))
    }

    async fn get_policy(
        &self,
        _: Call<GetPolicyRequest>,
    ) -> Result<Response<GetPolicyResponse>, Refusal> {
        Err(Refusal::unimplemented("not played"))
    }

    async fn set_policy(
        &self,
        _: Call<SetPolicyRequest>,
    ) -> Result<Response<SetPolicyResponse>, Refusal> {
        Err(Refusal::unimplemented("not played"))
    }

    async fn preview_policy(
        &self,
        _: Call<PreviewPolicyRequest>,
    ) -> Result<Response<PreviewPolicyResponse>, Refusal> {
        Err(Refusal::unimplemented("not played"))
    }

    async fn policy_history(
        &self,
        _: Call<PolicyHistoryRequest>,
    ) -> Result<Response<PolicyHistoryResponse>, Refusal> {
        Err(Refusal::unimplemented("not played"))
    }

    async fn get_traffic(
        &self,
        _: Call<GetTrafficRequest>,
    ) -> Result<Response<GetTrafficResponse>, Refusal> {
        Err(Refusal::unimplemented("not played"))
    }
}

/// A service that answers with the level at which it was admitted.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    pub(crate) layer: QalmLayer,
    router: Router,
}

impl Service {
    pub(crate) fn new(server: PolicyServer) -> Self {
        let layer = QalmLayer::builder().build_from_server(server).unwrap();
        let router = Router::new().route("/menu", get(level_of)).layer(layer.clone());
        Self { layer, router }
    }

    /// The status, and the level.
    pub(crate) async fn ask(&self, caller: &str, asked: &str) -> (StatusCode, String) {
        let mut request = Request::builder().uri("/menu").header("rpc-caller", caller);
        if !asked.is_empty() {
            request = request.header("x-plimsoll-criticality", asked);
        }
        let request = request.body(Body::empty()).unwrap();
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let status = answer.status();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    pub(crate) async fn level(&self) -> String {
        self.ask("app", "").await.1
    }

    pub(crate) fn status(&self) -> Status {
        self.layer.policy_server().unwrap().borrow().clone()
    }

    /// Waits until the status is so.
    pub(crate) async fn until(&self, what: impl FnMut(&Status) -> bool) -> Status {
        let mut status = self.layer.policy_server().unwrap();
        in_time(status.wait_for(what)).await.unwrap().clone()
    }
}

async fn level_of() -> String {
    Context::current().map_or_else(String::new, |context| context.level.to_string())
}
