//! The last policy is on disk, and holds at the next start.

use std::fs;

use plimsoll_qalm::PolicyServer;
use plimsoll_qalm::policy_file::Loaded;
use plimsoll_qalm::policy_server::Origin;

use crate::harness::*;

#[tokio::test]
async fn a_service_that_starts_without_a_server_has_the_policy_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("menu/policy.toml");
    let server = Server::start().await;
    server.push(5, &level(4));
    let follow = || PolicyServer::new(&server.url(), SERVICE).keep(&path);
    let (first, again) = (Service::new(follow()), follow());
    first.until(|it| it.is_kept == Some(true)).await;
    drop(first);
    Loaded::read(&path).expect("a policy file");
    let address = server.stop().await;
    let second = Service::new(again);
    assert_eq!(second.level().await, "4");
    assert_eq!((second.status().origin, second.status().revision), (Origin::Kept, 5));
    let server = Server::start_at(address).await;
    assert_eq!(server.hello().await.revision, 5);
}

#[tokio::test]
async fn what_was_kept_and_is_broken_is_passed_over_and_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.toml");
    fs::write(&path, "default_criticality = 1\n").unwrap();
    let server = Server::start().await;
    server.push(5, &level(4));
    let service = Service::new(PolicyServer::new(&server.url(), SERVICE).keep(&path));
    assert_eq!(server.hello().await.revision, 0);
    service.until(|it| it.is_kept == Some(true)).await;
    assert!(fs::read_to_string(&path).unwrap().contains("revision 5"));
}

#[tokio::test]
async fn a_refused_policy_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.toml");
    let server = Server::start().await;
    server.push(1, &level(4));
    let service = Service::new(PolicyServer::new(&server.url(), SERVICE).keep(&path));
    service.until(|it| it.is_kept == Some(true)).await;
    let before = fs::read_to_string(&path).unwrap();
    server.push(2, "nonsense = 1\n");
    server.applied(2).await;
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
}

#[tokio::test]
async fn a_disk_that_cannot_be_written_keeps_no_policy_from_holding() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let server = Server::start().await;
    server.push(1, &level(4));
    let keep = folder.path().join("file/policy.toml");
    let service = Service::new(PolicyServer::new(&server.url(), SERVICE).keep(keep));
    server.applied(1).await;
    assert_eq!((service.level().await.as_str(), service.status().is_kept), ("4", Some(false)));
}
