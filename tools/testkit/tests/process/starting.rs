//! What keeps a server from starting, and what it says then.

use plimsoll_testkit::process::run;
use plimsoll_testkit::within;

use crate::scene::{Files, texts};

#[tokio::test]
async fn an_unknown_key_is_refused_with_the_nearest_known_one() {
    let files = Files::new("memory", &[]);
    let mut arguments = files.arguments("127.0.0.1:0", "127.0.0.1:0");
    std::fs::write(&arguments[1], "dat_dir = \"x\"\n").unwrap();
    arguments.insert(0, "server".to_owned());
    let said = refusal(&texts(&arguments)).await;
    assert!(said.contains("dat_dir") && said.contains("\"data_dir\""), "{said}");
}

#[tokio::test]
async fn an_unknown_setting_of_a_namespace_is_refused_with_the_nearest_known_one() {
    let fixture = plimsoll_testkit::Fixture::fixed("orders", 4).set("heartbeat_tll", "1s");
    let files = Files::new("memory", &[fixture]);
    let said = refused_server(&files, "127.0.0.1:0").await;
    assert!(said.contains("heartbeat_tll") && said.contains("heartbeat_ttl"), "{said}");
}

#[tokio::test]
async fn a_setting_out_of_its_range_is_refused_with_what_it_must_be() {
    let fixture = plimsoll_testkit::Fixture::fixed("orders", 4).set("lease", "soon");
    let files = Files::new("memory", &[fixture]);
    let said = refused_server(&files, "127.0.0.1:0").await;
    assert!(said.contains("lease") && said.contains("duration"), "{said}");
}

#[tokio::test]
async fn an_open_port_is_refused_unless_it_is_asked_for() {
    let files = Files::new("memory", &[]);
    let said = refused_server(&files, "0.0.0.0:0").await;
    assert!(said.contains("--allow-open") && said.contains("0.0.0.0:0"), "{said}");
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let files = Files::new("memory", &[]);
    let said = refused_server(&files, &address).await;
    assert!(said.contains(&address) && said.contains("another server"), "{said}");
}

#[tokio::test]
async fn a_second_server_on_the_same_data_is_refused_and_the_first_serves_on() {
    let files = Files::new("file", &[plimsoll_testkit::Fixture::fixed("orders", 4)]);
    let first = files.start().await;
    let said = refused_server(&files, "127.0.0.1:0").await;
    assert!(said.contains("data") && said.contains("another"), "{said}");
    let spectator = plimsoll_client::Spectator::connect(&first.url(), "orders").await;
    assert!(spectator.unwrap().age().is_some());
}

#[tokio::test]
async fn a_configuration_that_is_not_there_is_named() {
    let said = refusal(&["server", "--config", "/nowhere/plimsoll.toml"]).await;
    assert!(said.contains("/nowhere/plimsoll.toml") && said.contains("--config"), "{said}");
}

async fn refused_server(files: &Files, grpc: &str) -> String {
    let mut arguments = files.arguments(grpc, "127.0.0.1:0");
    arguments.insert(0, "server".to_owned());
    refusal(&texts(&arguments)).await
}

/// What it says on its way out.
async fn refusal(arguments: &[&str]) -> String {
    let ended = within(std::time::Duration::from_secs(60), run(arguments)).await.unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert!(ended.stdout.is_empty(), "{ended:?}");
    String::from_utf8(ended.stderr).unwrap()
}
