//! The canned half that only Plimsoll has.

use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_wire::v1::admin_service_server::AdminService;
use plimsoll_wire::v1::{self, Balance, Drain, ExecutorLoad};
use tonic::{Request, Response, Status};

use super::{Log, at, check};

pub(super) struct AdminWire {
    log: Log,
    /// How many times loads were asked for: hosts empty a little every time.
    looks: AtomicU64,
}

type Answer<T> = Result<Response<T>, Status>;

impl AdminWire {
    pub(super) fn new(log: Log) -> Self {
        Self { log, looks: AtomicU64::new(0) }
    }
}

#[tonic::async_trait]
impl AdminService for AdminWire {
    async fn create_namespace(
        &self,
        request: Request<v1::CreateNamespaceRequest>,
    ) -> Answer<v1::CreateNamespaceResponse> {
        self.log.note(&request);
        match request.get_ref().name.as_str() {
            "demo" => Err(Status::already_exists("namespace \"demo\" already exists")),
            _ => Ok(Response::new(v1::CreateNamespaceResponse {})),
        }
    }

    async fn delete_namespace(
        &self,
        request: Request<v1::DeleteNamespaceRequest>,
    ) -> Answer<v1::DeleteNamespaceResponse> {
        self.log.note(&request);
        check(&request.get_ref().name).await?;
        Ok(Response::new(v1::DeleteNamespaceResponse {}))
    }

    async fn describe_namespace(
        &self,
        request: Request<v1::DescribeNamespaceRequest>,
    ) -> Answer<v1::DescribeNamespaceResponse> {
        self.log.note(&request);
        let name = request.into_inner().name;
        check(&name).await?;
        let conditions = match name.as_str() {
            "demo" => vec!["exec-c is silent: its lease runs for 1.2 s more".to_owned()],
            _ => vec![],
        };
        Ok(Response::new(v1::DescribeNamespaceResponse {
            frozen: name == "demo",
            name,
            r#type: "fixed".into(),
            shard_num: 1024,
            settings: settings(),
            revision: 77,
            shards: 1024,
            shards_without_owner: 1,
            shards_in_handover: 2,
            moves: 48,
            balance: Some(uneven()),
            conditions,
            leader_id: String::new(),
            leader_address: String::new(),
        }))
    }

    async fn update_settings(
        &self,
        request: Request<v1::UpdateSettingsRequest>,
    ) -> Answer<v1::UpdateSettingsResponse> {
        self.log.note(&request);
        let v1::UpdateSettingsRequest { namespace, settings: changes } = request.into_inner();
        check(&namespace).await?;
        if let Some(name) = changes.keys().find(|name| !settings().contains_key(*name)) {
            return Err(Status::invalid_argument(format!("unknown setting {name:?}")));
        }
        let settings = settings().into_iter().chain(changes).collect();
        Ok(Response::new(v1::UpdateSettingsResponse { settings }))
    }

    async fn freeze_balance(
        &self,
        request: Request<v1::FreezeBalanceRequest>,
    ) -> Answer<v1::FreezeBalanceResponse> {
        self.log.note(&request);
        check(&request.get_ref().namespace).await?;
        Ok(Response::new(v1::FreezeBalanceResponse {}))
    }

    async fn resume_balance(
        &self,
        request: Request<v1::ResumeBalanceRequest>,
    ) -> Answer<v1::ResumeBalanceResponse> {
        self.log.note(&request);
        check(&request.get_ref().namespace).await?;
        Ok(Response::new(v1::ResumeBalanceResponse {}))
    }

    async fn plan_balance(
        &self,
        request: Request<v1::PlanBalanceRequest>,
    ) -> Answer<v1::PlanBalanceResponse> {
        self.log.note(&request);
        let v1::PlanBalanceRequest { namespace, mode } = request.into_inner();
        check(&namespace).await?;
        let mode = if mode.is_empty() { "greedy".to_owned() } else { mode };
        let before = Some(uneven());
        if namespace == "empty" {
            let nothing =
                v1::PlanBalanceResponse { mode, before, after: before, ..Default::default() };
            return Ok(Response::new(nothing));
        }
        let planned = |shard: &str, from: &str, load, reason: &str| v1::PlannedMove {
            shard_key: shard.into(),
            from: from.into(),
            to: "exec-b".into(),
            load,
            reason: reason.into(),
        };
        let moves = vec![
            planned(
                "17",
                "exec-a",
                4.25,
                "shard 17 moves from exec-a to exec-b: exec-a was too hot",
            ),
            planned("5", "", 0.5, "unowned"),
        ];
        let note = |executor: &str, load, reason: &str| v1::HostNote {
            executor_id: executor.into(),
            load,
            reason: reason.into(),
        };
        let notes = vec![
            note("exec-c", 80.0, "exec-c carries 1.33 of the mean and stays: moved too recently"),
            note("exec-d", 70.0, "cooldown"),
            note("", 0.0, "stopped with the hottest host at 1.33 of the mean (stuck)"),
        ];
        let after = Some(Balance { max: 90.0, max_over_mean: 1.5, spread: 0.2, ..uneven() });
        Ok(Response::new(v1::PlanBalanceResponse { mode, moves, notes, before, after }))
    }

    async fn drain_shards(
        &self,
        request: Request<v1::DrainShardsRequest>,
    ) -> Answer<v1::DrainShardsResponse> {
        self.log.note(&request);
        check(&request.get_ref().namespace).await?;
        Ok(Response::new(v1::DrainShardsResponse {}))
    }

    async fn undrain_shards(
        &self,
        _: Request<v1::UndrainShardsRequest>,
    ) -> Answer<v1::UndrainShardsResponse> {
        Err(Status::unimplemented("smctl does not call it"))
    }

    async fn list_drains(
        &self,
        request: Request<v1::ListDrainsRequest>,
    ) -> Answer<v1::ListDrainsResponse> {
        self.log.note(&request);
        let namespace = request.into_inner().namespace;
        check(&namespace).await?;
        let stuck = if namespace == "stuck" {
            "2 shards are still there, 1 of them in handover"
        } else {
            ""
        };
        let shards = vec![
            drain("10", "", "", ""),
            drain("9", "ann", "crash-loop", "exec-a has not confirmed that it stopped"),
        ];
        let hosts = vec![drain("host-1", "ann", "disk", stuck), drain("host-9", "", "", "nothing")];
        Ok(Response::new(v1::ListDrainsResponse { shards, hosts }))
    }

    async fn explain_shard(
        &self,
        request: Request<v1::ExplainShardRequest>,
    ) -> Answer<v1::ExplainShardResponse> {
        self.log.note(&request);
        let v1::ExplainShardRequest { namespace, shard_key } = request.into_inner();
        check(&namespace).await?;
        let drained = shard_key == "drained";
        Ok(Response::new(v1::ExplainShardResponse {
            shard_key,
            phase: if drained { "releasing" } else { "owned" }.into(),
            owner: "exec-a".into(),
            generation: 12,
            smoothed_load: (!drained).then_some(4.25),
            owned_since: at(10, 0),
            because: "balance: exec-b was hot".into(),
            outlook: if drained { "" } else { "stays: moved 12 s ago, cooldown is 60 s" }.into(),
            drain: drained.then(|| {
                drain("drained", "ann", "isolating", "exec-a has not confirmed that it stopped")
            }),
        }))
    }

    async fn history(&self, request: Request<v1::HistoryRequest>) -> Answer<v1::HistoryResponse> {
        self.log.note(&request);
        check(&request.get_ref().namespace).await?;
        let event = |seconds, kind: &str, executor: &str, generation, detail: &str| v1::Event {
            at: at(seconds, 1_000_000),
            kind: kind.into(),
            shard_key: "7".into(),
            executor_id: executor.into(),
            generation,
            detail: detail.into(),
        };
        let events = vec![
            event(20, "granted", "exec-a", 12, "balance"),
            event(19, "revoked", "exec-b", 11, "move"),
            event(3, "undrained", "", 0, "by ann"),
        ];
        Ok(Response::new(v1::HistoryResponse { events }))
    }

    async fn get_loads(
        &self,
        request: Request<v1::GetLoadsRequest>,
    ) -> Answer<v1::GetLoadsResponse> {
        self.log.note(&request);
        let v1::GetLoadsRequest { namespace, hottest_shards, all_shards, .. } =
            request.into_inner();
        check(&namespace).await?;
        let look = self.looks.fetch_add(1, Ordering::SeqCst);
        let left = if namespace == "stuck" { 2 } else { 2_u64.saturating_sub(look) };
        let shards = if all_shards || hottest_shards > 0 { owned_loads() } else { vec![] };
        Ok(Response::new(v1::GetLoadsResponse {
            balance: Some(uneven()),
            executors: vec![
                executor("exec-b", "host-2", "active", 30.0, 100),
                executor("exec-a", "host-1", "active", 120.0, left),
                executor("exec-c", "host-3", "silent", 30.0, 3),
            ],
            shards,
            moves: 48,
            ..Default::default()
        }))
    }
}

fn settings() -> std::collections::HashMap<String, String> {
    [
        ("load_balancing_mode", "greedy"),
        ("load_balancing_greedy.per_shard_cooldown", "60s"),
        ("load_balancing_greedy.hysteresis_upper_band", "1.2"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

fn uneven() -> Balance {
    Balance {
        hosts: 3,
        mean: 60.0,
        max: 120.0,
        min: 30.0,
        max_over_mean: 2.0,
        spread: 0.612,
        measured: 0.75,
    }
}

fn drain(name: &str, by: &str, reason: &str, waiting_for: &str) -> Drain {
    Drain {
        name: name.into(),
        drained_at: at(0, 0),
        drained_by: by.into(),
        reason: reason.into(),
        waiting_for: waiting_for.into(),
    }
}

fn executor(id: &str, host: &str, status: &str, load: f64, shards: u64) -> ExecutorLoad {
    ExecutorLoad {
        executor_id: id.into(),
        host: host.into(),
        status: status.into(),
        load,
        shards,
        last_heartbeat: at(5, 0),
        protocol: "session".into(),
        capacity: 1.0,
        silent_ms: 200,
        ..ExecutorLoad::default()
    }
}

fn owned_loads() -> Vec<v1::OwnedLoad> {
    let shard = |key: &str, executor: &str, smoothed_load| v1::OwnedLoad {
        shard_key: key.into(),
        executor_id: executor.into(),
        smoothed_load,
        ..Default::default()
    };
    vec![
        shard("17", "exec-a", Some(48.5)),
        shard("2", "exec-b", Some(0.125)),
        shard("a,b", "", None),
    ]
}
