//! A server that answers with canned data, by the name of the namespace:
//! `demo` is well, `empty` has nobody, `slow` never answers, `broken` fails
//! inside; any other is not found.

mod admin_wire;
mod go_wire;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use plimsoll_wire::sharddistributor::shard_distributor_api_server::ShardDistributorApiServer;
use plimsoll_wire::status::TypedError;
use plimsoll_wire::v1::admin_service_server::AdminServiceServer;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::server::Router;
use tonic::transport::{Server, ServerTlsConfig};
use tonic::{Request, Status};

pub(crate) struct Fake {
    pub(crate) address: String,
    log: Log,
}

/// What clients sent, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Fake {
    /// A Plimsoll server: both wires.
    pub(crate) fn plimsoll() -> Self {
        Self::start(Wires::Both, None)
    }

    /// A Go server: only its own wire.
    pub(crate) fn go() -> Self {
        Self::start(Wires::Go, None)
    }

    /// A Plimsoll server behind TLS.
    pub(crate) fn tls(tls: ServerTlsConfig) -> Self {
        Self::start(Wires::Both, Some(tls))
    }

    fn start(wires: Wires, tls: Option<ServerTlsConfig>) -> Self {
        let log = Log::default();
        let (sender, receiver) = std::sync::mpsc::channel();
        let server_log = log.clone();
        std::thread::spawn(move || serve(wires, tls, server_log, &sender));
        Self { address: receiver.recv().unwrap().to_string(), log }
    }

    /// What was sent so far, and forgets it.
    pub(crate) fn sent(&self) -> Vec<String> {
        std::mem::take(&mut self.log.0.lock().unwrap())
    }
}

#[derive(Clone, Copy)]
enum Wires {
    Both,
    Go,
}

fn serve(
    wires: Wires,
    tls: Option<ServerTlsConfig>,
    log: Log,
    address: &std::sync::mpsc::Sender<SocketAddr>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        address.send(listener.local_addr().unwrap()).unwrap();
        let incoming = TcpListenerStream::new(listener);
        router(wires, tls, log).serve_with_incoming(incoming).await.unwrap();
    });
}

fn router(wires: Wires, tls: Option<ServerTlsConfig>, log: Log) -> Router {
    let mut server = Server::builder();
    if let Some(tls) = tls {
        server = server.tls_config(tls).unwrap();
    }
    let router = server.add_service(ShardDistributorApiServer::new(go_wire::GoWire(log.clone())));
    match wires {
        Wires::Go => router,
        Wires::Both => router.add_service(AdminServiceServer::new(admin_wire::AdminWire::new(log))),
    }
}

impl Log {
    /// Notes a request, and the headers that a Go server insists on.
    fn note<T: std::fmt::Debug>(&self, request: &Request<T>) {
        let header = |name| request.metadata().get(name).map_or("", |it| it.to_str().unwrap());
        let names =
            ["rpc-caller", "rpc-service", "rpc-encoding", "cadence-caller-type", "grpc-timeout"];
        let headers = names.map(header).join(" ");
        self.0.lock().unwrap().push(format!("{:?} [{headers}]", request.get_ref()));
    }
}

/// Whether the namespace answers; how it fails otherwise.
async fn check(namespace: &str) -> Result<(), Status> {
    match namespace {
        "demo" | "empty" | "stuck" => Ok(()),
        "slow" => std::future::pending().await,
        "broken" => Err(Status::internal("the store is on fire")),
        "secret" => Err(Status::permission_denied("Request unauthorized.")),
        "" => Err(Status::invalid_argument("namespace is empty")),
        namespace => Err(namespace_not_found(namespace)),
    }
}

fn namespace_not_found(namespace: &str) -> Status {
    TypedError::namespace_not_found(namespace).into()
}

fn at(seconds: i64, nanos: i32) -> Option<prost_types::Timestamp> {
    Some(prost_types::Timestamp { seconds: 1_767_323_000 + seconds, nanos })
}
