//! What the policy says holds for the requests that come.

use std::fs;

use axum::Router;
use axum::routing::get;
use http::{HeaderValue, StatusCode};
use plimsoll_qalm::shedding::Criticality;
use plimsoll_qalm::shedding::policy::Rule;
use plimsoll_qalm::{Context, QalmLayer};

use crate::harness::*;

async fn level() -> String {
    Context::current().map_or_else(String::new, |context| context.level.to_string())
}

fn called_by(caller: &'static str) -> http::Request<http_body_util::Full<bytes::Bytes>> {
    let mut request = request("GET", "/level");
    request.headers_mut().insert("rpc-caller", HeaderValue::from_static(caller));
    request
}

#[tokio::test]
async fn a_callers_level_is_the_policys() {
    let mut policy = policy_with(10, 10);
    policy.rules = vec![
        Rule {
            caller: Some("document".to_owned()),
            criticality: Some(Criticality::CoreFlow),
            ..Rule::default()
        },
        Rule {
            caller: Some("*-staging".to_owned()),
            criticality: Some(Criticality::Internal),
            ..Rule::default()
        },
    ];
    let layer = QalmLayer::builder().build_with(&policy).unwrap();
    let server = serve(Router::new().route("/level", get(level)).layer(layer)).await;
    let mut client = connect1(server.address).await;
    for (caller, level) in [("document", "2"), ("document-staging", "4"), ("ads", "3")] {
        let response = in_time(client.send_request(called_by(caller))).await.unwrap();
        assert_eq!(text(response).await, level, "{caller}");
    }
}

#[tokio::test]
async fn an_edit_of_the_policy_file_holds_for_the_next_requests() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("qalm.toml");
    let rule = |level: u8| format!("[[rules]]\ncaller = \"ads\"\ncriticality = {level}\n");
    fs::write(&path, rule(2)).unwrap();
    let layer = QalmLayer::from_file(&path).unwrap();
    let server = serve(Router::new().route("/level", get(level)).layer(layer.clone())).await;
    let mut client = connect1(server.address).await;
    let mut ask = async || {
        let response = in_time(client.send_request(called_by("ads"))).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        text(response).await
    };
    assert_eq!(ask().await, "2");
    fs::write(&path, rule(4)).unwrap();
    in_time(async {
        while ask().await != "4" {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    })
    .await;
    let page = layer.debug().text();
    assert!(page.contains("qalm.toml"), "{page}");
}
