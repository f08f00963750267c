//! Which policy holds where there are several.

use std::fs;

use plimsoll_qalm::PolicyServer;
use plimsoll_qalm::policy_server::Origin;

use crate::harness::*;

#[tokio::test]
async fn the_file_holds_and_is_followed_until_the_server_has_sent_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.toml");
    fs::write(&path, level(2)).unwrap();
    let server = Server::start().await;
    server.greet_with(vec![no_policy()]);
    let service = Service::new(PolicyServer::new(&server.url(), SERVICE).file(&path));
    assert_eq!(service.level().await, "2");
    service.until(|it| it.server.is_some()).await;
    fs::write(&path, level(1)).unwrap();
    service.until(|it| it.loads == 2).await;
    assert_eq!((service.level().await.as_str(), service.status().origin), ("1", Origin::File));
    fs::write(&path, "nonsense = 1\n").unwrap();
    let refused = service.until(|it| it.refused.is_some()).await.refused.unwrap();
    assert!(refused.revision == 0 && refused.reason.contains("policy.toml:1"), "{refused:?}");
    fs::write(&path, level(1)).unwrap();
    service.until(|it| it.refused.is_none()).await;
    server.push(1, &level(4));
    server.applied(1).await;
    assert_eq!((service.level().await.as_str(), service.status().origin), ("4", Origin::Server));
}

#[tokio::test]
async fn the_file_changes_nothing_once_the_server_has_sent_one() {
    let folder = tempfile::tempdir().unwrap();
    let (path, kept) = (folder.path().join("policy.toml"), folder.path().join("kept.toml"));
    fs::write(&path, level(2)).unwrap();
    let server = Server::start().await;
    server.push(1, &level(4));
    let follow = || PolicyServer::new(&server.url(), SERVICE).file(&path).keep(&kept);
    let service = Service::new(follow());
    service.until(|it| it.is_kept == Some(true)).await;
    // Another follows the file too, so that the edit is known to have been seen.
    let witness = plimsoll_qalm::PolicyFile::watch(&path).unwrap();
    let mut seen = witness.subscribe();
    fs::write(&path, level(1)).unwrap();
    in_time(seen.changed()).await.unwrap();
    server.push(2, &level(3));
    server.applied(2).await;
    assert_eq!(service.status().origin, Origin::Server);
    assert_eq!(service.level().await, "3");
    drop(service);
    let after_a_restart = Service::new(follow());
    assert_ne!(after_a_restart.status().origin, Origin::File);
}
