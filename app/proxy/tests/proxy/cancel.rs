//! A client that leaves takes its request with it.

use http::{Request, Response};
use hyper::body::Incoming;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::support::{Service, connect, full, http2, page, post, proxy, soon};

/// Says on the channel that it was dropped.
struct Told(UnboundedSender<&'static str>);

impl Drop for Told {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

/// A service that says when a request has come and never answers.
async fn silent() -> (Service, UnboundedReceiver<&'static str>) {
    let (say, told) = unbounded_channel();
    let service = Service::start(move |_: Request<Incoming>| {
        let say = say.clone();
        async move {
            say.send("come").unwrap();
            let _told = Told(say);
            std::future::pending::<()>().await;
            Response::new(full(""))
        }
    })
    .await;
    (service, told)
}

#[tokio::test]
async fn over_http_1_by_closing_its_connection() {
    let (service, mut told) = silent().await;
    let proxy = proxy(service.address).await;
    let mut client = connect(proxy.listen).await;
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    assert_eq!(soon(told.recv()).await, Some("come"));
    drop(client);
    assert_eq!(soon(told.recv()).await, Some("dropped"));
    let metrics = page(&proxy, "/metrics").await;
    let cancelled = "plimsoll_proxy_requests_total{protocol=\"http1\",outcome=\"cancelled\"} 1\n";
    assert!(metrics.contains(cancelled), "{metrics}");
}

#[tokio::test]
async fn over_http_2_by_resetting_its_stream_alone() {
    let (service, mut told) = silent().await;
    let proxy = proxy(service.address).await;
    let (mut client, task) = http2(proxy.listen).await;
    let asking = tokio::spawn(client.send_request(post("/", "")));
    assert_eq!(soon(told.recv()).await, Some("come"));
    asking.abort();
    assert_eq!(soon(told.recv()).await, Some("dropped"));
    assert!(!task.is_finished());
}
