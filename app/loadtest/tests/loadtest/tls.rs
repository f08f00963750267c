use std::io::Write;
use std::sync::Arc;

use plimsoll_loadtest::{Plan, Version};
use rcgen::generate_simple_self_signed;
use tempfile::NamedTempFile;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

use crate::server::{Server, answer};
use crate::{carry_out, plan, refusal};

/// A server for `localhost` that offers these protocols, and its certificate.
async fn server(offers: &[&str]) -> (Server, NamedTempFile) {
    let made = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .unwrap();
    config.alpn_protocols = offers.iter().map(|offer| offer.as_bytes().to_vec()).collect();
    let mut ca = NamedTempFile::new().unwrap();
    ca.write_all(made.cert.pem().as_bytes()).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let handler = |_| async { answer(200, &[]) };
    (Server::start_at("127.0.0.1:0", Some(acceptor), handler).await, ca)
}

fn secure(server: &Server, ca: &NamedTempFile, version: Version) -> Plan {
    let origin = format!("https://localhost:{}", server.address.port());
    Plan { ca: Some(ca.path().to_owned()), ..plan(&origin, version, 100.0, 300) }
}

#[tokio::test]
async fn the_version_is_what_the_server_prefers() {
    for (offers, spoken) in
        [(&["h2", "http/1.1"][..], "HTTP/2"), (&["http/1.1"], "HTTP/1.1"), (&[], "HTTP/1.1")]
    {
        let (server, ca) = server(offers).await;
        let report = carry_out(secure(&server, &ca, Version::Negotiated)).await;
        assert_eq!((report.protocol.as_str(), report.total.counts.ok), (spoken, 30));
    }
}

#[tokio::test]
async fn a_version_can_be_insisted_on() {
    let (server, ca) = server(&["h2", "http/1.1"]).await;
    for (version, spoken) in [(Version::Http1, "HTTP/1.1"), (Version::Http2, "HTTP/2")] {
        let report = carry_out(secure(&server, &ca, version)).await;
        assert_eq!((report.protocol.as_str(), report.total.counts.ok), (spoken, 30));
    }
}

#[tokio::test]
async fn a_server_that_does_not_offer_http2_is_said_to() {
    let (server, ca) = server(&[]).await;
    let said = refusal(secure(&server, &ca, Version::Http2)).await;
    assert!(said.contains("does not offer HTTP/2"), "{said}");
}

#[tokio::test]
async fn a_stranger_s_certificate_is_refused_with_what_to_do() {
    let ((server, _), (_, other)) = (server(&["h2"]).await, server(&["h2"]).await);
    let said = refusal(secure(&server, &other, Version::Http2)).await;
    assert!(said.contains("https://localhost") && said.contains("--ca"), "{said}");
}

#[tokio::test]
async fn a_file_without_certificates_is_said_to_be_one() {
    let (server, _) = server(&["h2"]).await;
    let empty = NamedTempFile::new().unwrap();
    let said = refusal(secure(&server, &empty, Version::Http2)).await;
    assert!(said.contains("holds no certificate"), "{said}");
}
