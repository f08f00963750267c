use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use plimsoll_loadtest::{Arrivals, Call, Plan, Schema};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Server;
use tonic::{Request, Status};

use crate::{carry_out, refusal};

const PROTO: &str = r#"
    syntax = "proto3";
    package grpc.health.v1;
    import "messages/ask.proto";
    service Health { rpc Check(HealthCheckRequest) returns (HealthCheckRequest); }
"#;
const IMPORTED: &str = r#"
    syntax = "proto3";
    package grpc.health.v1;
    message HealthCheckRequest { string service = 1; }
"#;

/// A health service that refuses the caller `batch`, and fails the caller `broken`.
async fn start(with_reflection: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (_, health) = tonic_health::server::health_reporter();
    let health = InterceptedService::new(health, |request: Request<()>| {
        match request.metadata().get("rpc-caller").map(|name| name.as_bytes()) {
            Some(b"batch") => Err(Status::resource_exhausted("later")),
            Some(b"broken") => Err(Status::internal("oh no")),
            _ => Ok(request),
        }
    });
    let reflection = with_reflection.then(|| {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            .build_v1()
            .unwrap()
    });
    let server = Server::builder().add_service(health).add_optional_service(reflection);
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    address
}

fn plan(address: SocketAddr, method: &str, schema: Schema, json: &str) -> Plan {
    let call = Call::Grpc { method: method.to_owned(), json: json.to_owned(), schema };
    let target = format!("http://{address}").parse().unwrap();
    let plan = Plan::new(target, call, 200.0, Duration::from_millis(500));
    Plan { arrivals: Arrivals::Constant, ..plan }
}

const CHECK: &str = "grpc.health.v1.Health/Check";

#[tokio::test]
async fn a_method_is_learnt_by_reflection_and_called() {
    let report = carry_out(plan(start(true).await, CHECK, Schema::Reflection, "{}")).await;
    assert_eq!(report.total.counts.ok, 100);
    assert_eq!(report.protocol, "gRPC grpc.health.v1.Health/Check");
}

#[tokio::test]
async fn the_message_is_made_from_json() {
    // The service answers NOT_FOUND for a name that it does not know.
    let json = r#"{"service": "nobody"}"#;
    let report = carry_out(plan(start(true).await, CHECK, Schema::Reflection, json)).await;
    assert_eq!(report.total.counts.failed, 100);
    assert!(report.failures[0].reason.starts_with("gRPC NotFound"), "{:?}", report.failures);
}

#[tokio::test]
async fn refusals_and_failures_are_told_apart() {
    let callers = ["app=2:40", "batch=4:40", "broken=3:20"].map(|text| text.parse().unwrap());
    let plan = Plan {
        callers: callers.to_vec(),
        ..plan(start(true).await, CHECK, Schema::Reflection, "{}")
    };
    let report = carry_out(plan).await;
    let by_caller = |index: usize| report.callers[index].figures.counts;
    assert_eq!(by_caller(0).ok, by_caller(0).offered);
    assert_eq!(by_caller(1).shed, by_caller(1).offered);
    assert_eq!(by_caller(2).failed, by_caller(2).offered);
    assert_eq!(report.refusals[0].reason, "RESOURCE_EXHAUSTED");
    assert!(report.failures[0].reason.starts_with("gRPC Internal"), "{:?}", report.failures);
}

#[tokio::test]
async fn files_describe_methods_as_well_as_reflection() {
    let address = start(false).await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("messages")).unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::File::create(&path).unwrap().write_all(bytes).unwrap();
        path
    };
    let file = write("health.proto", PROTO.as_bytes());
    write("messages/ask.proto", IMPORTED.as_bytes());
    let set = write("health.bin", tonic_health::pb::FILE_DESCRIPTOR_SET);
    let here = vec![folder.path().to_owned()];
    for schema in [
        Schema::Proto { file: file.clone(), includes: Vec::new() },
        Schema::Proto { file, includes: here },
        Schema::Descriptors(set),
    ] {
        let report = carry_out(plan(address, CHECK, schema, "{}")).await;
        assert_eq!(report.total.counts.ok, 100);
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_method_is_said_with_what_there_is() {
    let address = start(true).await;
    let set = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(set.path(), tonic_health::pb::FILE_DESCRIPTOR_SET).unwrap();
    let from_file = || Schema::Descriptors(set.path().to_owned());
    for (method, schema, parts) in [
        ("Check", from_file(), ["write package.Service/Method", "Check"]),
        ("a.B/Check", from_file(), ["no service a.B", "only grpc.health.v1.Health"]),
        ("a.B/Check", Schema::Reflection, ["the reflection service at http://", "a.B"]),
        ("grpc.health.v1.Health/Chek", Schema::Reflection, ["no method Chek", "Check"]),
        ("grpc.health.v1.Health/Watch", Schema::Reflection, ["it is a stream", "unary"]),
        (CHECK, Schema::Descriptors(Path::new("/no/such").into()), ["/no/such", "check the path"]),
        (
            CHECK,
            Schema::Proto { file: "/no/such.proto".into(), includes: Vec::new() },
            ["/no/such.proto", "--include"],
        ),
    ] {
        let said = refusal(plan(address, method, schema, "{}")).await;
        assert!(parts.iter().all(|part| said.contains(part)), "{method}: {said}");
    }
}

#[tokio::test]
async fn a_server_without_reflection_is_said_to_have_none() {
    let said = refusal(plan(start(false).await, CHECK, Schema::Reflection, "{}")).await;
    assert!(said.contains("Unimplemented") && said.contains("--proto"), "{said}");
}

#[tokio::test]
async fn a_body_that_does_not_fit_is_refused_by_field() {
    let said = refusal(plan(start(true).await, CHECK, Schema::Reflection, r#"{"x": 1}"#)).await;
    assert!(said.contains("grpc.health.v1.HealthCheckRequest") && said.contains("x"), "{said}");
}
