//! What instances see, summed, and what an edit would have done with it.

use std::time::Duration;

use plimsoll_server::Server;
use plimsoll_wire::v1;
use plimsoll_wire::v1::sync_request::Message as ToServer;
use tonic::Code;

use super::instance::Instance;
use super::support::{Client, client, eventually, in_memory, save};

fn seen(endpoint: &str, caller: &str, level: u32, admitted: u64, shed: u64) -> v1::Traffic {
    v1::Traffic {
        endpoint: endpoint.to_owned(),
        caller: caller.to_owned(),
        level,
        rule: if caller == "checkout" { "caller" } else { "default" }.to_owned(),
        admitted,
        shed,
        queue_wait_p50: Some(prost_types::Duration { seconds: 0, nanos: 2_000_000 }),
        queue_wait_p99: Some(prost_types::Duration { seconds: 0, nanos: 9_000_000 }),
        ..v1::Traffic::default()
    }
}

async fn observed(instance: &Instance, traffic: Vec<v1::Traffic>) {
    let queue = v1::QueueState {
        group: "orders".to_owned(),
        state: "shed_internal".to_owned(),
        limit: 8,
        in_flight: 3,
        ..v1::QueueState::default()
    };
    let over = Some(prost_types::Duration { seconds: 0, nanos: 0 });
    let observation = v1::Observation { over, traffic, queues: vec![queue] };
    instance.send(ToServer::Observation(observation)).await;
}

/// Two instances that have seen something.
async fn busy(server: &Server) -> (Instance, Instance) {
    let first = Instance::connect(server.grpc, "menu", "a", 0).await;
    let second = Instance::connect(server.grpc, "menu", "b", 0).await;
    observed(&first, vec![seen("/a", "ads", 3, 600, 150), seen("/a", "checkout", 2, 300, 0)]).await;
    observed(&second, vec![seen("/a", "ads", 3, 200, 50)]).await;
    (first, second)
}

async fn traffic(client: &Client) -> Option<v1::GetTrafficResponse> {
    let request = v1::GetTrafficRequest { service: "menu".into() };
    Some(client.clone().get_traffic(request).await.ok()?.into_inner())
}

/// Both have been heard.
async fn all(client: &Client) -> v1::GetTrafficResponse {
    eventually("both were heard", || async {
        let traffic = traffic(client).await?;
        let requests: u64 = traffic.traffic.iter().map(|it| it.admitted + it.shed).sum();
        (requests == 1300).then_some(traffic)
    })
    .await
}

#[tokio::test]
async fn what_instances_see_is_summed_by_endpoint_caller_and_level() {
    let server = in_memory().await;
    let client = client(server.grpc);
    let _instances = busy(&server).await;
    let traffic = all(&client).await;
    let rows: Vec<_> =
        traffic.traffic.iter().map(|it| (&*it.caller, it.admitted, it.shed)).collect();
    assert_eq!(rows, [("ads", 800, 200), ("checkout", 300, 0)], "the least classified first");
    assert_eq!(traffic.traffic[0].queue_wait_p99.unwrap().nanos, 9_000_000);
    let instances: Vec<_> = traffic.instances.iter().map(|it| &*it.instance).collect();
    assert_eq!(instances, ["a", "b"]);
    assert_eq!(traffic.instances[0].queues[0].state, "shed_internal");
    let levels = traffic.slices.iter().flat_map(|slice| &slice.levels);
    assert_eq!(levels.map(|it| it.admitted + it.shed).sum::<u64>(), 1300);
    assert!(traffic.slices.iter().any(|slice| slice.limit == 16 && slice.in_flight == 6));
    let list = client.clone().list_services(v1::ListServicesRequest {}).await.unwrap().into_inner();
    assert_eq!((list.services[0].instances, list.services[0].unclassified_callers), (2, 1));
    let missing = v1::GetTrafficRequest { service: "nobody".into() };
    let missing = client.clone().get_traffic(missing).await.unwrap_err();
    assert_eq!(missing.code(), Code::NotFound);
}

#[tokio::test]
async fn a_preview_says_what_an_edit_would_have_done() {
    let server = in_memory().await;
    let mut client = client(server.grpc);
    let before = "[[rules]]\ncaller = \"checkout\"\ncriticality = 2\n";
    save(&mut client, "menu", 0, before).await.unwrap();
    let _instances = busy(&server).await;
    all(&client).await;
    let text = format!("{before}[[rules]]\ncaller = \"ads\"\ncriticality = 4\n");
    let request = v1::PreviewPolicyRequest { service: "menu".into(), text };
    let preview = client.preview_policy(request).await.unwrap().into_inner();
    let change = &preview.changes[0];
    assert_eq!((&*change.caller, change.from_level, change.to_level), ("ads", 3, 4));
    assert_eq!((preview.changes.len(), &*change.to_enforcement), (1, "enforce"));
    let of = |level: usize| &preview.shed[level - 1];
    assert_eq!((of(3).requests, of(3).shed, of(3).would_have, of(3).would_shed), (1000, 200, 0, 0));
    assert_eq!((of(4).requests, of(4).would_have, of(4).would_shed), (0, 1000, 200));
    let broken = v1::PreviewPolicyRequest { service: "menu".into(), text: "x = 1".into() };
    let refused = client.preview_policy(broken).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    let request = v1::PolicyHistoryRequest { service: "menu".into(), limit: 0 };
    let history = client.policy_history(request).await.unwrap().into_inner().revisions;
    assert_eq!(history.len(), 1, "nothing was saved");
}

#[tokio::test]
async fn an_instance_that_makes_names_up_or_talks_too_much_does_no_harm() {
    let server = in_memory().await;
    let client = client(server.grpc);
    let instance = Instance::connect(server.grpc, "menu", "a", 0).await;
    let made_up = (0..5000).map(|n| seen(&format!("/{n}"), "liar", 4, 1, 0)).collect();
    observed(&instance, made_up).await;
    for _ in 0..20 {
        observed(&instance, vec![seen("/a", "liar", 4, 1_000_000, 0)]).await;
    }
    eventually("they were dropped", || async {
        let text = server.metrics.text();
        text.contains("plimsoll_policy_observations_dropped_total 20").then_some(())
    })
    .await;
    let traffic = traffic(&client).await.unwrap();
    assert!(traffic.traffic.len() <= 1001, "{}", traffic.traffic.len());
    assert_eq!(traffic.traffic.iter().map(|it| it.admitted).sum::<u64>(), 5000);
    let others = traffic.traffic.iter().find(|it| it.endpoint == "(others)").unwrap();
    assert_eq!((&*others.caller, others.admitted), ("(others)", 4000));
    tokio::time::sleep(Duration::from_millis(1100)).await;
    observed(&instance, vec![seen("/a", "liar", 4, 7, 0)]).await;
    eventually("a second later it is heard again", || async {
        let traffic = self::traffic(&client).await?;
        (traffic.traffic.iter().map(|it| it.admitted).sum::<u64>() == 5007).then_some(())
    })
    .await;
}
