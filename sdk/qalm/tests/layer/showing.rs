//! What is counted is shown: on the debug page, to Prometheus, through the facade.

use axum::Router;
use axum::routing::get;
use plimsoll_qalm::QalmLayer;
use prometheus_client::registry::Registry;

use crate::harness::*;

/// Two requests admitted, one refused.
async fn busy_layer() -> QalmLayer {
    let layer = QalmLayer::new();
    let router = Router::new()
        .route("/work/{id}", get(|| async { "done" }))
        .route_service("/debug/qalm", layer.debug());
    let server = serve(router.layer(layer.clone())).await;
    let mut client = connect1(server.address).await;
    let mut send = async || {
        let mut request = request("GET", "/work/7");
        request.headers_mut().insert("rpc-caller", "document".parse().unwrap());
        let response = in_time(client.send_request(request)).await.unwrap();
        let _body = text(response).await;
    };
    send().await;
    send().await;
    until(|| inflight(&layer) == 0).await;
    layer.shut_down();
    send().await;
    layer
}

#[tokio::test]
async fn prometheus_reads_what_happened() {
    let layer = busy_layer().await;
    let mut registry = Registry::default();
    layer.register(&mut registry);
    let mut page = String::new();
    prometheus_client::encoding::text::encode(&mut page, &registry).unwrap();
    for line in [
        "qalm_requests_total{endpoint=\"GET /work/{id}\",caller=\"document\",level=\"3\",\
         reason=\"\",verdict=\"admitted\"} 2",
        "qalm_requests_total{endpoint=\"GET /work/{id}\",caller=\"document\",level=\"3\",\
         reason=\"shutting_down\",verdict=\"shed\"} 1",
        "qalm_inflight{queue=\"GET /work/{id}\"} 0.0",
        "qalm_queue_wait_seconds_count{endpoint=\"GET /work/{id}\"} 2",
        "qalm_handling_seconds_count{endpoint=\"GET /work/{id}\"} 2",
        "qalm_handling_seconds_bucket{le=\"+Inf\",endpoint=\"GET /work/{id}\"} 2",
        "qalm_queue_length{queue=\"GET /work/{id}\",level=\"4\"} 0.0",
    ] {
        assert!(page.contains(line), "no {line} in\n{page}");
    }
}

#[tokio::test]
async fn the_debug_page_shows_queues_and_refusals() {
    let layer = busy_layer().await;
    let text = layer.debug().text();
    assert!(text.starts_with("POLICY  none: the defaults\n"), "{text}");
    assert!(text.contains("GET /work/{id}"), "{text}");
    assert!(text.contains("shutting_down"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&layer.debug().json()).unwrap();
    let queues = json["queues"].as_array().unwrap();
    let queue = queues.iter().find(|queue| queue["name"] == "GET /work/{id}").unwrap();
    assert_eq!(queue["inflight"], 0);
    assert_eq!(json["refusals"][0]["reason"], "shutting_down");
    assert_eq!(json["refusals"][0]["caller"], "document");
    let admitted = json["requests"].as_array().unwrap();
    assert!(admitted.iter().any(|it| it["verdict"] == "admitted" && it["count"] == 2));
}

#[tokio::test]
async fn the_debug_page_is_served_in_both_forms() {
    let layer = QalmLayer::new();
    let server = serve(Router::new().route_service("/debug", layer.debug())).await;
    let mut client = connect1(server.address).await;
    for (path, kind) in
        [("/debug", "text/plain; charset=utf-8"), ("/debug?format=json", "application/json")]
    {
        let response = in_time(client.send_request(request("GET", path))).await.unwrap();
        assert_eq!(header(&response, "content-type"), kind);
        assert!(!text(response).await.is_empty());
    }
}

mod facade {
    //! A recorder of the `metrics` facade that keeps what it is told.

    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    use metrics::{
        Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata,
        Recorder, SharedString, Unit,
    };

    #[derive(Clone, Debug, Default)]
    pub(super) struct Kept(pub(super) Arc<Mutex<BTreeMap<String, f64>>>);

    struct Cell(Kept, String);

    impl Cell {
        fn set(&self, value: f64) {
            self.0.0.lock().unwrap().insert(self.1.clone(), value);
        }
    }

    impl CounterFn for Cell {
        fn increment(&self, _: u64) {}
        fn absolute(&self, value: u64) {
            self.set(value as f64);
        }
    }

    impl GaugeFn for Cell {
        fn increment(&self, _: f64) {}
        fn decrement(&self, _: f64) {}
        fn set(&self, value: f64) {
            Cell::set(self, value);
        }
    }

    impl HistogramFn for Cell {
        fn record(&self, value: f64) {
            self.set(value);
        }
    }

    impl Kept {
        fn cell(&self, key: &Key) -> Arc<Cell> {
            let mut name = key.name().to_owned();
            key.labels().for_each(|label| name += &format!(" {}={}", label.key(), label.value()));
            Arc::new(Cell(self.clone(), name))
        }
    }

    impl Recorder for Kept {
        fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
            Counter::from_arc(self.cell(key))
        }
        fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
            Gauge::from_arc(self.cell(key))
        }
        fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
            Histogram::from_arc(self.cell(key))
        }
    }
}

#[tokio::test]
async fn the_facade_is_told_within_some_seconds() {
    let kept = facade::Kept::default();
    // The only recorder of this test binary.
    metrics::set_global_recorder(kept.clone()).unwrap();
    let _layer = busy_layer().await;
    let told = |name: &str| kept.0.lock().unwrap().get(name).copied();
    let admitted = "qalm_requests endpoint=GET /work/{id} caller=document level=3 reason= \
                    verdict=admitted";
    until(|| told(admitted) == Some(2.0)).await;
    assert_eq!(told("qalm_inflight queue=GET /work/{id}"), Some(0.0));
    assert!(told("qalm_handling_seconds endpoint=GET /work/{id}").is_some());
}
