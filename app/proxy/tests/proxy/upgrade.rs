//! WebSocket, whose handshake is HTTP and the rest is bytes.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::{connect, page, proxy, proxy_with, read_to_end, read_until, soon};

/// The key and its answer of RFC 6455, section 1.3.
const ASKS: &str = "GET /chat HTTP/1.1\r\nhost: shop.example\r\nupgrade: websocket\r\n\
                    connection: Upgrade\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
                    sec-websocket-version: 13\r\n\r\n";
const SWITCHES: &str = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\
                        connection: Upgrade\r\nconnection: x-hop\r\nx-hop: 1\r\n\
                        sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

/// Switches, sends back what it gets, and says goodbye once it gets no more.
async fn chat() -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let head = read_until(&mut stream, "\r\n\r\n").await;
        assert!(head.contains("sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"), "{head}");
        assert!(head.contains("connection: upgrade\r\n"), "{head}");
        stream.write_all(SWITCHES.as_bytes()).await.unwrap();
        let mut bytes = [0; 1024];
        loop {
            match stream.read(&mut bytes).await {
                Ok(0) | Err(_) => break,
                Ok(n) => stream.write_all(&bytes[..n]).await.unwrap(),
            }
        }
        drop(stream.write_all(b"goodbye").await);
    });
    address
}

#[tokio::test]
async fn bytes_pass_both_ways_and_each_way_ends_by_itself() {
    let proxy = proxy(chat().await).await;
    let mut client = connect(proxy.listen).await;
    client.write_all(ASKS.as_bytes()).await.unwrap();
    let head = read_until(&mut client, "\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 101 Switching Protocols\r\n"), "{head}");
    assert!(head.contains("sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), "{head}");
    assert!(head.contains("upgrade: websocket\r\n"), "{head}");
    assert!(!head.contains("x-hop"), "{head}");
    for said in ["\u{1}\u{2}first", "second"] {
        client.write_all(said.as_bytes()).await.unwrap();
        assert_eq!(read_until(&mut client, said).await, said);
    }
    assert!(page(&proxy, "/metrics").await.contains("plimsoll_proxy_tunnels 1\n"));
    client.shutdown().await.unwrap();
    assert_eq!(read_to_end(&mut client).await, "goodbye");
}

#[tokio::test]
async fn a_tunnel_without_a_byte_is_closed_in_its_time() {
    let proxy = proxy_with(chat().await, |settings| {
        settings.timeouts.tunnel_idle = Duration::from_millis(200);
    })
    .await;
    let mut client = connect(proxy.listen).await;
    client.write_all(ASKS.as_bytes()).await.unwrap();
    read_until(&mut client, "\r\n\r\n").await;
    assert_eq!(read_to_end(&mut client).await, "");
}

#[tokio::test]
async fn leaving_closes_tunnels_at_the_deadline() {
    let proxy = proxy_with(chat().await, |settings| {
        settings.drain.deadline = Duration::from_millis(100);
    })
    .await;
    let mut client = connect(proxy.listen).await;
    client.write_all(ASKS.as_bytes()).await.unwrap();
    read_until(&mut client, "\r\n\r\n").await;
    let drained = soon(proxy.stop(std::future::pending())).await;
    assert_eq!(drained.cut, 1);
    assert_eq!(read_to_end(&mut client).await, "");
}
