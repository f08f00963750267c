//! Saving: what makes sense, by one at a time.

use std::collections::BTreeMap;

use plimsoll_server::Server;
use plimsoll_wire::v1;
use tempfile::TempDir;
use tonic::Code;

use super::support::{Client, client, config, edit, in_memory, newest, save, text};

#[tokio::test]
async fn a_policy_is_saved_read_listed_and_brought_back() {
    let server = in_memory().await;
    let mut client = client(server.grpc);
    assert_eq!(save(&mut client, "menu", 0, text(3)).await.unwrap(), 1);
    assert_eq!(save(&mut client, "menu", 1, text(4)).await.unwrap(), 2);
    let back = v1::SetPolicyRequest { rolled_back_to: 1, ..edit("menu", 2, text(3)) };
    let saved = client.set_policy(back).await.unwrap().into_inner();
    assert_eq!((saved.revision, saved.findings), (3, Vec::<String>::new()));
    let now = newest(&mut client, "menu").await;
    assert_eq!((now.revision, now.rolled_back_to, now.text), (3, 1, text(3)));
    assert_eq!((&*now.author, &*now.comment), ("ada", "after 2"));
    let request = v1::PolicyHistoryRequest { service: "menu".into(), limit: 2 };
    let history = client.policy_history(request).await.unwrap().into_inner().revisions;
    let told: Vec<_> = history.iter().map(|it| (it.revision, it.text.as_str())).collect();
    assert_eq!(told, [(3, ""), (2, "")]);
    save(&mut client, "a-service", 0, text(2)).await.unwrap();
    let list = client.list_services(v1::ListServicesRequest {}).await.unwrap().into_inner();
    let told: Vec<_> = list.services.iter().map(|it| (&*it.service, it.revision)).collect();
    assert_eq!(told, [("a-service", 1), ("menu", 3)]);
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_line_and_reason() {
    let server = in_memory().await;
    let mut client = client(server.grpc);
    let broken = "default_criticality = 3\n[[rules]]\ncaller = \"x\"\ncritcality = 2\n";
    let refused = save(&mut client, "menu", 0, broken).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    let line = refused.metadata().get("plimsoll-policy-line").unwrap();
    assert_eq!(line, "4");
    assert!(refused.message().contains("did you mean \"criticality\"?"), "{refused}");
    for (service, author, text) in [
        ("", "ada", "enforcement = \"off\""),
        ("a b", "ada", "enforcement = \"off\""),
        ("menu", "ada\n", "enforcement = \"off\""),
        ("menu", "ada", " \n"),
        ("menu", "ada", &"#".repeat(1024 * 1024 + 1)),
    ] {
        let author = author.to_owned();
        let request = v1::SetPolicyRequest { author, ..edit(service, 0, text) };
        let refused = client.set_policy(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{service:?}: {refused}");
    }
    let missing = v1::GetPolicyRequest { service: "menu".into(), revision: 0 };
    assert_eq!(client.get_policy(missing).await.unwrap_err().code(), Code::NotFound);
}

#[tokio::test]
async fn what_does_nothing_is_said_and_saved() {
    let server = in_memory().await;
    let idle = "[[rules]]\nendpoint = \"/healthz\"\ncriticality = 2\n";
    let request = edit("menu", 0, idle);
    let saved = client(server.grpc).set_policy(request).await.unwrap().into_inner();
    assert_eq!(saved.findings.len(), 1);
    assert!(saved.findings[0].contains("never decides anything"), "{:?}", saved.findings);
}

#[tokio::test]
async fn a_roll_back_brings_back_what_was_there_and_nothing_else() {
    let server = in_memory().await;
    let mut client = client(server.grpc);
    save(&mut client, "menu", 0, text(3)).await.unwrap();
    let other = v1::SetPolicyRequest { rolled_back_to: 1, ..edit("menu", 1, text(4)) };
    assert_eq!(client.set_policy(other).await.unwrap_err().code(), Code::InvalidArgument);
    let gone = v1::SetPolicyRequest { rolled_back_to: 9, ..edit("menu", 1, text(3)) };
    assert_eq!(client.set_policy(gone).await.unwrap_err().code(), Code::NotFound);
    assert_eq!(newest(&mut client, "menu").await.revision, 1);
}

#[tokio::test]
async fn who_saves_over_somebody_elses_edit_is_told_of_it() {
    let server = in_memory().await;
    let mut client = client(server.grpc);
    save(&mut client, "menu", 0, text(3)).await.unwrap();
    save(&mut client, "menu", 1, text(4)).await.unwrap();
    let refused = save(&mut client, "menu", 1, text(2)).await.unwrap_err();
    assert_eq!(refused.code(), Code::Aborted);
    assert_eq!(refused.metadata().get("plimsoll-present-revision").unwrap(), "2");
    assert!(refused.message().contains("ada has saved revision 2"), "{refused}");
    assert_eq!(newest(&mut client, "menu").await.text, text(4));
    let early = save(&mut client, "other", 3, text(2)).await.unwrap_err();
    assert_eq!(early.code(), Code::Aborted);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_fifty_who_save_at_once_each_revision_has_one_winner_and_nobody_is_lost() {
    let folder = TempDir::new().unwrap();
    let server = Server::start(&config(&folder)).await.unwrap();
    let address = server.grpc;
    let writers = (0..50).map(|writer| tokio::spawn(win(client(address), writer)));
    let mut winners = BTreeMap::new();
    for won in futures::future::join_all(writers).await {
        let (revision, writer) = won.unwrap();
        assert_eq!(winners.insert(revision, writer), None, "revision {revision} was won twice");
    }
    assert_eq!(winners.keys().copied().collect::<Vec<_>>(), (1..=50).collect::<Vec<_>>());
    server.stop().await;
    let server = Server::start(&config(&folder)).await.unwrap();
    let mut client = client(server.grpc);
    for (revision, writer) in winners {
        let request = v1::GetPolicyRequest { service: "menu".into(), revision };
        let kept = client.get_policy(request).await.unwrap().into_inner().policy.unwrap();
        assert_eq!(kept.text, mine(writer), "after a restart");
    }
}

fn mine(writer: u64) -> String {
    format!("# of writer {writer}\n")
}

/// Reads, changes and writes until it has won.
async fn win(mut client: Client, writer: u64) -> (u64, u64) {
    loop {
        let request = v1::GetPolicyRequest { service: "menu".into(), revision: 0 };
        let after = match client.get_policy(request).await {
            Ok(found) => found.into_inner().policy.unwrap().revision,
            Err(missing) if missing.code() == Code::NotFound => 0,
            Err(error) => panic!("{error}"),
        };
        match save(&mut client, "menu", after, mine(writer)).await {
            Ok(revision) => return (revision, writer),
            Err(conflict) if conflict.code() == Code::Aborted => {}
            Err(error) => panic!("{error}"),
        }
    }
}
