//! Orders given by clicks, seen through gRPC; and orders that are not taken.

use plimsoll_testkit::browser::{Page, Screen};
use plimsoll_testkit::{SOON, eventually};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::common::{Scene, says};

/// Fills in the form that is shown and sends it.
async fn give(page: &Page, why: &str) {
    page.until("the form is there", "!!document.querySelector('#who')").await;
    page.fill("#who", "ana").await.unwrap();
    page.fill("#why", why).await.unwrap();
    page.click("button.primary").await.unwrap();
}

/// What the history says of the last event of a kind.
async fn why(scene: &Scene, kind: &str) -> String {
    let events = scene.cluster.history("orders").await.unwrap();
    events.into_iter().find(|event| event.kind == kind).unwrap().detail
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_is_drained_and_undrained_by_clicks() {
    let scene = Scene::start().await;
    let page = scene.open(Screen::WIDE, "/namespaces/orders").await;
    page.click("a[href*='do=drain-host'][href$='target=host-2']").await.unwrap();
    says(&page, "host-2 runs").await;
    give(&page, "slow disk").await;
    says(&page, "host-2 is drained").await;
    let hosts = scene.cluster.drains("orders").await.unwrap().hosts;
    let drain = (hosts[0].name.as_str(), hosts[0].drained_by.as_str(), hosts[0].reason.as_str());
    assert_eq!(drain, ("host-2", "ana", "slow disk"));
    says(&page, "by ana: slow disk").await;
    page.click("a[href*='do=undrain-host'][href$='target=host-2']").await.unwrap();
    page.until(
        "who it is need not be typed again",
        "document.querySelector('#who').value === 'ana'",
    )
    .await;
    give(&page, "new disk").await;
    says(&page, "host-2 may carry shards again").await;
    assert!(scene.cluster.drains("orders").await.unwrap().hosts.is_empty());
    assert_eq!(why(&scene, "host-undrained").await, "by ana: new disk");
    assert_eq!(page.complaints(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn balance_is_frozen_and_resumed_by_clicks() {
    let scene = Scene::start().await;
    let page = scene.open(Screen::NARROW, "/namespaces/orders").await;
    page.click("a[href$='do=freeze']").await.unwrap();
    give(&page, "incident 42").await;
    says(&page, "Balance is frozen.").await;
    assert!(scene.cluster.describe("orders").await.unwrap().frozen);
    assert_eq!(why(&scene, "frozen").await, "by ana: incident 42");
    page.click("a[href$='do=resume']").await.unwrap();
    give(&page, "incident 42 is over").await;
    says(&page, "Balance goes on.").await;
    assert!(!scene.cluster.describe("orders").await.unwrap().frozen);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_is_found_and_drained() {
    let scene = Scene::start().await;
    let page = scene.open(Screen::WIDE, "/namespaces/orders").await;
    page.fill("#find", "11").await.unwrap();
    page.press("Enter").await.unwrap();
    says(&page, "Why it is here").await;
    page.click("a[href*='do=drain-shard']").await.unwrap();
    give(&page, "kills its hosts").await;
    says(&page, "Shard 11 is drained").await;
    eventually(SOON, "it runs nowhere", || async {
        let shards = scene.cluster.drains("orders").await.unwrap().shards;
        (shards.len() == 1 && shards[0].name == "11").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_of_another_site_is_refused() {
    let scene = Scene::start().await;
    let host = scene.cluster.http();
    let body = "do=freeze&who=eve&why=x&token=00112233445566778899aabbccddeeff";
    let cookie = "plimsoll-form=00112233445566778899aabbccddeeff";
    let post = async |origin: &str, cookie: &str| {
        let length = body.len();
        let request = format!(
            "POST /namespaces/orders/order HTTP/1.0\r\nhost: {host}\r\norigin: {origin}\r\n\
             cookie: {cookie}\r\ncontent-type: application/x-www-form-urlencoded\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        let mut socket = TcpStream::connect(host).await.unwrap();
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.unwrap();
        answer
    };
    let foreign = post("http://evil.example", cookie).await;
    assert!(foreign.contains(" 403 ") && foreign.contains("No permission"), "{foreign}");
    let forged = post(&format!("http://{host}"), "plimsoll-form=x").await;
    assert!(forged.contains(" 403 "), "{forged}");
    assert!(!scene.cluster.describe("orders").await.unwrap().frozen);
    let own = post(&format!("http://{host}"), cookie).await;
    assert!(own.contains(" 303 "), "{own}");
    assert!(scene.cluster.describe("orders").await.unwrap().frozen);
}
