//! The server at the other end: clients of both wires, and the headers and the
//! deadline that every call carries.
//!
//! The headers are those of the Go tool: a Go server refuses calls without them.
//! No call is retried.

use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow, bail};
use plimsoll_wire::MAX_MESSAGE_BYTES;
use plimsoll_wire::sharddistributor::shard_distributor_api_client::ShardDistributorApiClient;
use plimsoll_wire::sharddistributor::{GetNamespaceStateRequest, GetNamespaceStateResponse};
use plimsoll_wire::v1::admin_service_client::AdminServiceClient;
use tonic::metadata::MetadataValue;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Response, Status};

use crate::cli::Connection;
use crate::rpc_error::RpcError;

const HEADERS: [(&str, &str); 4] = [
    ("rpc-caller", "shard-manager-cli"),
    ("rpc-service", "shard-distributor"),
    ("rpc-encoding", "proto"),
    ("cadence-caller-type", "cli"),
];

const DEFAULT_ADDRESS: &str = "127.0.0.1:7943";

pub(crate) struct Server {
    channel: Channel,
    address: String,
    timeout: Duration,
}

impl Server {
    /// Connects with the first call.
    pub(crate) fn new(connection: &Connection) -> Result<Self> {
        let address = match connection.address.as_str() {
            "" => DEFAULT_ADDRESS,
            address => address,
        };
        let channel = endpoint(connection, address)
            .with_context(|| format!("dispatcher (--address {address:?})"))
            .context("create shard-manager client dependency")?
            .connect_lazy();
        Ok(Self { channel, address: address.to_owned(), timeout: connection.context_timeout })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The wire that the Go server speaks too.
    pub(crate) fn go(&self) -> ShardDistributorApiClient<Channel> {
        ShardDistributorApiClient::new(self.channel.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
    }

    /// What only Plimsoll has.
    pub(crate) fn admin(&self) -> AdminServiceClient<Channel> {
        AdminServiceClient::new(self.channel.clone()).max_decoding_message_size(MAX_MESSAGE_BYTES)
    }

    /// A message with the headers and the deadline of a call.
    pub(crate) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        for (name, value) in HEADERS {
            request.metadata_mut().insert(name, MetadataValue::from_static(value));
        }
        request.set_timeout(self.timeout);
        request
    }

    /// Waits for a call; its error begins with the name of the call.
    pub(crate) async fn call<T>(
        &self,
        name: &'static str,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T> {
        let start = Instant::now();
        let answer = tokio::time::timeout(self.timeout, call).await;
        let late = start.elapsed() >= self.timeout;
        match answer {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) if !(late && is_timeout(&status)) => {
                Err(Error::new(RpcError::new(&status, &self.address)).context(name))
            }
            _ => Err(Error::new(RpcError::timed_out(&self.address, self.timeout)).context(name)),
        }
    }

    /// The call that half of the commands begin with.
    pub(crate) async fn namespace_state(
        &self,
        namespace: &str,
    ) -> Result<GetNamespaceStateResponse> {
        let request = self.request(GetNamespaceStateRequest { namespace: namespace.to_owned() });
        self.call("GetNamespaceState", self.go().get_namespace_state(request)).await
    }
}

/// The channel notices its own deadline a moment before or after we do.
fn is_timeout(status: &Status) -> bool {
    matches!(status.code(), Code::Cancelled | Code::DeadlineExceeded)
}

fn endpoint(connection: &Connection, address: &str) -> Result<Endpoint> {
    if !matches!(connection.transport.as_str(), "" | "grpc") {
        bail!("unsupported --transport {:?} (only \"grpc\" is supported)", connection.transport);
    }
    match connection.tls_cert_path.as_deref() {
        None | Some("") => plain_endpoint(address),
        Some(path) => tls_endpoint(address, path),
    }
}

fn plain_endpoint(address: &str) -> Result<Endpoint> {
    Endpoint::from_shared(format!("http://{address}")).with_context(|| not_an_address(address))
}

fn tls_endpoint(address: &str, path: &str) -> Result<Endpoint> {
    let pem = std::fs::read_to_string(path).with_context(|| {
        format!("unable to read server CA certificate (--tls-cert-path {path:?})")
    })?;
    let failed = || format!("failed to parse server CA certificate (--tls-cert-path {path:?})");
    if !pem.contains("-----BEGIN CERTIFICATE-----") {
        return Err(anyhow!(failed()));
    }
    let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem));
    Endpoint::from_shared(format!("https://{address}"))
        .with_context(|| not_an_address(address))?
        .tls_config(tls)
        .with_context(failed)
}

fn not_an_address(address: &str) -> String {
    format!("{address:?} is no host:port")
}
