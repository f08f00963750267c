//! `ShardDistributorExecutorAPI`: the unary heartbeat of the Go executors.

use std::collections::HashMap;
use std::sync::Arc;

use plimsoll_ownership::namespace::{Heartbeat, HeartbeatAnswer, Report, UnaryStatus, host_of};
use plimsoll_wire::sharddistributor as go;
use plimsoll_wire::sharddistributor::shard_distributor_executor_api_server::ShardDistributorExecutorApi;
use tonic::{Request, Response, Status};

use super::support::gone;
use super::{Services, validate};

#[tonic::async_trait]
impl ShardDistributorExecutorApi for Services {
    async fn heartbeat(
        &self,
        request: Request<go::HeartbeatRequest>,
    ) -> Result<Response<go::HeartbeatResponse>, Status> {
        self.counted("Heartbeat", self.take_heartbeat(request.into_inner())).await
    }
}

impl Services {
    async fn take_heartbeat(
        &self,
        request: go::HeartbeatRequest,
    ) -> Result<go::HeartbeatResponse, Status> {
        let namespace = self.namespace(&request.namespace)?;
        validate::executor_id(&request.executor_id)?;
        let executor: Arc<str> = Arc::from(request.executor_id.as_str());
        match heartbeat(request) {
            Ok(beat) => Ok(answer(namespace.heartbeat(beat).await.map_err(gone)?)),
            Err(status) => {
                namespace.refused_heartbeat(executor).await.map_err(gone)?;
                Err(status)
            }
        }
    }
}

/// A heartbeat, checked.
fn heartbeat(request: go::HeartbeatRequest) -> Result<Heartbeat, Status> {
    validate::metadata(request.metadata.iter())?;
    let host = host(&request)?;
    let status = match request.status() {
        go::ExecutorStatus::Active => UnaryStatus::Active,
        // Whatever else it says, known or not, it is not fit for work.
        go::ExecutorStatus::Draining
        | go::ExecutorStatus::Drained
        | go::ExecutorStatus::Invalid => UnaryStatus::Leaving,
    };
    Ok(Heartbeat {
        executor: Arc::from(request.executor_id),
        host,
        status,
        wire_status: request.status,
        metadata: Arc::new(request.metadata.into_iter().collect()),
        reports: reports(request.shard_status_reports)?,
    })
}

fn host(request: &go::HeartbeatRequest) -> Result<Arc<str>, Status> {
    match &request.host_metadata {
        Some(host) if !host.host_name.is_empty() => {
            validate::host(&host.host_name)?;
            Ok(Arc::from(host.host_name.as_str()))
        }
        Some(_) | None => Ok(host_of(&request.executor_id)),
    }
}

fn reports(reports: HashMap<String, go::ShardStatusReport>) -> Result<Vec<Report>, Status> {
    let report = |(shard, report): (String, go::ShardStatusReport)| {
        validate::key(&shard)?;
        let load = validate::load(&shard, report.shard_load)?;
        let done = report.status() == go::ShardStatus::Done;
        Ok(Report { shard: Arc::from(shard), done, load })
    };
    reports.into_iter().map(report).collect()
}

/// Revoked shards are named: to a Go client an empty map means "no news".
fn answer(answer: HeartbeatAnswer) -> go::HeartbeatResponse {
    let ready = assignments(answer.ready, go::AssignmentStatus::Ready);
    let revoked = assignments(answer.revoked, go::AssignmentStatus::Invalid);
    go::HeartbeatResponse {
        shard_assignments: ready.chain(revoked).collect(),
        migration_mode: go::MigrationMode::Onboarded.into(),
    }
}

fn assignments(
    shards: Vec<Arc<str>>,
    status: go::AssignmentStatus,
) -> impl Iterator<Item = (String, go::ShardAssignment)> {
    shards
        .into_iter()
        .map(move |shard| (shard.to_string(), go::ShardAssignment { status: status.into() }))
}
