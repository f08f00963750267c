//! The same over HTTP, for scripts, and not for pages of other sites.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::instance::Instance;
use super::support::{client, in_memory, save, text};

const JSON: (&str, &str) = ("content-type", "application/json");

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{}", self.body))
    }
}

async fn ask(server: SocketAddr, what: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let request = format!(
        "{what} HTTP/1.1\r\nhost: {server}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    );
    let mut stream = TcpStream::connect(server).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_lowercase(), body: body.to_owned() }
}

fn edit(text: &str) -> String {
    serde_json::json!({ "text": text, "author": "ada", "comment": "by hand" }).to_string()
}

#[tokio::test]
async fn a_policy_is_written_and_read_as_json() {
    let server = in_memory().await;
    let put = "PUT /api/v1/policies/menu";
    let first = ask(server.http, put, &[JSON, ("if-none-match", "*")], &edit(&text(3))).await;
    assert_eq!((first.status, &first.json()["revision"]), (201, &1.into()), "{}", first.body);
    assert!(first.head.contains("etag: \"1\""), "{}", first.head);
    let second = ask(server.http, put, &[JSON, ("if-match", "\"1\"")], &edit(&text(4))).await;
    assert_eq!((second.status, &second.json()["revision"]), (200, &2.into()));
    let now = ask(server.http, "GET /api/v1/policies/menu", &[], "").await;
    assert_eq!((now.status, &now.json()["text"]), (200, &text(4).into()));
    assert!(now.head.contains("etag: \"2\""), "{}", now.head);
    let then = ask(server.http, "GET /api/v1/policies/menu?revision=1", &[], "").await.json();
    assert_eq!((&then["text"], &then["author"]), (&text(3).into(), &"ada".into()));
    assert!(then["saved_at"].as_str().unwrap().ends_with('Z'), "{then}");
    let history = ask(server.http, "GET /api/v1/policies/menu/history", &[], "").await.json();
    assert_eq!(history["revisions"].as_array().unwrap().len(), 2);
    let list = ask(server.http, "GET /api/v1/policies", &[], "").await.json();
    assert_eq!(list["services"][0]["service"], "menu");
    let missing = ask(server.http, "GET /api/v1/policies/nobody", &[], "").await;
    assert_eq!(missing.status, 404);
}

#[tokio::test]
async fn conflicts_and_mistakes_are_told() {
    let server = in_memory().await;
    save(&mut client(server.grpc), "menu", 0, text(3)).await.unwrap();
    save(&mut client(server.grpc), "menu", 1, text(4)).await.unwrap();
    let put = "PUT /api/v1/policies/menu";
    let late = ask(server.http, put, &[JSON, ("if-match", "\"1\"")], &edit(&text(2))).await;
    assert_eq!((late.status, &late.json()["present"]["revision"]), (409, &2.into()));
    assert_eq!(late.json()["present"]["author"], "ada");
    let twice = ask(server.http, put, &[JSON, ("if-none-match", "*")], &edit(&text(2))).await;
    assert_eq!(twice.status, 409);
    let broken = ask(server.http, put, &[JSON, ("if-match", "2")], &edit("\nrulez = 1\n")).await;
    assert_eq!((broken.status, &broken.json()["error"]["line"]), (422, &2.into()));
    assert!(broken.json()["error"]["reason"].as_str().unwrap().contains("rules"));
    let blind = ask(server.http, put, &[JSON], &edit(&text(2))).await;
    assert_eq!(blind.status, 428, "{}", blind.body);
    let odd = ask(server.http, put, &[JSON, ("if-match", "2")], "{\"txt\":1}").await;
    assert_eq!(odd.status, 400, "{}", odd.body);
    let now = ask(server.http, "GET /api/v1/policies/menu", &[], "").await;
    assert_eq!(now.json()["revision"], 2);
}

#[tokio::test]
async fn a_page_of_another_site_can_write_nothing() {
    let server = in_memory().await;
    let put = "PUT /api/v1/policies/menu";
    let first = ("if-none-match", "*");
    for (header, value) in [
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let refused = ask(server.http, put, &[JSON, first, (header, value)], &edit(&text(3))).await;
        assert_eq!(refused.status, 403, "{header}: {value}");
        let post = "POST /api/v1/policies/menu/preview";
        let refused = ask(server.http, post, &[JSON, (header, value)], "{\"text\":\"\"}").await;
        assert_eq!(refused.status, 403, "{header}: {value}");
    }
    let form = ("content-type", "text/plain");
    let refused = ask(server.http, put, &[form, first], &edit(&text(3))).await;
    assert_eq!(refused.status, 415);
    let missing = ask(server.http, "GET /api/v1/policies/menu", &[], "").await;
    assert_eq!(missing.status, 404, "nothing was written");
    let ours = format!("http://{}", server.http);
    let written = ask(server.http, put, &[JSON, first, ("origin", &ours)], &edit(&text(3))).await;
    assert_eq!(written.status, 201, "{}", written.body);
}

#[tokio::test]
async fn traffic_and_previews_are_told_as_json() {
    let server = in_memory().await;
    save(&mut client(server.grpc), "menu", 0, text(3)).await.unwrap();
    let _instance = Instance::connect(server.grpc, "menu", "a", 0).await;
    let traffic = ask(server.http, "GET /api/v1/policies/menu/traffic", &[], "").await;
    assert_eq!((traffic.status, &traffic.json()["instances"][0]["instance"]), (200, &"a".into()));
    let post = "POST /api/v1/policies/menu/preview";
    let body = serde_json::json!({ "text": text(2) }).to_string();
    let preview = ask(server.http, post, &[JSON], &body).await;
    assert_eq!((preview.status, preview.json()["shed"].as_array().unwrap().len()), (200, 4));
}
