//! The way to the server's own services: any tower service that speaks gRPC, be it a
//! channel or the services themselves. Every call has an end.

use std::fmt;
use std::time::Duration;

use plimsoll_wire::sharddistributor as go;
use plimsoll_wire::sharddistributor::shard_distributor_api_client::ShardDistributorApiClient;
use plimsoll_wire::v1;
use plimsoll_wire::v1::admin_service_client::AdminServiceClient;
use plimsoll_wire::{MAX_MESSAGE_BYTES, ORDERED_BY, REASON};
use tonic::body::Body;
use tonic::metadata::MetadataValue;
use tonic::{Request, Response, Status};
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service, ServiceExt};

use crate::problem::Problem;

/// The longest that a page waits for an answer.
const PATIENCE: Duration = Duration::from_secs(3);

type Boxed = BoxCloneSyncService<http::Request<Body>, http::Response<Body>, Lost>;
type Answer<T> = Result<T, Problem>;

/// The way to the services broke. A type of its own: the compiler cannot tell that a
/// boxed error lives long enough.
#[derive(Debug)]
struct Lost(BoxError);

/// Where the console's questions go.
#[derive(Clone, Debug)]
pub struct Wire {
    service: Boxed,
}

impl Wire {
    /// Over any service that answers gRPC.
    pub fn new<S>(service: S) -> Self
    where
        S: Service<http::Request<Body>, Response = http::Response<Body>>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
    {
        Self { service: BoxCloneSyncService::new(service.map_err(|error| Lost(error.into()))) }
    }

    fn admin(&self) -> AdminServiceClient<Boxed> {
        AdminServiceClient::new(self.service.clone()).max_decoding_message_size(MAX_MESSAGE_BYTES)
    }

    fn go(&self) -> ShardDistributorApiClient<Boxed> {
        ShardDistributorApiClient::new(self.service.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
    }

    /// Every namespace.
    pub(crate) async fn list(&self) -> Answer<Vec<go::NamespaceConfig>> {
        let answer = ask(self.go().list_namespaces(go::ListNamespacesRequest {})).await?;
        Ok(answer.namespaces)
    }

    pub(crate) async fn describe(&self, name: &str) -> Answer<v1::DescribeNamespaceResponse> {
        let request = v1::DescribeNamespaceRequest { name: name.to_owned() };
        ask(self.admin().describe_namespace(request)).await
    }

    pub(crate) async fn loads(&self, request: v1::GetLoadsRequest) -> Answer<v1::GetLoadsResponse> {
        ask(self.admin().get_loads(request)).await
    }

    pub(crate) async fn drains(&self, namespace: &str) -> Answer<v1::ListDrainsResponse> {
        let request = v1::ListDrainsRequest { namespace: namespace.to_owned() };
        ask(self.admin().list_drains(request)).await
    }

    /// A dry run; in the namespace's own mode if `mode` is empty.
    pub(crate) async fn plan(
        &self,
        namespace: &str,
        mode: &str,
    ) -> Answer<v1::PlanBalanceResponse> {
        let (namespace, mode) = (namespace.to_owned(), mode.to_owned());
        ask(self.admin().plan_balance(v1::PlanBalanceRequest { namespace, mode })).await
    }

    pub(crate) async fn history(&self, request: v1::HistoryRequest) -> Answer<Vec<v1::Event>> {
        Ok(ask(self.admin().history(request)).await?.events)
    }

    pub(crate) async fn explain(
        &self,
        namespace: &str,
        key: &str,
    ) -> Answer<v1::ExplainShardResponse> {
        let (namespace, shard_key) = (namespace.to_owned(), key.to_owned());
        ask(self.admin().explain_shard(v1::ExplainShardRequest { namespace, shard_key })).await
    }

    pub(crate) async fn drain_host(&self, namespace: &str, host: go::DrainedHost) -> Answer<()> {
        let request = go::DrainHostsRequest { namespace: namespace.to_owned(), hosts: vec![host] };
        ask(self.go().drain_hosts(request)).await.map(drop)
    }

    pub(crate) async fn undrain_host(
        &self,
        namespace: &str,
        host: &str,
        by: &Orderer,
    ) -> Answer<()> {
        let request = go::UndrainHostsRequest {
            namespace: namespace.to_owned(),
            hostnames: vec![host.to_owned()],
        };
        ask(self.go().undrain_hosts(by.sign(request))).await.map(drop)
    }

    pub(crate) async fn drain_shard(&self, request: v1::DrainShardsRequest) -> Answer<()> {
        ask(self.admin().drain_shards(request)).await.map(drop)
    }

    pub(crate) async fn undrain_shard(
        &self,
        request: v1::UndrainShardsRequest,
        by: &Orderer,
    ) -> Answer<()> {
        ask(self.admin().undrain_shards(by.sign(request))).await.map(drop)
    }

    pub(crate) async fn freeze(
        &self,
        request: v1::FreezeBalanceRequest,
        by: &Orderer,
    ) -> Answer<()> {
        ask(self.admin().freeze_balance(by.sign(request))).await.map(drop)
    }

    pub(crate) async fn resume(
        &self,
        request: v1::ResumeBalanceRequest,
        by: &Orderer,
    ) -> Answer<()> {
        ask(self.admin().resume_balance(by.sign(request))).await.map(drop)
    }
}

/// Who gives an order, and why.
#[derive(Clone, Debug)]
pub(crate) struct Orderer {
    pub(crate) who: String,
    pub(crate) why: String,
}

impl Orderer {
    /// With the call, for the history.
    fn sign<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let metadata = request.metadata_mut();
        metadata.insert_bin(ORDERED_BY, MetadataValue::from_bytes(self.who.as_bytes()));
        metadata.insert_bin(REASON, MetadataValue::from_bytes(self.why.as_bytes()));
        request
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Lost {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

async fn ask<T>(call: impl Future<Output = Result<Response<T>, Status>>) -> Answer<T> {
    match tokio::time::timeout(PATIENCE, call).await {
        Ok(Ok(answer)) => Ok(answer.into_inner()),
        Ok(Err(status)) => Err(Problem::of(&status)),
        Err(_) => Err(Problem::Away(format!("there was no answer within {PATIENCE:?}"))),
    }
}
