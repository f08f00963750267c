//! One server at a time: introduced, listened to, told what was seen; and tried
//! again, or another, when it is away.

use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::time::Duration;

use plimsoll_wire::v1::policy_service_client::PolicyServiceClient;
use plimsoll_wire::v1::sync_request::Message as Said;
use plimsoll_wire::v1::sync_response::Message as Told;
use plimsoll_wire::v1::{SyncHello, SyncRequest, SyncResponse};
use tokio::sync::mpsc::{self, Sender};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Endpoint;
use tonic::{Code, Status as Refusal};

use super::applying::Applier;
use super::observer::Observer;
use crate::jitter::Jitter;
use crate::layer::protection::Protection;
use crate::policy_file::MAX_BYTES;
use crate::policy_server::{Backoff, Dialer, connect};

/// A server that does not say within this that it listens is left.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// What may be on its way to a server that does not read.
const ON_THE_WAY: usize = 8;
/// How often the server is told what was seen, unless it says.
const OBSERVE_EVERY: Duration = Duration::from_secs(10);
/// What it may ask for.
const OFTENEST: Duration = Duration::from_millis(100);
const RAREST: Duration = Duration::from_secs(600);
/// How long a server is left alone that will refuse the same again.
const REFUSED: Duration = Duration::from_secs(60);

/// Who we are.
#[derive(Debug)]
pub(super) struct Introduction {
    pub(super) service: String,
    pub(super) instance: String,
    pub(super) version: String,
}

pub(super) struct Contact<'a> {
    pub(super) applier: &'a Applier,
    pub(super) protection: Weak<Protection>,
    pub(super) introduction: Introduction,
    pub(super) jitter: Jitter,
}

/// How a contact ended.
struct Ended {
    reason: String,
    /// How long to wait at least before the next.
    wait: Duration,
}

impl From<String> for Ended {
    fn from(reason: String) -> Self {
        Self { reason, wait: Duration::ZERO }
    }
}

impl From<&str> for Ended {
    fn from(reason: &str) -> Self {
        reason.to_owned().into()
    }
}

impl From<Refusal> for Ended {
    fn from(refusal: Refusal) -> Self {
        let (code, said) = (refusal.code(), refusal.message());
        let (wait, advice) = match code {
            // We have one stream at a time: somebody else has taken this name.
            Code::Aborted => (REFUSED, "; give each instance a name of its own"),
            Code::InvalidArgument | Code::PermissionDenied | Code::Unauthenticated => (REFUSED, ""),
            Code::Unimplemented => (REFUSED, "; is it a server of Plimsoll that knows policies?"),
            _ => (pushed_back(&refusal), ""),
        };
        Self { reason: format!("{code:?}: {said}{advice}"), wait }
    }
}

/// How long a server that is full asks to be left alone.
fn pushed_back(refusal: &Refusal) -> Duration {
    let wish = refusal.metadata().get("grpc-retry-pushback-ms");
    let millis = wish.and_then(|it| it.to_str().ok()?.parse().ok()).unwrap_or(0);
    Duration::from_millis(millis).min(RAREST)
}

/// When to tell what was seen.
struct Observing {
    observer: Observer,
    every: Duration,
    due: Instant,
}

impl Contact<'_> {
    /// Keeps in contact until the layer is gone.
    pub(super) async fn keep(&self, mut dialer: Dialer) {
        dialer.begin(self.jitter.next());
        let mut backoff = Backoff::default();
        let mut is_news = true;
        loop {
            let begun = Instant::now();
            let (endpoint, address) = dialer.next();
            let Err(Ended { reason, wait }) = self.talk(&endpoint, &address).await;
            if self.protection.strong_count() == 0 {
                break;
            }
            is_news |= self.lost();
            if std::mem::take(&mut is_news) {
                let revision = self.applier.status.borrow().revision;
                tracing::warn!(
                    server = address,
                    reason,
                    revision,
                    "policy server away: what holds goes on"
                );
            }
            sleep(wait + backoff.after(begun.elapsed(), self.jitter.next())).await;
        }
    }

    /// True if a server was connected until now.
    fn lost(&self) -> bool {
        self.applier.status.send_if_modified(|it| it.meet(None))
    }

    fn met(&self, address: &str) {
        self.applier.status.send_if_modified(|it| it.meet(Some(address)));
        let service = &self.introduction.service;
        tracing::info!(service, server = address, "policy server connected");
    }

    /// Ends with the contact, with why.
    async fn talk(&self, endpoint: &Endpoint, address: &str) -> Result<Infallible, Ended> {
        let channel = connect(endpoint).await?;
        let (tell, waiting) = mpsc::channel(ON_THE_WAY);
        say(&tell, Said::Hello(self.hello()))?;
        let mut client =
            PolicyServiceClient::new(channel).max_decoding_message_size(2 * MAX_BYTES as usize);
        let call = timeout(ANSWER_WITHIN, client.sync(ReceiverStream::new(waiting))).await;
        let answer = call.map_err(|_| "it does not answer")?;
        let mut pushed = answer?.into_inner();
        self.met(address);
        let mut observing = self.observing()?;
        loop {
            tokio::select! {
                message = pushed.message() => {
                    let message = message?.ok_or("it has hung up")?;
                    self.hear(message, &tell, &mut observing)?;
                }
                () = sleep_until(observing.due) => self.observe(&tell, &mut observing)?,
            }
        }
    }

    fn hello(&self) -> SyncHello {
        let Introduction { service, instance, version } = &self.introduction;
        let holds = self.applier.status.borrow();
        SyncHello {
            service: service.clone(),
            instance: instance.clone(),
            version: version.clone(),
            revision: holds.revision,
            text_version: holds.version.clone(),
        }
    }

    fn hear(
        &self,
        message: SyncResponse,
        tell: &Sender<SyncRequest>,
        observing: &mut Observing,
    ) -> Result<(), String> {
        match message.message {
            Some(Told::Policy(policy)) => say(tell, Said::Applied(self.applier.apply(policy))),
            Some(Told::NoPolicy(_)) => {
                let service = &self.introduction.service;
                tracing::info!(service, "the server has no policy: what holds goes on");
                Ok(())
            }
            Some(Told::ObserveEvery(every)) => {
                let every = Duration::try_from(every).unwrap_or(OBSERVE_EVERY);
                observing.pace(every.clamp(OFTENEST, RAREST), self.jitter.next());
                Ok(())
            }
            // A server that knows more than we do.
            None => Ok(()),
        }
    }

    /// # Errors
    /// The layer is gone.
    fn layer(&self) -> Result<Arc<Protection>, String> {
        self.protection.upgrade().ok_or_else(|| "nobody needs it".to_owned())
    }

    fn observing(&self) -> Result<Observing, String> {
        let layer = self.layer()?;
        let observer = Observer::new(&layer, Instant::now());
        let mut observing = Observing { observer, every: OBSERVE_EVERY, due: Instant::now() };
        observing.pace(OBSERVE_EVERY, self.jitter.next());
        Ok(observing)
    }

    /// What does not fit on the way now is in the next one.
    fn observe(&self, tell: &Sender<SyncRequest>, observing: &mut Observing) -> Result<(), String> {
        observing.due = Instant::now() + observing.every;
        let Ok(permit) = tell.try_reserve() else {
            self.applier.status.send_modify(|it| it.left_out += 1);
            return Ok(());
        };
        let layer = self.layer()?;
        let seen = observing.observer.observe(&layer, Instant::now());
        permit.send(SyncRequest { message: Some(Said::Observation(seen)) });
        self.applier.status.send_modify(|it| it.observations += 1);
        Ok(())
    }
}

impl Observing {
    /// From now on so often, beginning somewhere within the first span: instances
    /// that started together do not tell together.
    fn pace(&mut self, every: Duration, dice: f64) {
        self.every = every;
        self.due = Instant::now() + every.mul_f64(dice);
    }
}

/// # Errors
/// The server has not read for long.
fn say(tell: &Sender<SyncRequest>, message: Said) -> Result<(), String> {
    let message = SyncRequest { message: Some(message) };
    tell.try_send(message).map_err(|_| "it does not read".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_would_refuse_again_is_left_alone_for_a_while() {
        let wait = |refusal: Refusal| Ended::from(refusal).wait;
        assert_eq!(wait(Refusal::invalid_argument("no such name")), REFUSED);
        assert_eq!(wait(Refusal::aborted("connected anew")), REFUSED);
        assert_eq!(wait(Refusal::unavailable("leaving")), Duration::ZERO);
        let mut full = Refusal::resource_exhausted("too many instances");
        full.metadata_mut().insert("grpc-retry-pushback-ms", "2500".parse().unwrap());
        assert_eq!(wait(full), Duration::from_millis(2500));
    }

    #[test]
    fn who_has_another_ones_name_is_told_what_to_do() {
        let ended = Ended::from(Refusal::aborted("the instance has connected anew"));
        assert!(ended.reason.contains("name of its own"), "{}", ended.reason);
    }
}
