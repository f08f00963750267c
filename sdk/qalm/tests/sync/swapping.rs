//! Policies are swapped under load: no request is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use http::StatusCode;
use plimsoll_qalm::PolicyServer;

use crate::harness::*;

/// As many rules as make an adoption cost something.
fn large(level: u8) -> String {
    let rule = |n: u32| format!("[[rules]]\nendpoint = \"/made/{n}/*\"\ncriticality = {level}\n");
    (0..1000).map(rule).collect::<String>()
        + &format!("[[rules]]\ncaller = \"app\"\ncriticality = {level}\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_is_lost_while_policies_are_swapped() {
    let server = Server::start().await;
    server.push(1, &large(2));
    let service = Service::new(PolicyServer::new(&server.url(), SERVICE));
    server.applied(1).await;
    let (stop, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let callers: Vec<_> = (0..8)
        .map(|_| {
            let (service, stop, sent) = (service.clone(), stop.clone(), sent.clone());
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let (status, level) = service.ask("app", "").await;
                    assert_eq!(status, StatusCode::OK);
                    assert!(level == "2" || level == "3", "{level}");
                    sent.fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for revision in 2..=60 {
        server.push(revision, &large(2 + (revision % 2) as u8));
        assert_eq!(server.applied(revision).await.refused, "");
    }
    stop.store(true, Ordering::Relaxed);
    for caller in callers {
        caller.await.expect("no request was refused");
    }
    let sent = sent.load(Ordering::Relaxed);
    assert!(sent > 100, "only {sent} requests met 59 swaps");
    let queues = service.layer.gate().queues();
    assert!(queues.iter().all(|it| it.view.inflight == 0 && it.view.waiting == [0; 4]));
}
