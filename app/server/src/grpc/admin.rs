//! `AdminService`: what operators need beyond the Go wire.

use std::collections::HashMap;
use std::sync::Arc;

use plimsoll_ownership::namespace::{Namespace, Order, Planned};
use plimsoll_ownership::record::DrainRecord;
use plimsoll_placement::policy::{Mode, Policy};
use plimsoll_placement::time::Time;
use plimsoll_store::Error as StoreError;
use plimsoll_wire::status::{TypedError, plain};
use plimsoll_wire::v1;
use plimsoll_wire::v1::admin_service_server::AdminService;
use tonic::{Request, Response, Status};

use super::support::{gone, invalid, why};
use super::{Services, describe, validate};
use crate::history::{Wanted, timestamp};
use crate::namespaces::{Error as NamespaceError, NewNamespace};

/// Events shown if the caller names no number.
const EVENTS: u32 = 100;

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl AdminService for Services {
    async fn create_namespace(
        &self,
        request: Request<v1::CreateNamespaceRequest>,
    ) -> Answer<v1::CreateNamespaceResponse> {
        let new = new_namespace(request.into_inner());
        let made = async {
            self.namespaces.create(new).await.map_err(namespace_error)?;
            Ok(v1::CreateNamespaceResponse {})
        };
        self.counted("CreateNamespace", made).await
    }

    async fn delete_namespace(
        &self,
        request: Request<v1::DeleteNamespaceRequest>,
    ) -> Answer<v1::DeleteNamespaceResponse> {
        let name = request.into_inner().name;
        let deleted = async {
            self.namespace(&name)?;
            self.namespaces.delete(&name).await.map_err(namespace_error)?;
            Ok(v1::DeleteNamespaceResponse {})
        };
        self.counted("DeleteNamespace", deleted).await
    }

    async fn describe_namespace(
        &self,
        request: Request<v1::DescribeNamespaceRequest>,
    ) -> Answer<v1::DescribeNamespaceResponse> {
        let name = request.into_inner().name;
        let description = async {
            let handle = self.namespace(&name)?;
            let mut answer = handle.read(describe_all).await.map_err(gone)?;
            answer.revision = handle.board.revision();
            self.tell_leader(&mut answer);
            Ok(answer)
        };
        self.counted("DescribeNamespace", description).await
    }

    async fn update_settings(
        &self,
        request: Request<v1::UpdateSettingsRequest>,
    ) -> Answer<v1::UpdateSettingsResponse> {
        let v1::UpdateSettingsRequest { namespace, settings } = request.into_inner();
        self.counted("UpdateSettings", self.change_settings(&namespace, settings)).await
    }

    async fn freeze_balance(
        &self,
        request: Request<v1::FreezeBalanceRequest>,
    ) -> Answer<v1::FreezeBalanceResponse> {
        let frozen = async {
            let why = why(request.metadata())?;
            self.order(&request.get_ref().namespace, Order::Freeze(true), why).await?;
            Ok(v1::FreezeBalanceResponse {})
        };
        self.counted("FreezeBalance", frozen).await
    }

    async fn resume_balance(
        &self,
        request: Request<v1::ResumeBalanceRequest>,
    ) -> Answer<v1::ResumeBalanceResponse> {
        let resumed = async {
            let why = why(request.metadata())?;
            self.order(&request.get_ref().namespace, Order::Freeze(false), why).await?;
            Ok(v1::ResumeBalanceResponse {})
        };
        self.counted("ResumeBalance", resumed).await
    }

    async fn plan_balance(
        &self,
        request: Request<v1::PlanBalanceRequest>,
    ) -> Answer<v1::PlanBalanceResponse> {
        let v1::PlanBalanceRequest { namespace, mode } = request.into_inner();
        let planned = async {
            let handle = self.namespace(&namespace)?;
            let mode = parse_mode(&mode)?;
            handle.read(move |now, it| plan(it, &it.dry_run(now, mode))).await.map_err(gone)
        };
        self.counted("PlanBalance", planned).await
    }

    async fn drain_shards(
        &self,
        request: Request<v1::DrainShardsRequest>,
    ) -> Answer<v1::DrainShardsResponse> {
        let v1::DrainShardsRequest { namespace, shard_keys, reason, drained_by } =
            request.into_inner();
        let drained = async {
            let handle = self.namespace(&namespace)?;
            validate::drain_keys(&shard_keys)?;
            validate::text("reason", &reason)?;
            validate::text("drained_by", &drained_by)?;
            let drain = DrainRecord { drained_at_ms: handle.clock.wall_ms(), drained_by, reason };
            let keys = shard_keys.into_iter().map(Arc::from).collect();
            handle.order(Order::DrainShards { keys, drain }).await.map_err(gone)?;
            Ok(v1::DrainShardsResponse {})
        };
        self.counted("DrainShards", drained).await
    }

    async fn undrain_shards(
        &self,
        request: Request<v1::UndrainShardsRequest>,
    ) -> Answer<v1::UndrainShardsResponse> {
        let why = why(request.metadata());
        let v1::UndrainShardsRequest { namespace, shard_keys } = request.into_inner();
        let undrained = async {
            let why = why?;
            validate::drain_keys(&shard_keys)?;
            let keys = shard_keys.into_iter().map(Arc::from).collect();
            let changed = self.order(&namespace, Order::UndrainShards { keys }, why).await?;
            let undrained_shard_keys = changed.iter().map(ToString::to_string).collect();
            Ok(v1::UndrainShardsResponse { undrained_shard_keys })
        };
        self.counted("UndrainShards", undrained).await
    }

    async fn list_drains(
        &self,
        request: Request<v1::ListDrainsRequest>,
    ) -> Answer<v1::ListDrainsResponse> {
        let name = request.into_inner().namespace;
        let drains =
            async { self.namespace(&name)?.read(|_, it| list_drains(it)).await.map_err(gone) };
        self.counted("ListDrains", drains).await
    }

    async fn explain_shard(
        &self,
        request: Request<v1::ExplainShardRequest>,
    ) -> Answer<v1::ExplainShardResponse> {
        let v1::ExplainShardRequest { namespace, shard_key } = request.into_inner();
        let explained = async {
            let (handle, key) = (self.namespace(&namespace)?, shard_key.clone());
            let found = handle.read(move |now, it| explain(now, it, &key)).await.map_err(gone)?;
            found.ok_or_else(|| TypedError::shard_not_found(&namespace, &shard_key).into())
        };
        self.counted("ExplainShard", explained).await
    }

    async fn history(&self, request: Request<v1::HistoryRequest>) -> Answer<v1::HistoryResponse> {
        let request = request.into_inner();
        let events = async {
            let handle = self.namespace(&request.namespace)?;
            let limit = if request.limit == 0 { EVENTS } else { request.limit } as usize;
            let wanted = Wanted::of(&request);
            let events = handle.history.told(handle.clock.epoch_ms(), limit, &wanted);
            Ok(v1::HistoryResponse { events })
        };
        self.counted("History", events).await
    }

    async fn get_loads(
        &self,
        request: Request<v1::GetLoadsRequest>,
    ) -> Answer<v1::GetLoadsResponse> {
        let request = request.into_inner();
        let loads = async {
            let handle = self.namespace(&request.namespace)?;
            handle.read(move |now, it| get_loads(now, it, &request)).await.map_err(gone)
        };
        self.counted("GetLoads", loads).await
    }
}

impl Services {
    /// This server leads what it describes.
    fn tell_leader(&self, answer: &mut v1::DescribeNamespaceResponse) {
        let Some(servers) = &self.servers else { return };
        answer.leader_id = servers.elector.me.to_string();
        answer.leader_address = servers.elector.about.address.clone();
        answer.conditions.extend(servers.condition());
    }

    async fn order(
        &self,
        namespace: &str,
        order: Order,
        why: String,
    ) -> Result<Vec<Arc<str>>, Status> {
        self.namespace(namespace)?.order_because(order, why).await.map_err(gone)
    }

    async fn change_settings(
        &self,
        namespace: &str,
        changes: HashMap<String, String>,
    ) -> Result<v1::UpdateSettingsResponse, Status> {
        let handle = self.namespace(namespace)?;
        // What is read here must still be so when it is written.
        let _turn = handle.settings_turn.lock().await;
        let mut settings = handle.read(|_, it| it.settings().clone()).await.map_err(gone)?;
        let mut entries: Vec<_> = changes.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        entries.sort_unstable();
        settings.set_all(entries).map_err(invalid)?;
        handle.order(Order::ChangeSettings(Box::new(settings))).await.map_err(gone)?;
        let settings = handle.read(|_, it| describe::settings(it)).await.map_err(gone)?;
        Ok(v1::UpdateSettingsResponse { settings })
    }
}

fn new_namespace(request: v1::CreateNamespaceRequest) -> NewNamespace {
    let mut settings: Vec<_> = request.settings.into_iter().collect();
    settings.sort_unstable();
    let grants = request.initial_grants.into_iter();
    NewNamespace {
        name: request.name,
        kind: request.r#type,
        shards: request.shard_num,
        settings,
        grants: grants.map(|grant| (grant.shard_key, grant.executor_id)).collect(),
        frozen: request.frozen,
    }
}

/// By value, since it is handed to `map_err`.
#[allow(clippy::needless_pass_by_value)]
fn namespace_error(error: NamespaceError) -> Status {
    let text = plain(&error.to_string());
    match error {
        NamespaceError::Store(StoreError::Exists { .. }) => Status::already_exists(text),
        NamespaceError::Store(StoreError::NotFound { .. }) => Status::not_found(text),
        NamespaceError::Store(_) => Status::internal(text),
        NamespaceError::TooSoon { .. } => Status::failed_precondition(text),
        NamespaceError::Leaving => Status::unavailable(text),
        NamespaceError::Name(_)
        | NamespaceError::Type(_)
        | NamespaceError::Shards(_)
        | NamespaceError::ShardsOfEphemeral
        | NamespaceError::Grant(_)
        | NamespaceError::Settings(_) => Status::invalid_argument(text),
    }
}

fn parse_mode(name: &str) -> Result<Option<Mode>, Status> {
    if name.is_empty() {
        return Ok(None);
    }
    let unknown =
        || invalid(format!("{name:?} is not a mode: it must be ring, naive, greedy or adaptive"));
    Mode::parse(name).ok_or_else(unknown).map(Some)
}

fn describe_all(now: Time, namespace: &Namespace) -> v1::DescribeNamespaceResponse {
    let (kind, shard_num) = describe::kind(namespace.kind());
    let census = namespace.census();
    v1::DescribeNamespaceResponse {
        name: namespace.name().to_string(),
        r#type: kind.to_owned(),
        shard_num: u64::from(shard_num),
        settings: describe::settings(namespace),
        frozen: namespace.is_frozen(),
        revision: 0,
        shards: census.shards as u64,
        shards_without_owner: census.unowned as u64,
        shards_in_handover: census.in_handover as u64,
        moves: namespace.stats().moves,
        balance: Some(describe::balance(&namespace.balance(now))),
        conditions: namespace.conditions(now),
        leader_id: String::new(),
        leader_address: String::new(),
    }
}

fn plan(namespace: &Namespace, planned: &Planned) -> v1::PlanBalanceResponse {
    let name = |index: u32| planned.executors.get(index as usize).map_or("", |id| &**id);
    let report = &planned.plan.report;
    // The mode may be another than the namespace's own.
    let policy = &Policy { mode: planned.mode, ..namespace.settings().policy };
    let moves = planned.plan.moves.iter().zip(&planned.moved).map(|(step, key)| {
        let from = step.from.map(|from| name(from.0));
        let to = name(step.to.0);
        v1::PlannedMove {
            shard_key: key.to_string(),
            from: from.unwrap_or_default().to_owned(),
            to: to.to_owned(),
            load: step.load,
            reason: step.sentence(key, from, to),
        }
    });
    let notes = report.held.iter().map(|held| v1::HostNote {
        executor_id: name(held.executor.0).to_owned(),
        load: held.load,
        reason: held.sentence(name(held.executor.0), report.after.mean, policy),
    });
    let stopped = report.stopped.map(|stopped| v1::HostNote {
        executor_id: String::new(),
        load: 0.0,
        reason: stopped.sentence(&report.after, policy),
    });
    v1::PlanBalanceResponse {
        mode: planned.mode.as_str().to_owned(),
        moves: moves.collect(),
        notes: notes.chain(stopped).collect(),
        before: Some(describe::balance(&report.before)),
        after: Some(describe::balance(&report.after)),
    }
}

fn list_drains(namespace: &Namespace) -> v1::ListDrainsResponse {
    let shard =
        |(key, drain): (&Arc<str>, &DrainRecord)| describe::drain(key, drain, String::new());
    let host = |(host, drain): (&Arc<str>, &DrainRecord)| {
        describe::drain(host, drain, namespace.drain_waits_for(host).unwrap_or_default())
    };
    v1::ListDrainsResponse {
        shards: namespace.drained_shards().iter().map(shard).collect(),
        hosts: namespace.drained_hosts().iter().map(host).collect(),
    }
}

fn explain(now: Time, namespace: &Namespace, key: &str) -> Option<v1::ExplainShardResponse> {
    let it = namespace.explain(now, key)?;
    Some(v1::ExplainShardResponse {
        shard_key: key.to_owned(),
        phase: it.phase.to_owned(),
        owner: it.owner.map(|owner| owner.to_string()).unwrap_or_default(),
        generation: it.generation,
        smoothed_load: it.smoothed_load,
        owned_since: Some(timestamp(namespace.wall_ms(it.since))),
        because: it.because,
        outlook: it.outlook,
        drain: it.drain.map(|drain| describe::drain(key, &drain, String::new())),
    })
}

fn get_loads(now: Time, it: &Namespace, request: &v1::GetLoadsRequest) -> v1::GetLoadsResponse {
    let mut shards = Vec::new();
    if request.all_shards || request.hottest_shards > 0 {
        shards = describe::owned_loads(now, it);
    }
    if !request.all_shards {
        let load = |shard: &v1::OwnedLoad| shard.smoothed_load.unwrap_or(-1.0);
        shards.sort_by(|a, b| load(b).total_cmp(&load(a)));
        shards.truncate(request.hottest_shards as usize);
    }
    v1::GetLoadsResponse {
        balance: Some(describe::balance(&it.balance(now))),
        executors: describe::executor_loads(now, it, request.largest_per_executor as usize),
        shards,
        moves: it.stats().moves,
        at: Some(timestamp(it.wall_ms(now))),
        cooldown: Some(describe::duration(it.settings().policy.per_shard_cooldown())),
    }
}
