//! Instances: told at once, told of each change, and nothing that they have.

use std::time::Duration;

use plimsoll_server::{Config, Server};
use plimsoll_wire::v1;
use plimsoll_wire::v1::sync_response::Message as FromServer;
use tempfile::TempDir;
use tonic::Code;

use super::instance::{Instance, hello};
use super::support::{client, config, eventually, in_memory, save, text};

#[tokio::test]
async fn an_instance_is_told_at_once_and_of_each_change() {
    let server = in_memory().await;
    let mut client = client(server.grpc);
    save(&mut client, "menu", 0, text(3)).await.unwrap();
    let mut instance = Instance::connect(server.grpc, "menu", "a", 0).await;
    let told = instance.policy().await;
    assert_eq!((told.revision, told.text, &*told.author), (1, text(3), "ada"));
    save(&mut client, "menu", 1, text(4)).await.unwrap();
    assert_eq!(instance.policy().await.revision, 2);
    save(&mut client, "other", 0, text(4)).await.unwrap();
    save(&mut client, "menu", 2, text(2)).await.unwrap();
    assert_eq!(instance.policy().await.text, text(2));
}

#[tokio::test]
async fn an_instance_without_a_policy_is_told_so_and_then_of_the_first() {
    let server = in_memory().await;
    let mut instance = Instance::connect(server.grpc, "menu", "a", 0).await;
    assert!(matches!(instance.next().await, Ok(FromServer::NoPolicy(_))));
    save(&mut client(server.grpc), "menu", 0, text(3)).await.unwrap();
    assert_eq!(instance.policy().await.revision, 1);
}

#[tokio::test]
async fn an_instance_that_has_the_newest_is_told_the_next_one_only() {
    let server = in_memory().await;
    let mut client = client(server.grpc);
    save(&mut client, "menu", 0, text(3)).await.unwrap();
    let mut instance = Instance::connect(server.grpc, "menu", "a", 1).await;
    save(&mut client, "menu", 1, text(4)).await.unwrap();
    assert_eq!(instance.policy().await.revision, 2, "the first one was not told");
}

#[tokio::test]
async fn an_instance_with_another_text_under_the_same_number_is_told() {
    let server = in_memory().await;
    save(&mut client(server.grpc), "menu", 0, text(3)).await.unwrap();
    let text_version = "of a store that was lost".to_owned();
    let stale = v1::SyncHello { text_version, ..hello("menu", "a", 1) };
    let mut instance = Instance::try_connect(server.grpc, stale).await.unwrap();
    instance.next().await.unwrap();
    let told = instance.policy().await;
    assert_eq!(told.revision, 1);
    let text_version = plimsoll_qalm::policy_file::version(&told.text);
    let fresh = v1::SyncHello { text_version, ..hello("menu", "b", 1) };
    let mut instance = Instance::try_connect(server.grpc, fresh).await.unwrap();
    instance.next().await.unwrap();
    save(&mut client(server.grpc), "menu", 1, text(4)).await.unwrap();
    assert_eq!(instance.policy().await.revision, 2);
    let future = hello("menu", "c", 9);
    let mut instance = Instance::try_connect(server.grpc, future).await.unwrap();
    instance.next().await.unwrap();
    assert_eq!(instance.policy().await.revision, 2, "what is stored is the truth");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_instances_are_told_whoever_comes_and_goes_after_a_restart_too() {
    let folder = TempDir::new().unwrap();
    let server = Server::start(&config(&folder)).await.unwrap();
    let mut client_ = client(server.grpc);
    save(&mut client_, "menu", 0, text(3)).await.unwrap();
    let mut instances = connect_all(&server, 0).await;
    for instance in &mut instances {
        assert_eq!(instance.policy().await.revision, 1);
    }
    save(&mut client_, "menu", 1, text(4)).await.unwrap();
    for instance in &mut instances {
        assert_eq!(instance.policy().await.revision, 2);
    }
    eventually("all are up to date", || {
        let mut client = client_.clone();
        async move {
            let list = client.list_services(v1::ListServicesRequest {}).await.unwrap();
            let menu = list.into_inner().services.into_iter().next()?;
            ((menu.instances, menu.up_to_date) == (100, 100)).then_some(())
        }
    })
    .await;
    let metrics = server.metrics.text();
    assert!(metrics.contains("plimsoll_policy_instances 100"), "{metrics}");
    assert!(metrics.contains("plimsoll_policy_apply_seconds_count 100"), "{metrics}");
    server.stop().await;
    for instance in &mut instances {
        let end = instance.next().await.unwrap_err();
        assert!(matches!(end.code(), Code::Unavailable | Code::Unknown), "{end}");
    }
    let server = Server::start(&config(&folder)).await.unwrap();
    let mut instances = connect_all(&server, 2).await;
    save(&mut client(server.grpc), "menu", 2, text(2)).await.unwrap();
    for instance in &mut instances {
        assert_eq!(instance.policy().await.revision, 3);
    }
}

async fn connect_all(server: &Server, revision: u64) -> Vec<Instance> {
    let names = (0..100).map(|number| format!("host-{number}"));
    let all = names
        .map(|name| async move { Instance::connect(server.grpc, "menu", &name, revision).await });
    futures::future::join_all(all).await
}

#[tokio::test]
async fn an_instance_that_does_not_read_is_told_the_newest_when_it_does() {
    let server = in_memory().await;
    let mut client = client(server.grpc);
    let mut instance = Instance::connect(server.grpc, "menu", "a", 0).await;
    assert!(matches!(instance.next().await, Ok(FromServer::NoPolicy(_))));
    // Far more than any window on the way holds.
    let large = "#".repeat(1024 * 1024 - 100);
    for revision in 0..20 {
        let text = format!("{}{large}\n", text(1 + revision % 4));
        save(&mut client, "menu", revision, text).await.unwrap();
    }
    let mut told = Vec::new();
    while told.last() != Some(&20) {
        told.push(instance.policy().await.revision);
    }
    assert!(told.is_sorted() && told.len() < 15, "{told:?}");
}

#[tokio::test]
async fn an_instance_that_connects_anew_takes_the_place_of_its_old_stream() {
    let server = in_memory().await;
    let mut old = Instance::connect(server.grpc, "menu", "a", 0).await;
    assert!(matches!(old.next().await, Ok(FromServer::NoPolicy(_))));
    let _new = Instance::connect(server.grpc, "menu", "a", 0).await;
    assert_eq!(old.next().await.unwrap_err().code(), Code::Aborted);
    let list = client(server.grpc).list_services(v1::ListServicesRequest {}).await.unwrap();
    assert_eq!(list.into_inner().services[0].instances, 1);
}

#[tokio::test]
async fn what_an_instance_cannot_apply_is_said_where_people_look() {
    let server = in_memory().await;
    let mut client = client(server.grpc);
    save(&mut client, "menu", 0, text(3)).await.unwrap();
    let mut instance = Instance::connect(server.grpc, "menu", "a", 0).await;
    instance.policy().await;
    save(&mut client, "menu", 1, text(4)).await.unwrap();
    instance.next().await.unwrap();
    instance.applied(2, "menu@2:1: an older version does not know that").await;
    let refused = eventually("it is told", || {
        let mut client = client.clone();
        async move {
            let request = v1::GetTrafficRequest { service: "menu".into() };
            let traffic = client.get_traffic(request).await.unwrap().into_inner();
            let instance = traffic.instances.into_iter().next()?;
            (!instance.refused.is_empty()).then_some(instance)
        }
    });
    let refused = refused.await;
    assert_eq!((refused.revision, &*refused.version), (1, "1.2.3"));
    assert!(refused.refused.contains("older version"), "{refused:?}");
    assert!(server.metrics.text().contains("plimsoll_policy_refused_total 1"));
}

#[tokio::test]
async fn instances_are_bounded_and_names_are_checked() {
    let folder = TempDir::new().unwrap();
    let mut bounded =
        Config { store: plimsoll_server::config::StoreKind::Memory, ..config(&folder) };
    bounded.policies.max_instances = 2;
    let server = Server::start(&bounded).await.unwrap();
    let first = Instance::connect(server.grpc, "menu", "a", 0).await;
    let _second = Instance::connect(server.grpc, "menu", "b", 0).await;
    let full = Instance::try_connect(server.grpc, hello("menu", "c", 0)).await.unwrap_err();
    assert_eq!(full.code(), Code::ResourceExhausted);
    assert!(full.metadata().contains_key("grpc-retry-pushback-ms"));
    drop(first);
    eventually("there is a place again", || async {
        Instance::try_connect(server.grpc, hello("menu", "c", 0)).await.ok()
    })
    .await;
    for bad in [hello("", "a", 0), hello("a/b", "a", 0), hello("menu", "", 0)] {
        let refused = Instance::try_connect(server.grpc, bad).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    }
}

#[tokio::test]
async fn a_stream_without_a_hello_is_refused() {
    let server = in_memory().await;
    let applied = v1::PolicyApplied::default();
    let message = v1::sync_request::Message::Applied(applied);
    let stream = tokio_stream::once(v1::SyncRequest { message: Some(message) });
    let refused = client(server.grpc).sync(stream).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    let never = tokio_stream::pending::<v1::SyncRequest>();
    let mut client = client(server.grpc);
    let open = tokio::time::timeout(Duration::from_secs(1), client.sync(never));
    assert!(open.await.is_err(), "it waits for the hello");
}
