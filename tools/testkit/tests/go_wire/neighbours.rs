//! What stands beside the Go wire on the same port.

use futures::StreamExt;
use plimsoll_testkit::Cluster;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

const SERVICES: [&str; 5] = [
    "plimsoll.v1.AdminService",
    "plimsoll.v1.ExecutorService",
    "plimsoll.v1.RoutingService",
    "uber.cadence.sharddistributor.v1.ShardDistributorAPI",
    "uber.cadence.sharddistributor.v1.ShardDistributorExecutorAPI",
];

#[tokio::test]
async fn health_says_serving() {
    let cluster = Cluster::start([]).await.unwrap();
    let mut client = HealthClient::new(cluster.channel());
    let answer = client.check(HealthCheckRequest { service: String::new() }).await.unwrap();
    assert_eq!(answer.into_inner().status, 1);
}

#[tokio::test]
async fn reflection_lists_every_service() {
    let cluster = Cluster::start([]).await.unwrap();
    let answer = reflect(&cluster, MessageRequest::ListServices(String::new())).await;
    let MessageResponse::ListServicesResponse(list) = answer else { panic!("{answer:?}") };
    let names: Vec<_> = list.service.into_iter().map(|service| service.name).collect();
    for service in SERVICES {
        assert!(names.iter().any(|name| name == service), "{service} is not in {names:?}");
    }
}

#[tokio::test]
async fn reflection_shows_the_watch_as_a_server_stream() {
    let cluster = Cluster::start([]).await.unwrap();
    let symbol = SERVICES[3].to_owned();
    let answer = reflect(&cluster, MessageRequest::FileContainingSymbol(symbol)).await;
    let MessageResponse::FileDescriptorResponse(files) = answer else { panic!("{answer:?}") };
    let file: prost_types::FileDescriptorProto =
        prost::Message::decode(&*files.file_descriptor_proto[0]).unwrap();
    let method = |name: &str| {
        let methods = file.service.iter().flat_map(|service| &service.method);
        methods.into_iter().find(|method| method.name() == name).unwrap().clone()
    };
    let watch = method("WatchNamespaceState");
    assert!(watch.server_streaming() && !watch.client_streaming(), "{watch:?}");
}

async fn reflect(cluster: &Cluster, request: MessageRequest) -> MessageResponse {
    let mut client = ServerReflectionClient::new(cluster.channel());
    let request = ServerReflectionRequest { host: String::new(), message_request: Some(request) };
    let asked = futures::stream::iter([request]);
    let mut answers = client.server_reflection_info(asked).await.unwrap().into_inner();
    answers.next().await.unwrap().unwrap().message_response.unwrap()
}
