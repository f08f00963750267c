//! Reaching a server, or saying why not.

use std::fs;
use std::net::TcpListener;

use tonic::transport::{Identity, ServerTlsConfig};

use crate::fake::Fake;
use crate::harness::{golden, smctl_with_env};

#[test]
fn nobody_listening_is_said_with_the_address() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    golden(&address, "error-unreachable", "namespace list", "");
}

#[test]
fn a_certificate_that_cannot_be_read_is_named() {
    golden("127.0.0.1:1", "error-tls-missing", "--tls-cert-path missing.pem namespace list", "");
    golden("127.0.0.1:1", "error-tls-parse", "--tcp Cargo.toml namespace list", "");
}

#[test]
fn a_given_certificate_turns_tls_on() {
    let key = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let identity = Identity::from_pem(key.cert.pem(), key.signing_key.serialize_pem());
    let fake = Fake::tls(ServerTlsConfig::new().identity(identity));
    let folder = tempfile::tempdir().unwrap();
    let certificate = folder.path().join("ca.pem");
    fs::write(&certificate, key.cert.pem()).unwrap();
    let address = fake.address.replace("127.0.0.1", "localhost");
    let variables = [
        ("SMCTL_ADDRESS", address.as_str()),
        ("SMCTL_TLS_CERT_PATH", certificate.to_str().unwrap()),
    ];
    let run = smctl_with_env(&variables, "namespace list", "");
    assert_eq!(
        (run.code, run.stdout.lines().next()),
        (0, Some("NAME      TYPE       MODE       SHARDS"))
    );
}
