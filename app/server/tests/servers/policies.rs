//! Policies among several servers: saved at one, pushed by another, and what instances
//! see at any of them is told by all.

use std::time::Duration;

use plimsoll_wire::v1;
use plimsoll_wire::v1::policy_service_client::PolicyServiceClient;
use plimsoll_wire::v1::sync_request::Message as ToServer;
use plimsoll_wire::v1::sync_response::Message as FromServer;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Streaming};

use super::etcd::Etcd;
use super::fleet::{self, SOON, eventually};
use super::process::Process;

fn policies(address: impl std::fmt::Display) -> PolicyServiceClient<Channel> {
    PolicyServiceClient::new(fleet::channel(address))
}

async fn save(address: impl std::fmt::Display, after: u64) -> Result<u64, tonic::Status> {
    let request = v1::SetPolicyRequest {
        service: "menu".to_owned(),
        text: format!("default_criticality = {}\n", 1 + after % 4),
        expected_revision: after,
        ..v1::SetPolicyRequest::default()
    };
    Ok(policies(address).set_policy(request).await?.into_inner().revision)
}

struct Instance {
    requests: mpsc::Sender<v1::SyncRequest>,
    answers: Streaming<v1::SyncResponse>,
}

impl Instance {
    async fn connect(address: impl std::fmt::Display, name: &str, revision: u64) -> Self {
        let (requests, sent) = mpsc::channel(16);
        let hello = v1::SyncHello {
            service: "menu".to_owned(),
            instance: name.to_owned(),
            revision,
            ..v1::SyncHello::default()
        };
        send(&requests, ToServer::Hello(hello)).await;
        let answers = policies(address).sync(ReceiverStream::new(sent)).await.unwrap();
        Self { requests, answers: answers.into_inner() }
    }

    /// Waits for that revision and answers that it holds.
    async fn until(&mut self, revision: u64) {
        let told = async {
            while let Some(answer) = self.answers.message().await.unwrap() {
                if let Some(FromServer::Policy(policy)) = answer.message
                    && policy.revision == revision
                {
                    return;
                }
            }
        };
        tokio::time::timeout(SOON, told).await.unwrap_or_else(|_| panic!("{revision} never came"));
        let applied = v1::PolicyApplied { revision, refused: String::new() };
        send(&self.requests, ToServer::Applied(applied)).await;
    }
}

async fn send(to: &mpsc::Sender<v1::SyncRequest>, message: ToServer) {
    to.send(v1::SyncRequest { message: Some(message) }).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_saved_at_one_server_is_pushed_by_every_other() {
    let etcd = Etcd::start();
    let servers = fleet::start_all(&etcd, 3, &[]).await;
    let all: Vec<_> = servers.iter().map(|server| server.grpc).collect();
    let mut instances = Vec::new();
    for (number, address) in all.iter().enumerate() {
        instances.push(Instance::connect(address, &format!("host-{number}"), 0).await);
    }
    for after in 0..9 {
        assert_eq!(save(all[after as usize % 3], after).await.unwrap(), after + 1);
        for instance in &mut instances {
            instance.until(after + 1).await;
        }
        let late = save(all[(after as usize + 1) % 3], after).await.unwrap_err();
        assert_eq!(late.code(), Code::Aborted, "the others know at once");
    }
    // An instance that goes to another server is told nothing that it has.
    let mut moved = Instance::connect(all[1], "host-0", 9).await;
    save(all[2], 9).await.unwrap();
    moved.until(10).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_save_at_different_servers_each_revision_has_one_winner() {
    let etcd = Etcd::start();
    let servers = fleet::start_all(&etcd, 3, &[]).await;
    let writers = (0..30_usize).map(|writer| {
        let address = servers[writer % 3].grpc;
        tokio::spawn(async move {
            let mut after = 0;
            loop {
                match save(address, after).await {
                    Ok(revision) => return revision,
                    Err(conflict) if conflict.code() == Code::Aborted => {
                        let present = conflict.metadata().get("plimsoll-present-revision");
                        after = present.unwrap().to_str().unwrap().parse().unwrap();
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        })
    });
    let won = futures::future::join_all(writers).await.into_iter().map(Result::unwrap);
    let mut won: Vec<_> = won.collect();
    won.sort_unstable();
    assert_eq!(won, (1..=30).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_instances_see_is_told_by_any_server_and_who_hangs_is_named() {
    let etcd = Etcd::start();
    let (first, second) = (Process::start(&etcd), Process::start(&etcd));
    let here = Instance::connect(&first.grpc, "a", 0).await;
    let there = Instance::connect(&second.grpc, "b", 0).await;
    for instance in [&here, &there] {
        let traffic = vec![v1::Traffic {
            endpoint: "/a".to_owned(),
            level: 3,
            rule: "default".to_owned(),
            admitted: 100,
            ..v1::Traffic::default()
        }];
        let observation = v1::Observation { over: None, traffic, queues: Vec::new() };
        send(&instance.requests, ToServer::Observation(observation)).await;
    }
    let request = || v1::GetTrafficRequest { service: "menu".to_owned() };
    let seen = eventually(SOON, "both are told", || async {
        let traffic = policies(&first.grpc).get_traffic(request()).await.ok()?.into_inner();
        let admitted: u64 = traffic.traffic.iter().map(|it| it.admitted).sum();
        (admitted == 200 && traffic.instances.len() == 2).then_some(traffic)
    });
    assert!(seen.await.servers_left_out.is_empty());
    let list = policies(&second.grpc).list_services(v1::ListServicesRequest {}).await.unwrap();
    let menu = &list.into_inner().services[0];
    assert_eq!((menu.instances, menu.unclassified_callers), (2, 1));
    second.stop();
    let begun = std::time::Instant::now();
    let alone = policies(&first.grpc).get_traffic(request()).await.unwrap().into_inner();
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(alone.servers_left_out, [&*second.grpc]);
    assert_eq!(alone.instances.len(), 1);
    second.go_on();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_of_etcd_keeps_nobody_from_the_policy_that_is_known() {
    let mut etcd = Etcd::start();
    let servers = fleet::start_all(&etcd, 2, &[]).await;
    let all: Vec<_> = servers.iter().map(|server| server.grpc).collect();
    let mut early = Instance::connect(all[0], "a", 0).await;
    save(all[1], 0).await.unwrap();
    early.until(1).await;
    etcd.kill();
    let mut late = Instance::connect(all[0], "b", 0).await;
    late.until(1).await;
    let refused = save(all[1], 1).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable, "{refused}");
    etcd.restart();
    let saved = eventually(SOON, "it can be saved again", || async {
        match save(all[1], 1).await {
            Ok(revision) => Some(revision),
            // An earlier try may have passed though its answer was lost.
            Err(status) => (status.code() == Code::Aborted).then_some(2),
        }
    });
    assert_eq!(saved.await, 2);
    early.until(2).await;
    late.until(2).await;
}
