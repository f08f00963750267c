//! A server that is away changes nothing, and is found again.

use plimsoll_qalm::PolicyServer;
use prometheus_client::registry::Registry;
use tonic::Status as Refusal;

use crate::harness::*;

fn metrics(service: &Service) -> String {
    let mut registry = Registry::default();
    service.layer.register(&mut registry);
    let mut page = String::new();
    prometheus_client::encoding::text::encode(&mut page, &registry).unwrap();
    page
}

#[tokio::test]
async fn what_holds_goes_on_while_the_server_is_away_and_news_come_after_it() {
    let server = Server::start().await;
    server.push(6, &level(2));
    let service = Service::new(PolicyServer::new(&server.url(), SERVICE));
    server.applied(6).await;
    assert!(metrics(&service).contains("qalm_policy_server_connected 1.0\n"));
    let address = server.stop().await;
    service.until(|it| it.server.is_none()).await;
    assert_eq!(service.level().await, "2");
    let page = metrics(&service);
    for line in ["qalm_policy_server_connected 0.0\n", "qalm_policy_revision 6.0\n"] {
        assert!(page.contains(line), "no {line} in\n{page}");
    }
    let server = Server::start_at(address).await;
    server.push(7, &level(4));
    assert_eq!(server.hello().await.revision, 6);
    server.applied(7).await;
    assert_eq!(service.level().await, "4");
    let page = service.layer.debug().text();
    assert!(page.contains("menu from the server") && page.contains("revision 7"), "{page}");
    let json: serde_json::Value = serde_json::from_str(&service.layer.debug().json()).unwrap();
    assert_eq!(
        (&json["policy"]["revision"], &json["policy"]["server"]),
        (&7.into(), &server.url().into())
    );
}

#[tokio::test]
async fn another_server_is_taken_when_one_is_gone() {
    let (one, two) = (Server::start().await, Server::start().await);
    one.push(3, &level(2));
    two.push(3, &level(2));
    let service = Service::new(PolicyServer::new(&format!("{},{}", one.url(), two.url()), SERVICE));
    let connected = service.until(|it| it.server.is_some() && it.revision == 3).await.server;
    let (gone, left) = if connected == Some(one.url()) { (one, two) } else { (two, one) };
    gone.stop().await;
    service.until(|it| it.server == Some(left.url())).await;
    left.push(4, &level(4));
    left.applied(4).await;
    assert_eq!(service.level().await, "4");
}

#[tokio::test]
async fn a_server_that_is_not_there_at_the_start_is_found_later() {
    let address = Server::start().await.stop().await;
    let service = Service::new(PolicyServer::new(&address.to_string(), SERVICE));
    assert_eq!(service.level().await, "3");
    let server = Server::start_at(address).await;
    server.push(1, &level(4));
    server.applied(1).await;
    assert_eq!(service.level().await, "4");
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_made_anew() {
    let server = Server::start().await;
    server.push(1, &level(4));
    let service = Service::new(PolicyServer::new(&server.url(), SERVICE));
    server.applied(1).await;
    server.hang_up(&Refusal::unavailable("leaving"));
    server.hears(|heard| matches!(heard, Heard::Hello(it) if it.revision == 1).then_some(())).await;
    assert_eq!(service.level().await, "4");
}

#[test]
fn a_layer_that_is_made_before_there_is_a_runtime_is_connected_all_the_same() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(Server::start());
    server.push(1, &level(4));
    let service = Service::new(PolicyServer::new(&server.url(), SERVICE));
    runtime.block_on(server.applied(1));
    assert_eq!(runtime.block_on(service.level()), "4");
}
