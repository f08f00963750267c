//! A caller that gives no name in a header is known by its certificate.

use plimsoll_qalm::QalmLayer;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::Request;
use tonic::transport::{
    Certificate, Channel, ClientTlsConfig, Identity, Server as Tonic, ServerTlsConfig,
};

use crate::grpc::call;
use crate::harness::{in_time, inflight, until};
use crate::quotes::QuoteService;

/// A CA, and what it has signed.
struct Signed {
    ca: Certificate,
    server: Identity,
    client: Identity,
}

fn signed(client: &str) -> Signed {
    let ca_key = KeyPair::generate().unwrap();
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_certificate = ca.self_signed(&ca_key).unwrap();
    let issuer = Issuer::from_params(&ca, &ca_key);
    let identity = |alternative: &str, name: &str| {
        let mut params = CertificateParams::new(vec![alternative.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap();
        Identity::from_pem(certificate.pem(), key.serialize_pem())
    };
    Signed {
        ca: Certificate::from_pem(ca_certificate.pem()),
        server: identity("localhost", "server"),
        client: identity("client.test", client),
    }
}

#[tokio::test]
async fn a_client_certificate_names_its_caller() {
    let (layer, signed) = (QalmLayer::new(), signed("checkout"));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let tls = ServerTlsConfig::new().identity(signed.server).client_ca_root(signed.ca.clone());
    let mut server = Tonic::builder().tls_config(tls).unwrap().layer(layer.clone());
    let server = server.add_service(QuoteService::default());
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    let tls = ClientTlsConfig::new().ca_certificate(signed.ca).identity(signed.client);
    let endpoint = Channel::from_shared(format!("https://{address}")).unwrap();
    let endpoint = endpoint.tls_config(tls.domain_name("localhost")).unwrap();
    let channel = in_time(endpoint.connect()).await.unwrap();
    for _ in 0..2 {
        let answer = call(&channel, "/test.v1.Quotes/Get", Request::new(String::new()));
        assert!(in_time(answer).await.is_ok());
    }
    until(|| inflight(&layer) == 0).await;
    let page = layer.debug().text();
    assert!(page.contains("/test.v1.Quotes/Get") && page.contains("checkout"), "{page}");
}
