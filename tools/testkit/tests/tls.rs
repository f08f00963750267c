//! TLS and mutual TLS between a server, the SDK and the operator's command line.

#![expect(clippy::unwrap_used, reason = "what a test expects not to fail, fails the test")]

use std::path::{Path, PathBuf};
use std::process::Output;

use plimsoll_client::{BoxError, ConnectError, Executor, Shard, Shards, Spectator, Tls};
use plimsoll_server::{Config, Server};
use plimsoll_testkit::process::ServerProcess;
use plimsoll_testkit::{Fixture, SOON, eventually, soon, within};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

#[tokio::test]
async fn over_mutual_tls_an_executor_gets_a_shard_and_a_spectator_finds_it() {
    let files = Files::new();
    // In another process, so that nothing of it helps the client along.
    let toml = files.toml(&files.ca);
    std::fs::write(files.path("plimsoll.toml"), toml).unwrap();
    let config = files.path("plimsoll.toml").display().to_string();
    let arguments = ["--config", &config, "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"];
    let server = ServerProcess::start(&arguments).await.unwrap();
    let url = format!("https://{}", server.grpc);
    serves(&url, &files.client_tls()).await;
}

#[tokio::test]
async fn a_server_without_a_client_authority_asks_for_no_certificate() {
    let files = Files::new();
    let server = files.start("").await;
    serves(&url(&server), &files.trusting()).await;
}

#[tokio::test]
async fn a_client_without_a_certificate_is_refused() {
    let files = Files::new();
    let server = files.start(&files.ca).await;
    for said in refusals(&url(&server), &files.trusting()).await {
        assert!(said.contains("CertificateRequired"), "{said}");
        assert!(said.contains("identity_files") && said.contains("tls.client_ca"), "{said}");
    }
}

#[tokio::test]
async fn a_client_certificate_of_another_authority_is_refused() {
    let files = Files::new();
    let server = files.start(&files.ca).await;
    for (authority, alert) in [("another", "UnknownCA"), (OURS, "DecryptError")] {
        let (certificate, key) = Authority::new(authority).issue(&["client"]);
        let tls = files.trusting().identity_pem(certificate, key).unwrap();
        for said in refusals(&url(&server), &tls).await {
            assert!(said.contains(alert) && said.contains("tls.client_ca"), "{said}");
        }
    }
}

#[tokio::test]
async fn a_server_of_another_authority_is_refused() {
    let files = Files::new();
    let server = files.start(&files.ca).await;
    for (authority, why) in [("another", "UnknownIssuer"), (OURS, "BadSignature")] {
        let tls = Tls::new().ca_pem(Authority::new(authority).pem).unwrap();
        for said in refusals(&url(&server), &tls).await {
            assert!(said.contains(why) && said.contains("Tls::ca_file"), "{said}");
            assert!(said.contains(&url(&server)), "{said}");
        }
    }
}

#[tokio::test]
async fn a_server_is_called_by_the_name_in_its_certificate() {
    let files = Files::named(&["plimsoll.test"]);
    let server = files.start("").await;
    for said in refusals(&url(&server), &files.trusting()).await {
        assert!(said.contains("plimsoll.test") && said.contains("Tls::domain"), "{said}");
    }
    serves(&url(&server), &files.trusting().domain("plimsoll.test")).await;
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_told_from_one_that_is_away() {
    let files = Files::new();
    let mut config = files.config("");
    config.tls = plimsoll_server::config::Tls::default();
    let server = Server::start(&config).await.unwrap();
    for said in refusals(&url(&server), &files.trusting()).await {
        assert!(said.contains("http://") && said.contains("tls.certificate"), "{said}");
    }
}

#[tokio::test]
async fn one_server_that_can_be_trusted_is_enough() {
    let (files, others) = (Files::new(), Files::new());
    let (server, stranger) = (files.start(&files.ca).await, others.start(&others.ca).await);
    let both = format!("{},{}", url(&stranger), url(&server));
    serves(&both, &files.client_tls()).await;
}

#[tokio::test]
async fn a_server_names_the_file_that_is_no_use_to_it() {
    let files = Files::new();
    let said = files.refused(|tls| tls.certificate = files.path("gone.pem")).await;
    assert!(said.contains("tls.certificate = ") && said.contains("gone.pem"), "{said}");
    let said = files.refused(|tls| tls.certificate.clone_from(&tls.key)).await;
    assert!(said.contains("server.key holds no certificate"), "{said}");
    let said = files.refused(|tls| tls.key.clone_from(&tls.certificate)).await;
    assert!(said.contains("server.pem holds no private key"), "{said}");
    let said = files.refused(|tls| tls.key = files.path("client.key")).await;
    assert!(said.contains("client.key") && said.contains("belong together"), "{said}");
    let said = files.refused(|tls| tls.client_ca = files.broken()).await;
    assert!(said.contains("tls.client_ca = ") && said.contains("broken.pem"), "{said}");
}

#[test]
fn a_client_names_the_file_that_is_no_use_to_it() {
    let files = Files::new();
    let (certificate, key) = (files.path("client.pem"), files.path("server.key"));
    let said = Tls::new().identity_files(&certificate, &key).unwrap_err().to_string();
    assert!(said.contains("client.pem") && said.contains("server.key"), "{said}");
    let said = Tls::new().ca_file(files.broken()).unwrap_err().to_string();
    assert!(said.contains("broken.pem"), "{said}");
    let debugged = format!("{:?}", files.client_tls());
    assert!(!debugged.contains("PRIVATE") && !debugged.contains('['), "{debugged}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_trusts_the_authority_that_it_is_given() {
    let files = Files::new();
    let server = files.start("").await;
    let listed = smctl(&server, &files.path("ca.pem")).await;
    let (out, error) = (text(&listed.stdout), text(&listed.stderr));
    assert!(listed.status.success() && out.contains("orders"), "{out}{error}");
    std::fs::write(files.path("other.pem"), Authority::new("another").pem).unwrap();
    let refused = smctl(&server, &files.path("other.pem")).await;
    assert!(!refused.status.success(), "{}", text(&refused.stdout));
}

/// An executor comes up and runs both shards, and a spectator finds them there.
async fn serves(url: &str, tls: &Tls) {
    let executor = soon(executor(url, tls)).await.unwrap();
    let spectator = soon(spectator(url, tls)).await.unwrap();
    let owned = eventually(SOON, "the executor runs a shard", || async {
        executor.shards().into_iter().next()
    });
    let shard = owned.await;
    let owner = eventually(SOON, "the spectator finds it", || async {
        spectator.lookup(shard.key()).await.ok()
    });
    assert_eq!(owner.await.executor_id(), executor.id());
    // By a call of its own, over a connection of its own.
    let asked = soon(spectator.lookup_fresh(shard.key())).await.unwrap();
    assert_eq!(asked.executor_id(), executor.id());
    soon(executor.shutdown()).await.ok();
}

/// What an executor and a spectator say that do not come up.
async fn refusals(url: &str, tls: &Tls) -> [String; 2] {
    let executor = soon(executor(url, tls)).await.unwrap_err();
    let spectator = soon(spectator(url, tls)).await.unwrap_err();
    [executor, spectator].map(|error| {
        assert!(matches!(error, ConnectError::Untrusted { .. }), "{error}");
        error.to_string()
    })
}

async fn executor(url: &str, tls: &Tls) -> Result<Executor, ConnectError> {
    let brief = std::time::Duration::from_millis(1);
    let builder = Executor::builder("orders", Idle).connect(url).tls(tls.clone());
    builder.leave_within(brief).start().await
}

async fn spectator(url: &str, tls: &Tls) -> Result<Spectator, ConnectError> {
    Spectator::builder("orders").connect(url).tls(tls.clone()).start().await
}

fn url(server: &Server) -> String {
    format!("https://{}", server.grpc)
}

struct Idle;

impl Shards for Idle {
    async fn start(&self, _: Shard) -> Result<(), BoxError> {
        Ok(())
    }

    async fn stop(&self, _: Shard) {}
}

/// The name of the authority of servers and clients here. An authority may be
/// made anew and called by the same name.
const OURS: &str = "ours";

/// A certificate authority.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// A certificate for these names and its key, in PEM.
    fn issue(&self, names: &[&str]) -> (String, String) {
        let names: Vec<_> = names.iter().copied().map(str::to_owned).collect();
        let params = CertificateParams::new(names).unwrap();
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

/// The files of an authority, a server and a client.
struct Files {
    folder: TempDir,
    /// The path of the authority's certificate.
    ca: String,
}

impl Files {
    fn new() -> Self {
        Self::named(&["127.0.0.1", "localhost"])
    }

    fn named(server: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new(OURS);
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
        };
        write("ca.pem", &authority.pem);
        for (name, names) in [("server", server), ("client", &["client"])] {
            let (certificate, key) = authority.issue(names);
            write(&format!("{name}.pem"), &certificate);
            write(&format!("{name}.key"), &key);
        }
        let ca = folder.path().join("ca.pem").display().to_string();
        Self { folder, ca }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file that begins as a certificate does.
    fn broken(&self) -> PathBuf {
        let path = self.path("broken.pem");
        let pem = "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";
        std::fs::write(&path, pem).unwrap();
        path
    }

    /// The configuration of a server that demands certificates of this authority,
    /// or none if it is empty.
    fn toml(&self, client_ca: &str) -> String {
        let (certificate, key) = (self.path("server.pem"), self.path("server.key"));
        let namespace = Fixture::fixed("orders", 2).quick().to_toml();
        format!(
            "store = \"memory\"\n[tls]\ncertificate = {certificate:?}\nkey = {key:?}\n\
             client_ca = {client_ca:?}\n{namespace}"
        )
    }

    fn config(&self, client_ca: &str) -> Config {
        let mut config = Config::load(Some(("test", &self.toml(client_ca))), []).unwrap();
        config.grpc.listen = "127.0.0.1:0".to_owned();
        config.http.listen = "127.0.0.1:0".to_owned();
        config
    }

    async fn start(&self, client_ca: &str) -> Server {
        Server::start(&self.config(client_ca)).await.unwrap()
    }

    /// What a server says that does not start with this configuration.
    async fn refused(&self, change: impl FnOnce(&mut plimsoll_server::config::Tls)) -> String {
        let mut config = self.config(&self.ca);
        change(&mut config.tls);
        soon(Server::start(&config)).await.unwrap_err().to_string()
    }

    fn trusting(&self) -> Tls {
        Tls::new().ca_file(&self.ca).unwrap()
    }

    fn client_tls(&self) -> Tls {
        let (certificate, key) = (self.path("client.pem"), self.path("client.key"));
        self.trusting().identity_files(certificate, key).unwrap()
    }
}

/// Lists the namespaces of a server.
async fn smctl(server: &Server, ca: &Path) -> Output {
    let (address, ca) = (server.grpc.to_string(), ca.to_owned());
    let run = tokio::task::spawn_blocking(move || {
        let mut command = std::process::Command::new(smctl_binary());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("SMCTL_")) {
            command.env_remove(name);
        }
        command.args(["--address", &address, "--tls-cert-path"]).arg(ca);
        command.args(["namespace", "list"]).output().unwrap()
    });
    // It may have to be built.
    within(30 * SOON, run).await.unwrap()
}

/// Built here if it is not up to date, in the folder that this test is in.
fn smctl_binary() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = std::process::Command::new(cargo);
    cargo.args(["build", "--quiet", "--package", "smctl"]);
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    // With those of this test, build scripts that look at them would run again.
    let of_this_test = |name: &str| name.starts_with("CARGO_PKG_") || name.contains("_MANIFEST_");
    for (name, _) in std::env::vars().filter(|(name, _)| of_this_test(name)) {
        cargo.env_remove(name);
    }
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    assert!(cargo.status().unwrap().success(), "smctl cannot be built");
    profile.join("smctl")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
