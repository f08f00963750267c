//! A service behind QALM that answers with the level at which it was asked.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use http::{Request, StatusCode};
use plimsoll_qalm::policy_server::Status;
use plimsoll_qalm::{Context, PolicyServer, QalmLayer};
use tokio::task::JoinHandle;
use tower::ServiceExt;

pub(crate) async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(40), future).await.expect("in time")
}

#[derive(Clone, Debug)]
pub(crate) struct Service {
    layer: QalmLayer,
    router: Router,
}

impl Service {
    pub(crate) fn new(server: PolicyServer) -> Self {
        let layer = QalmLayer::builder().build_from_server(server).unwrap();
        let router = Router::new().route("/menu", get(level)).layer(layer.clone());
        Self { layer, router }
    }

    async fn ask(&self, caller: &str) -> (StatusCode, String) {
        let request = Request::builder().uri("/menu").header("rpc-caller", caller);
        let request = request.body(Body::empty()).unwrap();
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let status = answer.status();
        let body = axum::body::to_bytes(answer.into_body(), 1024).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    pub(crate) async fn level(&self, caller: &str) -> String {
        self.ask(caller).await.1
    }

    /// Waits until the policy stands so.
    pub(crate) async fn until(&self, what: impl FnMut(&Status) -> bool) -> Status {
        let mut status = self.layer.policy_server().unwrap();
        in_time(status.wait_for(what)).await.unwrap().clone()
    }
}

async fn level() -> String {
    Context::current().map_or_else(String::new, |context| context.level.to_string())
}

/// A thousand requests a second over all services, until it is stopped.
#[derive(Debug)]
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    lost: Arc<AtomicU64>,
    task: JoinHandle<u64>,
}

impl Load {
    pub(crate) fn on(services: &[Service]) -> Self {
        let (stop, lost) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (services, ended, counter) = (services.to_vec(), stop.clone(), lost.clone());
        let task = tokio::spawn(async move {
            let mut pace = tokio::time::interval(Duration::from_millis(10));
            let mut sent = 0;
            for service in services.iter().cycle() {
                if sent % 10 == 0 {
                    pace.tick().await;
                }
                if ended.load(Ordering::Relaxed) {
                    break;
                }
                let (status, _) = service.ask("app").await;
                counter.fetch_add(u64::from(status != StatusCode::OK), Ordering::Relaxed);
                sent += 1;
            }
            sent
        });
        Self { stop, lost, task }
    }

    /// Requests that were sent, and those that were not served.
    pub(crate) async fn stop(self) -> (u64, u64) {
        self.stop.store(true, Ordering::Relaxed);
        let sent = self.task.await.unwrap();
        (sent, self.lost.load(Ordering::Relaxed))
    }
}
