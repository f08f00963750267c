//! The canned half that a Go server has too.

use plimsoll_wire::sharddistributor as wire;
use plimsoll_wire::sharddistributor::shard_distributor_api_server::ShardDistributorApi;
use plimsoll_wire::status::TypedError;
use tonic::{Request, Response, Status, Streaming};

use super::{Log, at, check};

pub(super) struct GoWire(pub(super) Log);

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl ShardDistributorApi for GoWire {
    type WatchNamespaceStateStream =
        tokio_stream::Empty<Result<wire::WatchNamespaceStateResponse, Status>>;

    async fn get_shard_owner(
        &self,
        request: Request<wire::GetShardOwnerRequest>,
    ) -> Answer<wire::GetShardOwnerResponse> {
        self.0.note(&request);
        let wire::GetShardOwnerRequest { shard_key, namespace } = request.into_inner();
        check(&namespace).await?;
        shard_exists(&namespace, &shard_key)?;
        let metadata = [("grpc".to_owned(), "10.0.0.1:7000".to_owned())].into();
        Ok(Response::new(wire::GetShardOwnerResponse {
            owner: "exec-a".into(),
            namespace,
            metadata,
        }))
    }

    async fn inspect_shard(
        &self,
        request: Request<wire::InspectShardRequest>,
    ) -> Answer<wire::InspectShardResponse> {
        self.0.note(&request);
        let wire::InspectShardRequest { shard_key, namespace } = request.into_inner();
        check(&namespace).await?;
        shard_exists(&namespace, &shard_key)?;
        let metadata = match shard_key.as_str() {
            "plain" => [].into(),
            _ => {
                [("note".to_owned(), "a<b & c>d".to_owned()), ("grpc".to_owned(), "x:1".to_owned())]
                    .into()
            }
        };
        Ok(Response::new(wire::InspectShardResponse {
            owner: "exec-a".into(),
            namespace,
            metadata,
        }))
    }

    async fn get_namespace_state(
        &self,
        request: Request<wire::GetNamespaceStateRequest>,
    ) -> Answer<wire::GetNamespaceStateResponse> {
        self.0.note(&request);
        let namespace = request.into_inner().namespace;
        check(&namespace).await?;
        let executors = if namespace == "empty" { vec![] } else { executors() };
        Ok(Response::new(wire::GetNamespaceStateResponse { namespace, executors }))
    }

    async fn get_executor_state(
        &self,
        request: Request<wire::GetExecutorStateRequest>,
    ) -> Answer<wire::GetExecutorStateResponse> {
        self.0.note(&request);
        let wire::GetExecutorStateRequest { namespace, executor_id } = request.into_inner();
        check(&namespace).await?;
        let executor = executors().into_iter().find(|it| it.executor_id == executor_id);
        let missing = || Status::unknown(format!("executor not found {namespace}:{executor_id}"));
        let executor = Some(executor.ok_or_else(missing)?);
        Ok(Response::new(wire::GetExecutorStateResponse { namespace, executor }))
    }

    async fn list_namespaces(
        &self,
        request: Request<wire::ListNamespacesRequest>,
    ) -> Answer<wire::ListNamespacesResponse> {
        self.0.note(&request);
        let namespace = |name: &str, r#type: &str, mode: &str, shard_num| wire::NamespaceConfig {
            name: name.into(),
            r#type: r#type.into(),
            mode: mode.into(),
            shard_num,
        };
        let namespaces = vec![
            namespace("sessions", "ephemeral", "onboarded", 0),
            namespace("demo", "fixed", "onboarded", 1024),
        ];
        Ok(Response::new(wire::ListNamespacesResponse { namespaces }))
    }

    async fn force_reset_namespace(
        &self,
        request: Request<wire::ForceResetNamespaceRequest>,
    ) -> Answer<wire::ForceResetNamespaceResponse> {
        self.0.note(&request);
        check(&request.get_ref().namespace).await?;
        Ok(Response::new(wire::ForceResetNamespaceResponse { deleted_keys: 42 }))
    }

    async fn drain_hosts(
        &self,
        request: Request<wire::DrainHostsRequest>,
    ) -> Answer<wire::DrainHostsResponse> {
        self.0.note(&request);
        check(&request.get_ref().namespace).await?;
        Ok(Response::new(wire::DrainHostsResponse {}))
    }

    async fn undrain_hosts(
        &self,
        request: Request<wire::UndrainHostsRequest>,
    ) -> Answer<wire::UndrainHostsResponse> {
        self.0.note(&request);
        let wire::UndrainHostsRequest { namespace, hostnames } = request.into_inner();
        check(&namespace).await?;
        let undrained_hostnames = hostnames.into_iter().filter(|it| it == "host-9").collect();
        Ok(Response::new(wire::UndrainHostsResponse { undrained_hostnames }))
    }

    async fn get_drained_hosts(
        &self,
        request: Request<wire::GetDrainedHostsRequest>,
    ) -> Answer<wire::GetDrainedHostsResponse> {
        self.0.note(&request);
        let namespace = request.into_inner().namespace;
        check(&namespace).await?;
        let host = wire::DrainedHost {
            hostname: "host-9".into(),
            drained_at: at(1, 500_000_000),
            drained_by: "ann".into(),
            reason: "disk".into(),
        };
        let hosts = if namespace == "empty" { vec![] } else { vec![host] };
        Ok(Response::new(wire::GetDrainedHostsResponse { namespace, hosts }))
    }

    async fn drain_shards(
        &self,
        request: Request<wire::DrainShardsRequest>,
    ) -> Answer<wire::DrainShardsResponse> {
        self.0.note(&request);
        check(&request.get_ref().namespace).await?;
        Ok(Response::new(wire::DrainShardsResponse {}))
    }

    async fn undrain_shards(
        &self,
        request: Request<wire::UndrainShardsRequest>,
    ) -> Answer<wire::UndrainShardsResponse> {
        self.0.note(&request);
        let wire::UndrainShardsRequest { namespace, shard_keys } = request.into_inner();
        check(&namespace).await?;
        let undrained_shard_keys = shard_keys.into_iter().filter(|it| it == "7").collect();
        Ok(Response::new(wire::UndrainShardsResponse { undrained_shard_keys }))
    }

    async fn get_drained_shards(
        &self,
        request: Request<wire::GetDrainedShardsRequest>,
    ) -> Answer<wire::GetDrainedShardsResponse> {
        self.0.note(&request);
        let namespace = request.into_inner().namespace;
        check(&namespace).await?;
        let shard_keys = vec!["10".into(), "7".into()];
        Ok(Response::new(wire::GetDrainedShardsResponse { namespace, shard_keys }))
    }

    async fn get_namespace_loads(
        &self,
        _: Request<wire::GetNamespaceLoadsRequest>,
    ) -> Answer<wire::GetNamespaceLoadsResponse> {
        Err(Status::unimplemented("smctl does not call it"))
    }

    async fn get_full_namespace_state(
        &self,
        _: Request<wire::GetFullNamespaceStateRequest>,
    ) -> Answer<wire::GetFullNamespaceStateResponse> {
        Err(Status::unimplemented("smctl does not call it"))
    }

    async fn watch_namespace_state(
        &self,
        _: Request<Streaming<wire::WatchNamespaceStateRequest>>,
    ) -> Answer<Self::WatchNamespaceStateStream> {
        Err(Status::unimplemented("smctl does not call it"))
    }
}

fn shard_exists(namespace: &str, shard_key: &str) -> Result<(), Status> {
    match shard_key {
        "gone" => Err(TypedError::shard_not_found(namespace, shard_key).into()),
        "drained" => Err(TypedError::shard_drained(namespace, shard_key).into()),
        _ => Ok(()),
    }
}

/// Out of order, one without a host, one drained, one of a status not known.
fn executors() -> Vec<wire::NamespaceExecutorState> {
    vec![
        executor("exec-b", 1, "host-2", at(2, 0), &["3"]),
        executor("exec-a", 1, "host-1", at(1, 250_000_000), &["1", "2"]),
        executor("exec-c", 2, "host-1", at(3, 123_456_789), &["4"]),
        wire::NamespaceExecutorState {
            executor_id: "exec-d".into(),
            status: 4,
            ..wire::NamespaceExecutorState::default()
        },
    ]
}

fn executor(
    id: &str,
    status: i32,
    host: &str,
    last_heartbeat: Option<prost_types::Timestamp>,
    shards: &[&str],
) -> wire::NamespaceExecutorState {
    let shard = |key: &&str| wire::AssignedShardState {
        shard_key: (*key).to_owned(),
        assignment_status: 1,
        assigned_state_mod_revision: 17,
    };
    let metadata = [("zone", "z1"), ("grpc", "10.0.0.1:7000")];
    wire::NamespaceExecutorState {
        executor_id: id.to_owned(),
        status,
        last_heartbeat,
        metadata: metadata.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        assigned_shards: shards.iter().map(shard).collect(),
        host_metadata: Some(wire::HostMetadata { host_name: host.to_owned() }),
    }
}
