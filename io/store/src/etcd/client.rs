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

use futures::stream::{self, StreamExt};
use tokio::time::{Instant, sleep, timeout};
use tonic::metadata::MetadataValue;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Status, Streaming};

use super::api::auth_client::AuthClient;
use super::api::kv_client::KvClient;
use super::api::watch_client::WatchClient;
use super::api::{AuthenticateRequest, RangeRequest, RangeResponse, TxnRequest, TxnResponse};
use super::api::{WatchRequest, WatchResponse};
use super::auth::{self, Credentials, Signature};
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
    credentials: Credentials,
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
        let credentials = Credentials::new(options.user.clone());
        Ok(Self { members, first: AtomicUsize::new(0), credentials })
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

    /// Opens a stream of changes, at whichever member is asked first now. Whoever
    /// reads it says so when it breaks: see [`Client::ask_another`].
    pub(super) async fn watch(
        &self,
        requests: Vec<WatchRequest>,
    ) -> Result<Streaming<WatchResponse>, EtcdError> {
        self.call("watch", |channel, sign| {
            // etcd ends the stream when no more can be asked for.
            let asked = stream::iter(requests.clone()).chain(stream::pending());
            let mut request = sign.request(asked);
            // A member that is cut off from the others ends the stream.
            request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
            async move { watching(channel).watch(request).await }
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
        let deadline = Instant::now() + DEADLINE;
        loop {
            let sign = self.signature().await?;
            let first = self.first.load(Ordering::Relaxed);
            let member = self.member(first);
            let status = match in_time(ask(member.channel.clone(), sign.clone())).await {
                Ok(answer) => return Ok(answer.into_inner()),
                Err(status) => status,
            };
            if auth::is_stale(&status) && self.credentials.renew(&sign) {
                tracing::debug!(endpoint = member.endpoint, %status, "etcd wants a new token");
            } else if is_worth_another_try(&status) {
                self.ask_another(first);
            } else {
                return Err(EtcdError::refused(what, &member.endpoint, &status));
            }
            if Instant::now() + PAUSE >= deadline {
                return Err(EtcdError::away(what, self.endpoints(), &status));
            }
            sleep(PAUSE).await;
        }
    }

    async fn signature(&self) -> Result<Signature, EtcdError> {
        let ask = |user: AuthenticateRequest| async move { self.authenticate(user).await };
        self.credentials.signature(ask).await
    }

    /// A token, unless etcd does not ask for one.
    async fn authenticate(&self, user: AuthenticateRequest) -> Result<Signature, EtcdError> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let first = self.first.load(Ordering::Relaxed);
            let member = self.member(first);
            let mut client = AuthClient::new(member.channel.clone());
            let status = match in_time(client.authenticate(user.clone())).await {
                Ok(answer) => return Signature::from_token(&answer.into_inner().token),
                Err(status) if auth::is_off(&status) => return Ok(Signature::default()),
                Err(status) => status,
            };
            if !is_worth_another_try(&status) {
                return Err(EtcdError::refused("authenticate", &member.endpoint, &status));
            }
            self.ask_another(first);
            if Instant::now() + PAUSE >= deadline {
                return Err(EtcdError::away("authenticate", self.endpoints(), &status));
            }
            sleep(PAUSE).await;
        }
    }

    /// etcd refused what it takes from nobody whose token is good.
    pub(super) fn renew_signature(&self) {
        self.credentials.forget();
    }

    fn member(&self, number: usize) -> &Member {
        &self.members[number % self.members.len()]
    }

    /// Which member is asked first; for [`Client::ask_another`].
    pub(super) fn asked_first(&self) -> usize {
        self.first.load(Ordering::Relaxed)
    }

    /// This member gave trouble: ask the next one, unless somebody has found that
    /// out already.
    pub(super) fn ask_another(&self, number: usize) {
        let next = number.wrapping_add(1);
        let _ = self.first.compare_exchange(number, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub(super) fn endpoints(&self) -> String {
        self.members.iter().map(|member| member.endpoint.as_str()).collect::<Vec<_>>().join(", ")
    }
}

fn kv(channel: Channel) -> KvClient<Channel> {
    KvClient::new(channel)
        .max_decoding_message_size(LARGEST_MESSAGE)
        .max_encoding_message_size(LARGEST_MESSAGE)
}

fn watching(channel: Channel) -> WatchClient<Channel> {
    WatchClient::new(channel).max_decoding_message_size(LARGEST_MESSAGE)
}

/// The answer of one member, or that it gave none.
async fn in_time<T>(
    answer: impl Future<Output = Result<tonic::Response<T>, Status>>,
) -> Result<tonic::Response<T>, Status> {
    let late = |_| Status::deadline_exceeded("no answer");
    timeout(ONE_MEMBER, answer).await.map_err(late).flatten()
}

/// A member that is down, has no leader, or was cut off. A broken transport shows as
/// `Unknown` or `Cancelled` too.
fn is_worth_another_try(status: &Status) -> bool {
    match status.code() {
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled => true,
        Code::Unknown | Code::Internal => std::error::Error::source(status).is_some(),
        // It lags behind; no space left has this code too.
        Code::ResourceExhausted => status.message().contains("too many requests"),
        _ => false,
    }
}

fn member(endpoint: &str, tls: &EtcdTls) -> Result<Member, EtcdError> {
    let bad = |why: String| EtcdError::BadEndpoint { endpoint: endpoint.to_owned(), why };
    let given =
        if endpoint.contains("://") { endpoint.to_owned() } else { format!("http://{endpoint}") };
    check_tls(&given, tls).map_err(|why| bad(why.to_owned()))?;
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

/// Nobody who gives certificates wants a connection without.
fn check_tls(endpoint: &str, tls: &EtcdTls) -> Result<(), &'static str> {
    match (endpoint.split_once("://").map(|(scheme, _)| scheme), &tls.ca) {
        (Some("https"), None) => Err("the certificate of who signed etcd's own (CA) is not given"),
        (Some("http"), _) if tls != &EtcdTls::default() => {
            Err("certificates are given, but this endpoint is not https")
        }
        (Some("http" | "https"), _) => Ok(()),
        _ => Err("its scheme is neither http nor https"),
    }
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
