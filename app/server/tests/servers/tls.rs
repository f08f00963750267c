//! Servers that show each other certificates.

use std::path::PathBuf;

use plimsoll_server::{Config, Server};
use plimsoll_wire::v1;
use plimsoll_wire::v1::admin_service_client::AdminServiceClient;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use super::etcd::Etcd;
use super::fleet::{self, SOON, eventually, namespace};

/// A folder with an authority and a certificate of it, for servers and clients.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &ca).unwrap();
        let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text);
        write("ca.pem", ca.pem()).unwrap();
        write("server.pem", certificate.pem()).unwrap();
        write("server.key", key.serialize_pem()).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    fn config(&self, etcd: &Etcd) -> Config {
        let mut config = fleet::config(etcd, &[namespace("orders", 4)]);
        config.tls.certificate = self.path("server.pem");
        config.tls.key = self.path("server.key");
        config.tls.client_ca = self.path("ca.pem");
        config
    }

    fn channel(&self, server: &Server) -> Channel {
        let tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(self.read("ca.pem")))
            .identity(Identity::from_pem(self.read("server.pem"), self.read("server.key")));
        let endpoint = Endpoint::from_shared(format!("https://{}", server.grpc)).unwrap();
        endpoint.tls_config(tls).unwrap().connect_lazy()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_with_certificates_pass_calls_on_and_hand_over() {
    let (etcd, files) = (Etcd::start(), Files::new());
    let mut servers = Vec::new();
    for _ in 0..2 {
        servers.push(fleet::start(&files.config(&etcd)).await);
    }
    let request = v1::DescribeNamespaceRequest { name: "orders".into() };
    let mut leaders = Vec::new();
    for server in &servers {
        let described = eventually(SOON, "somebody leads", || async {
            let mut admin = AdminServiceClient::new(files.channel(server));
            admin.describe_namespace(request.clone()).await.ok()
        });
        leaders.push(described.await.into_inner().leader_address);
    }
    assert_eq!(leaders[0], leaders[1]);
    let old = servers.iter().position(|it| it.grpc.to_string() == leaders[0]).unwrap();
    let going = servers.remove(old);
    let handed = tokio::spawn(going.stop());
    eventually(SOON, "it is handed over", || async { servers[0].namespaces.get("orders") }).await;
    handed.await.unwrap();
}

#[tokio::test]
async fn servers_that_cannot_check_each_other_do_not_start() {
    let (etcd, files) = (Etcd::start(), Files::new());
    let mut config = files.config(&etcd);
    config.tls.client_ca = PathBuf::new();
    let refused = Server::start(&config).await.unwrap_err().to_string();
    assert!(refused.contains("tls.server_ca"), "{refused}");
}
