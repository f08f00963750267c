//! `ShardDistributorAPI`: lookups, states and drains on the Go wire. Its watch is
//! answered by [`super::pushed`].

use std::sync::Arc;

use plimsoll_ownership::namespace::Order;
use plimsoll_ownership::record::{DrainRecord, Kind};
use plimsoll_wire::sharddistributor as go;
use plimsoll_wire::sharddistributor::shard_distributor_api_server::ShardDistributorApi;
use plimsoll_wire::status::{TypedError, plain};
use tokio_stream::Empty;
use tonic::{Request, Response, Status, Streaming};

use super::support::{Located, answered_elsewhere, gone, invalid, why};
use super::{Services, describe, validate};
use crate::driver::NamespaceHandle;
use crate::history::millis;
use crate::listing::Listed;

type Answer<T> = Result<Response<T>, Status>;
type States = Empty<Result<go::WatchNamespaceStateResponse, Status>>;

#[tonic::async_trait]
impl ShardDistributorApi for Services {
    type WatchNamespaceStateStream = States;

    async fn get_shard_owner(
        &self,
        request: Request<go::GetShardOwnerRequest>,
    ) -> Answer<go::GetShardOwnerResponse> {
        let go::GetShardOwnerRequest { shard_key, namespace } = request.into_inner();
        let found = async {
            let (owner, metadata) = self.owner(&namespace, &shard_key, true).await?;
            Ok(go::GetShardOwnerResponse { owner, namespace, metadata })
        };
        let mut answer = self.counted("GetShardOwner", found).await?;
        if let Ok(listed) = self.listed(&answer.get_ref().namespace) {
            self.tell_age(&listed, &mut answer);
        }
        Ok(answer)
    }

    async fn inspect_shard(
        &self,
        request: Request<go::InspectShardRequest>,
    ) -> Answer<go::InspectShardResponse> {
        let go::InspectShardRequest { shard_key, namespace } = request.into_inner();
        let found = async {
            let (owner, metadata) = self.owner(&namespace, &shard_key, false).await?;
            Ok(go::InspectShardResponse { owner, namespace, metadata })
        };
        let mut answer = self.counted("InspectShard", found).await?;
        if let Ok(listed) = self.listed(&answer.get_ref().namespace) {
            self.tell_age(&listed, &mut answer);
        }
        Ok(answer)
    }

    async fn get_namespace_state(
        &self,
        request: Request<go::GetNamespaceStateRequest>,
    ) -> Answer<go::GetNamespaceStateResponse> {
        let name = request.into_inner().namespace;
        let state = async {
            let handle = self.namespace(&name)?;
            let executors = handle.read(describe::go_executors).await.map_err(gone)?;
            Ok(go::GetNamespaceStateResponse { namespace: name, executors })
        };
        self.counted("GetNamespaceState", state).await
    }

    async fn get_executor_state(
        &self,
        request: Request<go::GetExecutorStateRequest>,
    ) -> Answer<go::GetExecutorStateResponse> {
        let go::GetExecutorStateRequest { namespace, executor_id } = request.into_inner();
        let state = async {
            let handle = self.namespace(&namespace)?;
            let id = executor_id.clone();
            let executor = handle
                .read(move |now, it| describe::go_executor(now, it, &id))
                .await
                .map_err(gone)?;
            let text = format!("executor not found {namespace}:{executor_id}");
            let missing = || Status::not_found(plain(&text));
            let executor = Some(executor.ok_or_else(missing)?);
            Ok(go::GetExecutorStateResponse { namespace: namespace.clone(), executor })
        };
        self.counted("GetExecutorState", state).await
    }

    async fn watch_namespace_state(
        &self,
        _request: Request<Streaming<go::WatchNamespaceStateRequest>>,
    ) -> Answer<States> {
        Err(answered_elsewhere())
    }

    async fn list_namespaces(
        &self,
        _request: Request<go::ListNamespacesRequest>,
    ) -> Answer<go::ListNamespacesResponse> {
        let namespaces =
            self.namespaces.listing.all().iter().map(|it| describe_namespace(it)).collect();
        self.counted("ListNamespaces", async { Ok(go::ListNamespacesResponse { namespaces }) })
            .await
    }

    async fn drain_shards(
        &self,
        request: Request<go::DrainShardsRequest>,
    ) -> Answer<go::DrainShardsResponse> {
        let go::DrainShardsRequest { namespace, shard_keys } = request.into_inner();
        let done = async {
            let handle = self.namespace(&namespace)?;
            validate::drain_keys(&shard_keys)?;
            let drain =
                DrainRecord { drained_at_ms: handle.clock.wall_ms(), ..DrainRecord::default() };
            handle
                .order(Order::DrainShards { keys: names(shard_keys), drain })
                .await
                .map_err(gone)?;
            Ok(go::DrainShardsResponse {})
        };
        self.counted("DrainShards", done).await
    }

    async fn undrain_shards(
        &self,
        request: Request<go::UndrainShardsRequest>,
    ) -> Answer<go::UndrainShardsResponse> {
        let why = why(request.metadata());
        let go::UndrainShardsRequest { namespace, shard_keys } = request.into_inner();
        let done = async {
            let why = why?;
            let handle = self.namespace(&namespace)?;
            validate::drain_keys(&shard_keys)?;
            let order = Order::UndrainShards { keys: names(shard_keys) };
            let changed = handle.order_because(order, why).await.map_err(gone)?;
            let undrained_shard_keys = texts(&changed);
            Ok(go::UndrainShardsResponse { undrained_shard_keys })
        };
        self.counted("UndrainShards", done).await
    }

    async fn get_drained_shards(
        &self,
        request: Request<go::GetDrainedShardsRequest>,
    ) -> Answer<go::GetDrainedShardsResponse> {
        let namespace = request.into_inner().namespace;
        let drained = async {
            let handle = self.namespace(&namespace)?;
            let shard_keys = handle
                .read(|_, it| it.drained_shards().keys().map(ToString::to_string).collect())
                .await
                .map_err(gone)?;
            Ok(go::GetDrainedShardsResponse { namespace, shard_keys })
        };
        self.counted("GetDrainedShards", drained).await
    }

    async fn force_reset_namespace(
        &self,
        request: Request<go::ForceResetNamespaceRequest>,
    ) -> Answer<go::ForceResetNamespaceResponse> {
        let namespace = request.into_inner().namespace;
        let reset = async {
            let handle = self.namespace(&namespace)?;
            let deleted = handle.order(Order::Reset).await.map_err(gone)?.len();
            let deleted_keys = i64::try_from(deleted).unwrap_or(i64::MAX);
            Ok(go::ForceResetNamespaceResponse { deleted_keys })
        };
        self.counted("ForceResetNamespace", reset).await
    }

    async fn get_namespace_loads(
        &self,
        request: Request<go::GetNamespaceLoadsRequest>,
    ) -> Answer<go::GetNamespaceLoadsResponse> {
        let namespace = request.into_inner().namespace;
        let loads = async {
            let handle = self.namespace(&namespace)?;
            let executors = handle.read(describe::go_loads).await.map_err(gone)?;
            Ok(go::GetNamespaceLoadsResponse { namespace, executors })
        };
        self.counted("GetNamespaceLoads", loads).await
    }

    async fn drain_hosts(
        &self,
        request: Request<go::DrainHostsRequest>,
    ) -> Answer<go::DrainHostsResponse> {
        let go::DrainHostsRequest { namespace, hosts } = request.into_inner();
        let done = async {
            let handle = self.namespace(&namespace)?;
            let hosts = drained_hosts(&handle, hosts)?;
            handle.order(Order::DrainHosts { hosts }).await.map_err(gone)?;
            Ok(go::DrainHostsResponse {})
        };
        self.counted("DrainHosts", done).await
    }

    async fn undrain_hosts(
        &self,
        request: Request<go::UndrainHostsRequest>,
    ) -> Answer<go::UndrainHostsResponse> {
        let why = why(request.metadata());
        let go::UndrainHostsRequest { namespace, hostnames } = request.into_inner();
        let done = async {
            let why = why?;
            let handle = self.namespace(&namespace)?;
            if hostnames.is_empty() {
                return Err(invalid("hostnames must not be empty"));
            }
            let order = Order::UndrainHosts { hosts: names(hostnames) };
            let changed = handle.order_because(order, why).await.map_err(gone)?;
            let undrained_hostnames = texts(&changed);
            Ok(go::UndrainHostsResponse { undrained_hostnames })
        };
        self.counted("UndrainHosts", done).await
    }

    async fn get_drained_hosts(
        &self,
        request: Request<go::GetDrainedHostsRequest>,
    ) -> Answer<go::GetDrainedHostsResponse> {
        let namespace = request.into_inner().namespace;
        let drained = async {
            let handle = self.namespace(&namespace)?;
            let hosts = handle.read(|_, it| describe::go_drained_hosts(it)).await.map_err(gone)?;
            Ok(go::GetDrainedHostsResponse { namespace, hosts })
        };
        self.counted("GetDrainedHosts", drained).await
    }

    async fn get_full_namespace_state(
        &self,
        request: Request<go::GetFullNamespaceStateRequest>,
    ) -> Answer<go::GetFullNamespaceStateResponse> {
        let namespace = request.into_inner().namespace;
        let state = async {
            let handle = self.namespace(&namespace)?;
            handle.read(describe::go_full_state).await.map_err(gone)
        };
        self.counted("GetFullNamespaceState", state).await
    }
}

impl Services {
    async fn owner(
        &self,
        namespace: &str,
        key: &str,
        create: bool,
    ) -> Result<(String, std::collections::HashMap<String, String>), Status> {
        validate::key(key)?;
        let listed = self.listed(namespace)?;
        match self.find_owner(&listed, key, create).await? {
            Located::Owner(owner) => {
                let metadata = owner.executor.metadata.clone().into_iter().collect();
                Ok((owner.executor.id.to_string(), metadata))
            }
            Located::Drained => Err(TypedError::shard_drained(namespace, key).into()),
            Located::NoExecutor if listed.kind == Kind::Ephemeral => {
                Err(Status::unavailable("no active executors available: try again"))
            }
            Located::NotFound | Located::NoExecutor => {
                Err(TypedError::shard_not_found(namespace, key).into())
            }
        }
    }
}

fn describe_namespace(listed: &Listed) -> go::NamespaceConfig {
    let (kind, shard_num) = describe::kind(listed.kind);
    go::NamespaceConfig {
        name: listed.name.to_string(),
        r#type: kind.to_owned(),
        mode: "onboarded".to_owned(),
        shard_num: i64::from(shard_num),
    }
}

fn drained_hosts(
    handle: &NamespaceHandle,
    hosts: Vec<go::DrainedHost>,
) -> Result<Vec<(Arc<str>, DrainRecord)>, Status> {
    if hosts.is_empty() {
        return Err(invalid("hostnames must not be empty"));
    }
    let record = |host: go::DrainedHost| {
        validate::host(&host.hostname)?;
        validate::text("reason", &host.reason)?;
        validate::text("drained_by", &host.drained_by)?;
        let given = host.drained_at.map(|at| millis(&at)).filter(|at| *at > 0);
        let drain = DrainRecord {
            drained_at_ms: given.unwrap_or_else(|| handle.clock.wall_ms()),
            drained_by: host.drained_by,
            reason: host.reason,
        };
        Ok((Arc::from(host.hostname), drain))
    };
    hosts.into_iter().map(record).collect()
}

fn names(texts: Vec<String>) -> Vec<Arc<str>> {
    texts.into_iter().map(Arc::from).collect()
}

fn texts(names: &[Arc<str>]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}
