//! TLS, and users with passwords, against an etcd that insists on them.

use std::fs;
use std::time::{Duration, Instant};

use plimsoll_store::{Elections, EtcdError, EtcdOptions, EtcdStore, EtcdTls, Store};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;

use super::cluster::{Members, free_port, url};
use super::{grant, orders};

const TTL: Duration = Duration::from_secs(60);
/// `/plimsoll/` and what follows the last of its keys, as etcd's gateway wants it.
const RANGE: &str = r#""key":"L3BsaW1zb2xsLw==","range_end":"L3BsaW1zb2xsMA==""#;

// === TLS ===

/// An etcd that only takes clients with a certificate of its CA.
struct Secure {
    endpoint: String,
    tls: EtcdTls,
    _members: Members,
    _files: TempDir,
}

type Ca = CertifiedIssuer<'static, KeyPair>;

fn ca() -> Ca {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate and its key, for servers and clients alike.
fn issued(ca: &Ca, name: &str) -> (Vec<u8>, Vec<u8>) {
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, ca).unwrap();
    (certificate.pem().into_bytes(), key.serialize_pem().into_bytes())
}

impl Secure {
    fn start(server_name: &str) -> Self {
        let (ca, files) = (ca(), TempDir::new().unwrap());
        let (certificate, key) = issued(&ca, server_name);
        let file = |name: &str, content: &[u8]| {
            let path = files.path().join(name);
            fs::write(&path, content).unwrap();
            path.display().to_string()
        };
        let (secure, plain) = (free_port(), free_port());
        let endpoint = format!("https://127.0.0.1:{secure}");
        let options = vec![
            format!("--cert-file={}", file("server.pem", &certificate)),
            format!("--key-file={}", file("server.key", &key)),
            format!("--trusted-ca-file={}", file("ca.pem", ca.pem().as_bytes())),
            "--client-cert-auth".to_owned(),
            format!("--listen-client-urls={endpoint},{}", url(plain)),
        ];
        let members = Members::at(plain, options);
        let tls = EtcdTls {
            ca: Some(ca.pem().into_bytes()),
            identity: Some(issued(&ca, "plimsoll-server")),
            domain: None,
        };
        Self { endpoint, tls, _members: members, _files: files }
    }

    async fn connect(&self, tls: EtcdTls) -> Result<EtcdStore, EtcdError> {
        EtcdStore::connect(&EtcdOptions { tls, ..EtcdOptions::new([&self.endpoint]) }).await
    }
}

#[tokio::test]
async fn all_works_over_tls_with_a_client_certificate() {
    let etcd = Secure::start("127.0.0.1");
    let store = etcd.connect(etcd.tls.clone()).await.unwrap();
    store.create(orders(), Vec::new()).await.unwrap();
    let server = Elections::join(&store, "a", "about", TTL).await.unwrap();
    let leader = server.lead("orders", None).await.unwrap().unwrap();
    store.commit("orders", leader.epoch, vec![grant("1", 1)]).await.unwrap();
    assert_eq!(store.load("orders").await.unwrap().grants.len(), 1);
    assert!(server.keep_alive().await.unwrap());
    let first = futures::StreamExt::next(&mut server.watch()).await;
    assert!(format!("{first:?}").contains("orders"), "{first:?}");
}

#[tokio::test]
async fn a_name_can_be_given_that_is_not_that_of_the_endpoint() {
    let etcd = Secure::start("etcd.example");
    let error = etcd.connect(etcd.tls.clone()).await.unwrap_err().to_string();
    assert!(error.contains("certificate"), "{error}");
    let tls = EtcdTls { domain: Some("etcd.example".to_owned()), ..etcd.tls.clone() };
    etcd.connect(tls).await.unwrap();
}

#[tokio::test]
async fn whoever_has_no_good_certificate_is_told_so() {
    let etcd = Secure::start("127.0.0.1");
    let stranger = ca();
    let not_trusted = EtcdTls { ca: Some(stranger.pem().into_bytes()), ..etcd.tls.clone() };
    let error = etcd.connect(not_trusted).await.unwrap_err().to_string();
    assert!(error.contains("peer certificate") && error.contains(&etcd.endpoint), "{error}");
    for identity in [None, Some(issued(&stranger, "intruder"))] {
        let error = etcd.connect(EtcdTls { identity, ..etcd.tls.clone() }).await.unwrap_err();
        assert!(error.to_string().contains(&etcd.endpoint), "{error}");
    }
}

#[tokio::test]
async fn certificates_and_endpoints_that_do_not_go_together_are_refused() {
    let ca = EtcdTls { ca: Some(ca().pem().into_bytes()), ..EtcdTls::default() };
    let cases = [
        ("https://127.0.0.1:1", EtcdTls::default(), "CA"),
        ("http://127.0.0.1:1", ca.clone(), "not https"),
        ("127.0.0.1:1", ca, "not https"),
        ("ftp://127.0.0.1:1", EtcdTls::default(), "scheme"),
    ];
    for (endpoint, tls, says) in cases {
        let options = EtcdOptions { tls, ..EtcdOptions::new([endpoint]) };
        let error = EtcdStore::connect(&options).await.unwrap_err().to_string();
        assert!(error.contains(says) && error.contains(endpoint), "{error}");
    }
}

// === users ===

/// An etcd that does not ask who comes yet, with a user who may have `/plimsoll/`.
fn with_users(options: Vec<String>) -> Members {
    let members = Members::with(1, options);
    let post = |path: &str, json: &str| members.post(0, path, "", json);
    post("/v3/auth/user/add", r#"{"name":"root","password":"secret"}"#);
    post("/v3/auth/role/add", r#"{"name":"root"}"#);
    post("/v3/auth/user/grant", r#"{"user":"root","role":"root"}"#);
    post("/v3/auth/user/add", r#"{"name":"plimsoll","password":"correct horse"}"#);
    post("/v3/auth/role/add", r#"{"name":"plimsoll"}"#);
    let perm = format!(r#"{{"name":"plimsoll","perm":{{"permType":"READWRITE",{RANGE}}}}}"#);
    post("/v3/auth/role/grant", &perm);
    post("/v3/auth/user/grant", r#"{"user":"plimsoll","role":"plimsoll"}"#);
    members
}

fn turn_on(members: &Members) {
    members.post(0, "/v3/auth/enable", "", "{}");
}

fn as_user(members: &Members, password: &str) -> EtcdOptions {
    let user = Some(("plimsoll".to_owned(), password.to_owned()));
    EtcdOptions { user, ..EtcdOptions::new(members.endpoints()) }
}

/// A store with a leader who has made one change.
async fn led(members: &Members) -> (EtcdStore, Elections, plimsoll_store::Leader) {
    let store = EtcdStore::connect(&as_user(members, "correct horse")).await.unwrap();
    store.create(orders(), Vec::new()).await.unwrap();
    let server = Elections::join(&store, "a", "about", TTL).await.unwrap();
    let leader = server.lead("orders", None).await.unwrap().unwrap();
    store.commit("orders", leader.epoch, vec![grant("1", 1)]).await.unwrap();
    (store, server, leader)
}

#[tokio::test]
async fn a_user_who_may_have_the_prefix_and_nothing_else_can_do_it_all() {
    let members = with_users(Vec::new());
    turn_on(&members);
    let (store, server, leader) = led(&members).await;
    let all = (0..3000).map(|shard| grant(&shard.to_string(), 2)).collect();
    store.commit("orders", leader.epoch, all).await.unwrap();
    assert_eq!(store.load("orders").await.unwrap().grants.len(), 3000);
    assert!(server.keep_alive().await.unwrap());
    let first = futures::StreamExt::next(&mut server.watch()).await;
    assert!(format!("{first:?}").contains("orders"), "{first:?}");
    server.leave().await.unwrap();
    store.delete("orders").await.unwrap();
}

#[tokio::test]
async fn a_stranger_is_told_what_is_wrong() {
    let members = with_users(Vec::new());
    turn_on(&members);
    let outside = Some("/elsewhere/".to_owned());
    let cases = [
        (as_user(&members, "wrong"), "password"),
        (EtcdOptions::new(members.endpoints()), "user name is empty"),
        (
            EtcdOptions { prefix: outside, ..as_user(&members, "correct horse") },
            "permission denied",
        ),
    ];
    for (options, says) in cases {
        let begun = Instant::now();
        let error = EtcdStore::connect(&options).await.unwrap_err();
        assert!(matches!(error, EtcdError::Refused { .. }), "{error}");
        assert!(error.to_string().contains(says), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(3), "it is not tried again and again");
    }
}

#[tokio::test]
async fn users_may_be_turned_on_while_all_is_running() {
    let members = with_users(Vec::new());
    let (store, server, leader) = led(&members).await;
    turn_on(&members);
    store.commit("orders", leader.epoch, vec![grant("2", 2)]).await.unwrap();
    assert!(server.keep_alive().await.unwrap());
}

/// etcd forgets its simple tokens when it restarts.
#[tokio::test]
async fn a_token_that_is_not_known_any_more_is_fetched_again() {
    let mut members = with_users(Vec::new());
    turn_on(&members);
    let (store, server, leader) = led(&members).await;
    let mut changes = server.watch();
    futures::StreamExt::next(&mut changes).await;
    members.kill(0);
    members.restart(0);
    store.commit("orders", leader.epoch, vec![grant("2", 2)]).await.unwrap();
    server.resign(&leader).await.unwrap();
    let change = tokio::time::timeout(TTL / 3, futures::StreamExt::next(&mut changes)).await;
    assert!(format!("{change:?}").contains("leader: None"), "{change:?}");
}

/// A token of these says when it ends, and at which state of users it was made.
#[tokio::test]
async fn a_token_that_has_run_out_or_is_older_than_a_change_of_users_is_fetched_again() {
    let files = TempDir::new().unwrap();
    let key = files.path().join("jwt.key");
    fs::write(&key, "a key that signs tokens").unwrap();
    let token = format!("--auth-token=jwt,sign-method=HS256,priv-key={},ttl=1s", key.display());
    let members = with_users(vec![token]);
    turn_on(&members);
    let (store, server, leader) = led(&members).await;
    for generation in 2..6 {
        if generation == 4 {
            add_user(&members);
        }
        store.commit("orders", leader.epoch, vec![grant("1", generation)]).await.unwrap();
        assert!(server.keep_alive().await.unwrap());
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
}

fn add_user(members: &Members) {
    let root = r#"{"name":"root","password":"secret"}"#;
    let answer = members.post(0, "/v3/auth/authenticate", "", root);
    let token = answer.split(r#""token":""#).nth(1).unwrap().split('"').next().unwrap();
    let user = r#"{"name":"somebody","password":"else"}"#;
    members.post(0, "/v3/auth/user/add", token, user);
}
