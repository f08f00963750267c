//! `ExecutorService`: the session stream of executors.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_ownership::action::{Farewell, Tell};
use plimsoll_ownership::ids::SessionId;
use plimsoll_ownership::message::{Grant, LeaseEnd, NextOwner, Preparation};
use plimsoll_ownership::namespace::{Hello, Holding, SessionEvent};
use plimsoll_wire::v1;
use plimsoll_wire::v1::executor_service_server::ExecutorService;
use plimsoll_wire::v1::session_request::Message as FromExecutor;
use plimsoll_wire::v1::session_response::Message as ToExecutor;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::support::{gone, invalid};
use super::{Services, validate};
use crate::driver::NamespaceHandle;
use crate::metrics::Metrics;

/// The longest that a stream may be open without a hello.
pub(super) const HELLO_WITHIN: Duration = Duration::from_secs(10);
/// Batches that an executor may leave unread before it is cut.
const UNREAD: usize = 1024;
/// Messages on their way to the connection.
const WRITING: usize = 16;
/// The longest state that shares a message with others, in bytes: together, longer
/// ones could be more than an executor accepts.
const SHARES: usize = 256;

type Written = Result<v1::SessionResponse, Status>;

#[tonic::async_trait]
impl ExecutorService for Services {
    type SessionStream = ReceiverStream<Written>;

    async fn session(
        &self,
        request: Request<Streaming<v1::SessionRequest>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        let mut requests = request.into_inner();
        let hello = first_hello(&mut requests).await?;
        let namespace = self.namespace(&hello.namespace)?;
        let hello = checked_hello(hello)?;
        let turn = namespace.pacing.turn(namespace.clock.now()).map_err(come_again)?;
        tokio::time::sleep_until(namespace.clock.instant(turn).into()).await;
        self.metrics.received("Hello");
        let (stream, told) = mpsc::channel(UNREAD);
        let id = namespace.hello(hello, stream).await.map_err(gone)?;
        let (writer, written) = mpsc::channel(WRITING);
        let session = Session { namespace, id, writer, metrics: self.metrics.clone() };
        let open = self.metrics.session();
        tokio::spawn(async move {
            let _open = open;
            session.run(requests, told).await;
        });
        Ok(Response::new(ReceiverStream::new(written)))
    }
}

/// One session.
struct Session {
    namespace: Arc<NamespaceHandle>,
    id: SessionId,
    writer: mpsc::Sender<Written>,
    metrics: Metrics,
}

impl Session {
    async fn run(
        self,
        mut requests: Streaming<v1::SessionRequest>,
        mut told: mpsc::Receiver<Vec<Tell>>,
    ) {
        if let Err(fault) = self.converse(&mut requests, &mut told).await {
            tracing::debug!(namespace = %self.namespace.name, %fault, "session refused");
            // The executor may have gone too.
            drop(self.writer.send(Err(fault)).await);
        }
        // A driver that has ended knows of no sessions.
        let _ = self.namespace.session_closed(self.id).await;
    }

    /// Until the stream breaks or everything has been told, which is no fault,
    /// or the executor does something wrong, which is.
    async fn converse(
        &self,
        requests: &mut Streaming<v1::SessionRequest>,
        told: &mut mpsc::Receiver<Vec<Tell>>,
    ) -> Result<(), Status> {
        loop {
            tokio::select! {
                request = requests.message() => {
                    let Ok(Some(request)) = request else { return Ok(()) };
                    let event = event(request)?;
                    if matches!(event, SessionEvent::Beat { .. }) {
                        self.metrics.received("Beat");
                    }
                    self.namespace.session_event(self.id, event).await.map_err(gone)?;
                }
                batch = told.recv() => {
                    let Some(batch) = batch else { return Ok(()) };
                    if self.write(batch).await.is_err() {
                        return Ok(());
                    }
                }
                () = self.writer.closed() => return Ok(()),
            }
        }
    }

    async fn write(&self, batch: Vec<Tell>) -> Result<(), mpsc::error::SendError<Written>> {
        for message in messages(batch) {
            self.writer.send(Ok(message)).await?;
        }
        Ok(())
    }
}

/// Many come back at once. The metadata is gRPC's own word for when to try again.
fn come_again(after: Duration) -> Status {
    let mut status = Status::unavailable(format!(
        "many executors come back at once: say hello again in {after:.1?}"
    ));
    let millis = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
    status.metadata_mut().insert("grpc-retry-pushback-ms", millis.into());
    status
}

async fn first_hello(requests: &mut Streaming<v1::SessionRequest>) -> Result<v1::Hello, Status> {
    let first = tokio::time::timeout(HELLO_WITHIN, requests.message());
    let first = first.await.map_err(|_| invalid("no hello came within 10 s"))??;
    match first.and_then(|request| request.message) {
        Some(FromExecutor::Hello(hello)) => Ok(hello),
        Some(_) | None => Err(invalid("the first message of a session must be hello")),
    }
}

fn checked_hello(hello: v1::Hello) -> Result<Hello, Status> {
    validate::executor_id(&hello.executor_id)?;
    validate::host(&hello.host)?;
    validate::metadata(hello.metadata.iter())?;
    let holding = |it: v1::Holding| {
        validate::key(&it.shard_key)?;
        validate::generation(it.generation)?;
        let shard = Arc::from(it.shard_key);
        Ok(Holding { shard, generation: it.generation, stopping: it.stopping })
    };
    Ok(Hello {
        executor: Arc::from(hello.executor_id),
        host: Arc::from(hello.host),
        metadata: Arc::new(hello.metadata.into_iter().collect()),
        attempt: hello.attempt,
        prepares: hello.prepares,
        running: hello.running.into_iter().map(holding).collect::<Result<_, Status>>()?,
    })
}

fn event(request: v1::SessionRequest) -> Result<SessionEvent, Status> {
    let message = request.message.ok_or_else(|| invalid("an empty message"))?;
    Ok(match message {
        FromExecutor::Hello(_) => return Err(invalid("a second hello on one session")),
        FromExecutor::Beat(beat) => beat_event(beat)?,
        FromExecutor::Started(v1::Started { shard_key, generation }) => {
            SessionEvent::Started { shard: Arc::from(shard_key), generation }
        }
        FromExecutor::Stopped(v1::Stopped { shard_key, generation, error, state }) => {
            validate::state(&shard_key, &state)?;
            let error = (!error.is_empty()).then(|| validate::cut(error));
            let state = (!state.is_empty()).then(|| Arc::from(state));
            SessionEvent::Stopped { shard: Arc::from(shard_key), generation, error, state }
        }
        FromExecutor::Done(v1::Done { shard_key, generation }) => {
            SessionEvent::Done { shard: Arc::from(shard_key), generation }
        }
        FromExecutor::Prepared(v1::Prepared { shard_key, generation, error }) => {
            let error = (!error.is_empty()).then(|| validate::cut(error));
            SessionEvent::Prepared { shard: Arc::from(shard_key), generation, error }
        }
        FromExecutor::Leaving(_) => SessionEvent::Leaving,
        FromExecutor::Goodbye(v1::Goodbye { returning }) => SessionEvent::Goodbye { returning },
    })
}

fn beat_event(beat: v1::Beat) -> Result<SessionEvent, Status> {
    let mut costs = Vec::new();
    let load = |it: v1::MeasuredLoad| {
        let load = validate::load(&it.shard_key, it.load)?;
        let shard: Arc<str> = Arc::from(it.shard_key);
        if let Some(cost) = it.move_cost {
            costs.push((Arc::clone(&shard), validate::move_cost(&shard, cost)?));
        }
        Ok((shard, load))
    };
    let metadata = beat.metadata.map(|it| it.entries);
    if let Some(entries) = &metadata {
        validate::metadata(entries.iter())?;
    }
    let loads = beat.loads.into_iter().map(load).collect::<Result<_, Status>>()?;
    Ok(SessionEvent::Beat {
        sequence: beat.sequence,
        loads,
        costs,
        metadata: metadata.map(|entries| Arc::new(entries.into_iter().collect())),
    })
}

/// A batch as messages: grants that follow each other share one, unless they bring
/// long states; revocations and preparations too.
fn messages(batch: Vec<Tell>) -> Vec<v1::SessionResponse> {
    let mut messages: Vec<ToExecutor> = Vec::with_capacity(batch.len());
    for next in batch.into_iter().flat_map(long_states_apart).map(message) {
        match (messages.last_mut(), next) {
            (Some(ToExecutor::Granted(last)), ToExecutor::Granted(next))
                if next.grants.iter().all(|grant| !is_long(&grant.state)) =>
            {
                last.grants.extend(next.grants);
            }
            (Some(ToExecutor::Revoked(last)), ToExecutor::Revoked(next)) => {
                last.revocations.extend(next.revocations);
            }
            (Some(ToExecutor::Prepare(last)), ToExecutor::Prepare(next)) => {
                last.preparations.extend(next.preparations);
            }
            (_, next) => messages.push(next),
        }
    }
    messages.into_iter().map(|it| v1::SessionResponse { message: Some(it) }).collect()
}

/// What a welcome grants with a long state follows it: nobody runs it yet.
fn long_states_apart(tell: Tell) -> Vec<Tell> {
    let Tell::Welcome { lease, beat, lease_end, grants, preparations } = tell else {
        return vec![tell];
    };
    let long = |grant: &Grant| grant.state.as_deref().is_some_and(is_long);
    let (apart, grants): (Vec<_>, Vec<_>) = grants.into_iter().partition(long);
    let welcome = Tell::Welcome { lease, beat, lease_end, grants, preparations };
    std::iter::once(welcome).chain(apart.into_iter().map(Tell::Granted)).collect()
}

fn is_long(state: &[u8]) -> bool {
    state.len() > SHARES
}

fn message(tell: Tell) -> ToExecutor {
    match tell {
        Tell::Welcome { lease, beat, lease_end, grants, preparations } => {
            ToExecutor::Welcome(v1::Welcome {
                lease_ms: millis(lease),
                beat_ms: millis(beat),
                grants: grants.into_iter().map(grant).collect(),
                lease_end: at_lease_end(lease_end).into(),
                preparations: preparations.iter().map(|it| preparation(it, false)).collect(),
            })
        }
        Tell::Granted(granted) => ToExecutor::Granted(v1::Granted { grants: vec![grant(granted)] }),
        Tell::Revoked { shard, generation, reason, next } => ToExecutor::Revoked(v1::Revoked {
            revocations: vec![revocation(&shard, generation, reason.as_str(), next.as_ref())],
        }),
        Tell::Prepare(it) => {
            ToExecutor::Prepare(v1::Prepare { preparations: vec![preparation(&it, false)] })
        }
        Tell::Abandon(it) => {
            ToExecutor::Prepare(v1::Prepare { preparations: vec![preparation(&it, true)] })
        }
        Tell::BeatAck { sequence } => ToExecutor::BeatAck(v1::BeatAck { sequence }),
        Tell::Farewell(why) => ToExecutor::Farewell(v1::Farewell { reason: reason(why).into() }),
    }
}

fn grant(grant: Grant) -> v1::Grant {
    v1::Grant {
        shard_key: grant.shard.to_string(),
        generation: grant.generation,
        state: grant.state.map_or_else(Vec::new, |state| state.to_vec()),
        previous_executor_id: grant.previous.map_or_else(String::new, |id| id.to_string()),
    }
}

fn revocation(
    shard: &str,
    generation: u64,
    reason: &str,
    next: Option<&NextOwner>,
) -> v1::Revocation {
    v1::Revocation {
        shard_key: shard.to_owned(),
        generation,
        reason: reason.to_owned(),
        next_executor_id: next.map_or_else(String::new, |next| next.executor.to_string()),
        next_address: next.map_or_else(String::new, |next| next.address.to_string()),
    }
}

fn preparation(it: &Preparation, abandoned: bool) -> v1::Preparation {
    v1::Preparation { shard_key: it.shard.to_string(), generation: it.generation, abandoned }
}

fn at_lease_end(what: LeaseEnd) -> v1::LeaseEnd {
    match what {
        LeaseEnd::Stop => v1::LeaseEnd::Stop,
        LeaseEnd::Keep => v1::LeaseEnd::Keep,
    }
}

fn reason(why: Farewell) -> v1::farewell::Reason {
    match why {
        Farewell::Goodbye => v1::farewell::Reason::Goodbye,
        Farewell::Replaced => v1::farewell::Reason::Replaced,
        Farewell::Expired => v1::farewell::Reason::Expired,
        Farewell::NamespaceDeleted => v1::farewell::Reason::NamespaceDeleted,
        Farewell::ServerLeaving => v1::farewell::Reason::ServerLeaving,
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use plimsoll_ownership::message::MAX_STATE_BYTES;
    use plimsoll_wire::MAX_MESSAGE_BYTES;
    use prost::Message;

    use super::*;

    #[test]
    fn states_that_come_together_are_never_more_than_a_message_may_be() {
        let batch: Vec<_> = (0..64).map(|shard| granted(shard, MAX_STATE_BYTES)).collect();
        let messages = messages(batch);
        assert!(messages.iter().all(|message| message.encoded_len() <= MAX_MESSAGE_BYTES));
        let grants = messages.into_iter().filter_map(|it| match it.message {
            Some(ToExecutor::Granted(granted)) => Some(granted.grants.len()),
            _ => None,
        });
        assert_eq!(grants.sum::<usize>(), 64);
    }

    #[test]
    fn long_states_follow_a_welcome_in_messages_of_their_own() {
        let grants = (0..64).map(|shard| grant_of(shard, MAX_STATE_BYTES)).collect();
        let second = Duration::from_secs(1);
        let welcome = Tell::Welcome {
            lease: second,
            beat: second,
            lease_end: LeaseEnd::Stop,
            grants,
            preparations: Vec::new(),
        };
        let messages = messages(vec![welcome]);
        assert_eq!(messages.len(), 65);
        assert!(messages.iter().all(|message| message.encoded_len() <= MAX_MESSAGE_BYTES));
        assert!(matches!(messages[0].message, Some(ToExecutor::Welcome(_))));
    }

    #[test]
    fn grants_with_short_states_share_a_message() {
        assert_eq!(messages((0..100).map(|shard| granted(shard, shard)).collect()).len(), 1);
    }

    fn granted(shard: usize, bytes: usize) -> Tell {
        Tell::Granted(grant_of(shard, bytes))
    }

    fn grant_of(shard: usize, bytes: usize) -> Grant {
        let state = Some(Arc::from(vec![7; bytes]));
        Grant { state, ..Grant::new(shard.to_string(), 1) }
    }
}
