//! Calls to etcd that do not hang and do not insist on a dead member.
//!
//! One lazy channel a member. A call goes to the member that answered last; if it
//! does not answer within its share of the deadline, or its transport breaks, the
//! next one is asked. tonic's own balancer is not used: it goes on choosing a member
//! that refuses connections (grpc/grpc-rust#643).
//!
//! Every call here may be made twice: reads, and transactions that compare what they
//! change. Whoever adds another kind must not use [`Client::call`] for it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request, Status};

use super::api::auth_client::AuthClient;
use super::api::kv_client::KvClient;
use super::api::{AuthenticateRequest, RangeRequest, RangeResponse, TxnRequest, TxnResponse};
use super::error::EtcdError;
use super::options::{EtcdOptions, EtcdTls};

/// The longest that one member may take to answer. An election among them takes a
/// second and a half.
const ONE_MEMBER: Duration = Duration::from_millis(1500);
/// The longest that a call takes, whoever is asked.
const DEADLINE: Duration = Duration::from_secs(5);
const CONNECT_WITHIN: Duration = Duration::from_millis(800);
/// Between two tries: an election is going on, or everybody is down.
const PAUSE: Duration = Duration::from_millis(50);
const PING_EVERY: Duration = Duration::from_secs(2);
const PONG_WITHIN: Duration = Duration::from_secs(2);
/// A page of a range may be as large as etcd lets a value be, many times over.
const LARGEST_MESSAGE: usize = 256 << 20;

/// The members, and which of them is asked first.
#[derive(Debug)]
pub(super) struct Client {
    members: Vec<Member>,
    first: AtomicUsize,
    user: Option<(String, String)>,
    token: RwLock<Option<MetadataValue<Ascii>>>,
}

#[derive(Debug)]
struct Member {
    endpoint: String,
    channel: Channel,
}

impl Client {
    /// Checks the options; connects when it is used.
    pub(super) fn new(options: &EtcdOptions) -> Result<Self, EtcdError> {
        let members = options.endpoints.iter().map(|endpoint| member(endpoint, &options.tls));
        let members = members.collect::<Result<Vec<_>, _>>()?;
        if members.is_empty() {
            return Err(EtcdError::NoEndpoint);
        }
        let user = options.user.clone();
        Ok(Self { members, first: AtomicUsize::new(0), user, token: RwLock::default() })
    }

    pub(super) async fn range(&self, request: RangeRequest) -> Result<RangeResponse, EtcdError> {
        self.call("read", |channel, sign| {
            let request = sign.request(request.clone());
            async move { kv(channel).range(request).await }
        })
        .await
    }

    pub(super) async fn txn(&self, request: TxnRequest) -> Result<TxnResponse, EtcdError> {
        self.call("write", |channel, sign| {
            let request = sign.request(request.clone());
            async move { kv(channel).txn(request).await }
        })
        .await
    }

    /// Asks one member after the other until one answers. `ask` may be made twice.
    pub(super) async fn call<T, F>(
        &self,
        what: &'static str,
        ask: impl Fn(Channel, Signature) -> F,
    ) -> Result<T, EtcdError>
    where
        F: Future<Output = Result<tonic::Response<T>, Status>>,
    {
        let deadline = tokio::time::Instant::now() + DEADLINE;
        loop {
            let first = self.first.load(Ordering::Relaxed);
            let member = &self.members[first % self.members.len()];
            let token = self.token().await?;
            let answer =
                tokio::time::timeout(ONE_MEMBER, ask(member.channel.clone(), Signature(token)))
                    .await;
            let status = match answer {
                Ok(Ok(answer)) => return Ok(answer.into_inner()),
                Ok(Err(status)) => status,
                Err(_) => Status::deadline_exceeded("no answer"),
            };
            if self.token_is_stale(&status) {
                *self.token.write() = None;
            } else if !is_worth_another_try(&status) {
                return Err(EtcdError::refused(what, &member.endpoint, &status));
            }
            self.ask_another(first);
            if tokio::time::Instant::now() + PAUSE >= deadline {
                return Err(EtcdError::away(what, self.endpoints(), &status));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// This member gave trouble: ask the next one, unless somebody has found that
    /// out already.
    fn ask_another(&self, number: usize) {
        let next = number.wrapping_add(1);
        let _ = self.first.compare_exchange(number, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn endpoints(&self) -> String {
        self.members.iter().map(|member| member.endpoint.as_str()).collect::<Vec<_>>().join(", ")
    }

    // === authentication ===

    async fn token(&self) -> Result<Option<MetadataValue<Ascii>>, EtcdError> {
        let Some((name, password)) = &self.user else { return Ok(None) };
        if let Some(token) = self.token.read().clone() {
            return Ok(Some(token));
        }
        let token = self.authenticate(name, password).await?;
        *self.token.write() = Some(token.clone());
        Ok(Some(token))
    }

    async fn authenticate(
        &self,
        name: &str,
        password: &str,
    ) -> Result<MetadataValue<Ascii>, EtcdError> {
        let mut last = Status::unavailable("no member was asked");
        for _ in &self.members {
            let first = self.first.load(Ordering::Relaxed);
            let member = &self.members[first % self.members.len()];
            let (name, password) = (name.to_owned(), password.to_owned());
            let request = AuthenticateRequest { name, password };
            let mut client = AuthClient::new(member.channel.clone());
            let answer = tokio::time::timeout(ONE_MEMBER, client.authenticate(request)).await;
            match answer {
                Ok(Ok(answer)) => return token_of(&answer.into_inner().token),
                Ok(Err(status)) if !is_worth_another_try(&status) => {
                    return Err(EtcdError::refused("authenticate", &member.endpoint, &status));
                }
                Ok(Err(status)) => last = status,
                Err(_) => last = Status::deadline_exceeded("no answer"),
            }
            self.ask_another(first);
        }
        Err(EtcdError::away("authenticate", self.endpoints(), &last))
    }

    fn token_is_stale(&self, status: &Status) -> bool {
        self.user.is_some() && status.code() == Code::Unauthenticated
    }
}

/// Says who we are, if etcd wants to know.
#[derive(Clone)]
pub(super) struct Signature(Option<MetadataValue<Ascii>>);

impl Signature {
    pub(super) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("token", token.clone());
        }
        request
    }
}

fn kv(channel: Channel) -> KvClient<Channel> {
    KvClient::new(channel)
        .max_decoding_message_size(LARGEST_MESSAGE)
        .max_encoding_message_size(LARGEST_MESSAGE)
}

fn token_of(token: &str) -> Result<MetadataValue<Ascii>, EtcdError> {
    token.parse().map_err(|_| EtcdError::Damaged { key: "token".into(), detail: "no text".into() })
}

/// A member that is down, has no leader, or was cut off. A broken transport shows as
/// `Unknown` or `Cancelled` too.
fn is_worth_another_try(status: &Status) -> bool {
    match status.code() {
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled => true,
        Code::Unknown | Code::Internal => std::error::Error::source(status).is_some(),
        _ => false,
    }
}

fn member(endpoint: &str, tls: &EtcdTls) -> Result<Member, EtcdError> {
    let bad = |why: String| EtcdError::BadEndpoint { endpoint: endpoint.to_owned(), why };
    let given =
        if endpoint.contains("://") { endpoint.to_owned() } else { format!("http://{endpoint}") };
    let mut builder = Endpoint::from_shared(given.clone())
        .map_err(|error| bad(error.to_string()))?
        .connect_timeout(CONNECT_WITHIN)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PONG_WITHIN)
        .keep_alive_while_idle(true);
    if given.starts_with("https://") {
        builder = builder.tls_config(tls_config(tls)).map_err(|error| bad(error.to_string()))?;
    }
    Ok(Member { endpoint: given, channel: builder.connect_lazy() })
}

fn tls_config(tls: &EtcdTls) -> ClientTlsConfig {
    let mut config = ClientTlsConfig::new();
    if let Some(ca) = &tls.ca {
        config = config.ca_certificate(Certificate::from_pem(ca));
    }
    if let Some((certificate, key)) = &tls.identity {
        config = config.identity(Identity::from_pem(certificate, key));
    }
    match &tls.domain {
        Some(domain) => config.domain_name(domain),
        None => config,
    }
}
