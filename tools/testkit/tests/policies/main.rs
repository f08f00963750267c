//! Services that have their policy from a real server: an edit holds everywhere, and
//! how soon.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what a test expects not to fail, fails it"
)]

mod service;

use std::time::{Duration, Instant};

use plimsoll_qalm::PolicyServer;
use plimsoll_qalm::policy_server::Origin;
use plimsoll_testkit::Cluster;
use plimsoll_wire::v1::policy_service_client::PolicyServiceClient;
use plimsoll_wire::v1::{GetTrafficRequest, SetPolicyRequest};

use service::{Load, Service, in_time};

/// A policy that gives everybody this level.
fn level(level: u8) -> String {
    format!("default_criticality = {level}\n")
}

async fn save(cluster: &Cluster, service: &str, text: &str, follows: u64) -> u64 {
    let mut client = PolicyServiceClient::new(cluster.channel());
    let request = SetPolicyRequest {
        service: service.to_owned(),
        text: text.to_owned(),
        expected_revision: follows,
        author: "ada".to_owned(),
        ..SetPolicyRequest::default()
    };
    client.set_policy(request).await.unwrap().into_inner().revision
}

#[tokio::test]
async fn what_is_saved_holds_in_every_instance_and_what_they_see_is_known() {
    let cluster = Cluster::start([]).await.unwrap();
    assert_eq!(save(&cluster, "menu", &level(2), 0).await, 1);
    let follow = |name: &str| PolicyServer::new(&cluster.url(), "menu").instance(name);
    let services = ["a", "b", "c"].map(|name| Service::new(follow(name)));
    for service in &services {
        service.until(|it| it.revision == 1).await;
        assert_eq!(service.level("app").await, "2");
    }
    assert_eq!(save(&cluster, "menu", &level(4), 1).await, 2);
    for service in &services {
        service.until(|it| it.revision == 2).await;
        assert_eq!(service.level("app").await, "4");
    }
    for service in &services {
        service.until(|it| it.observations > 0).await;
    }
    let mut client = PolicyServiceClient::new(cluster.channel());
    let seen = in_time(async {
        loop {
            let request = GetTrafficRequest { service: "menu".to_owned() };
            let seen = client.get_traffic(request).await.unwrap().into_inner();
            if seen.traffic.iter().map(|row| row.admitted).sum::<u64>() == 6 {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
    assert_eq!(seen.instances.len(), 3);
    assert!(seen.instances.iter().all(|it| it.revision == 2 && it.refused.is_empty()));
    assert!(seen.traffic.iter().all(|row| row.caller == "app" && row.endpoint == "GET /menu"));
}

#[tokio::test]
async fn a_server_that_restarts_finds_its_services_again_and_they_miss_nothing() {
    let mut cluster = Cluster::start([]).await.unwrap();
    save(&cluster, "menu", &level(2), 0).await;
    let service = Service::new(PolicyServer::new(&cluster.url(), "menu"));
    service.until(|it| it.revision == 1).await;
    cluster.stop().await;
    service.until(|it| it.server.is_none()).await;
    assert_eq!(service.level("app").await, "2");
    cluster.resume().await;
    save(&cluster, "menu", &level(4), 1).await;
    let status = service.until(|it| it.revision == 2).await;
    assert_eq!((status.origin, service.level("app").await.as_str()), (Origin::Server, "4"));
}

#[tokio::test]
async fn a_store_that_was_made_anew_is_believed() {
    let old = Cluster::start_in_memory([]).await.unwrap();
    save(&old, "menu", &level(2), 0).await;
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("policy.toml");
    let first = Service::new(PolicyServer::new(&old.url(), "menu").keep(&kept));
    first.until(|it| it.is_kept == Some(true)).await;
    drop((first, old));
    // Revision 1 again, of another text.
    let new = Cluster::start_in_memory([]).await.unwrap();
    save(&new, "menu", &level(4), 0).await;
    let second = Service::new(PolicyServer::new(&new.url(), "menu").keep(&kept));
    second.until(|it| it.origin == Origin::Server).await;
    assert_eq!(second.level("app").await, "4");
}

/// `cargo test -p plimsoll-testkit --test policies -- --ignored --nocapture --test-threads 1`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a figure: run it alone"]
async fn figure_from_an_edit_to_its_effect_with_a_hundred_services() {
    let cluster = Cluster::start([]).await.unwrap();
    let names: Vec<String> = (0..100).map(|n| format!("service-{n}")).collect();
    let mut services = Vec::new();
    for name in &names {
        save(&cluster, name, &level(2), 0).await;
        services.push(Service::new(PolicyServer::new(&cluster.url(), name)));
    }
    for service in &services {
        service.until(|it| it.revision == 1).await;
    }
    let load = Load::on(&services);
    let mut spans = Vec::new();
    for revision in 1..=5 {
        for (name, service) in names.iter().zip(&services) {
            let begun = Instant::now();
            save(&cluster, name, &level(2 + (revision % 2) as u8), revision).await;
            service.until(|it| it.revision == revision + 1).await;
            spans.push(begun.elapsed());
        }
    }
    let (sent, lost) = load.stop().await;
    report("100 services, one instance each, 500 edits", &mut spans, sent, lost);
    assert_eq!(lost, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a figure: run it alone"]
async fn figure_from_an_edit_to_its_effect_in_a_hundred_instances() {
    let cluster = Cluster::start([]).await.unwrap();
    save(&cluster, "menu", &level(2), 0).await;
    let services: Vec<Service> =
        (0..100).map(|_| Service::new(PolicyServer::new(&cluster.url(), "menu"))).collect();
    for service in &services {
        service.until(|it| it.revision == 1).await;
    }
    let load = Load::on(&services);
    let mut spans = Vec::new();
    for revision in 1..=20 {
        let begun = Instant::now();
        save(&cluster, "menu", &level(2 + (revision % 2) as u8), revision).await;
        let all = services.iter().map(|service| async move {
            service.until(|it| it.revision == revision + 1).await;
            begun.elapsed()
        });
        spans.extend(futures::future::join_all(all).await);
    }
    let (sent, lost) = load.stop().await;
    report("one service, 100 instances, 20 edits", &mut spans, sent, lost);
    assert_eq!(lost, 0);
}

fn report(what: &str, spans: &mut [Duration], sent: u64, lost: u64) {
    spans.sort_unstable();
    let at = |part: f64| spans[((spans.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e3;
    println!(
        "{what}: edit to effect p50 {:.1} ms, p99 {:.1} ms, longest {:.1} ms; {sent} requests \
         meanwhile, {lost} lost",
        at(0.5),
        at(0.99),
        at(1.0)
    );
}
