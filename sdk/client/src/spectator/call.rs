//! Carries requests to the owner of their shard while shards change hands.
//!
//! A request that its owner refused because the shard is not there, or that found
//! nobody at the owner's address, has done nothing: it follows "it moved there",
//! or is held until the map has news or a scout gets through, or it gives up at its
//! deadline. `journey` decides that, `holds` bounds those who are held and `pace`
//! what they ask of servers; this sends and waits.

mod error;
mod holds;
mod journey;
mod pace;
mod scouting;
mod turns;
mod waiting;

use std::sync::Arc;
use std::time::Duration;

use plimsoll_placement::time::Time;
use plimsoll_routing::RoutedExecutor;

pub use error::CallError;
pub(crate) use error::Undelivered;
use holds::Role;
use journey::{Grant, Journey, Step, View};
pub(super) use turns::Turns;
pub(super) use waiting::Waiting;
use waiting::{Seat, Word};

use super::asking::Answer;
use super::map::Found;
use super::shared::{Counters, Shared};
use super::{LookupError, Owner, Spectator};
use crate::ADDRESS_KEY;
use crate::moved::{Misdirected, NextOwner, Redirect};

/// An owner that has not refused after so long has taken the request.
const TAKEN_AFTER: Duration = Duration::from_millis(50);
/// How long a scout waits for a server's answer before it tries on.
const ASK_WITHIN: Duration = Duration::from_millis(100);

impl Spectator {
    /// Sends a request to the owner of a shard, and to the next one if the shard is
    /// moving: `send` is called with the owner, and again only after an error that
    /// says that nothing was done ([`Redirect`]: a tonic `Status`, a
    /// [`NotHere`](crate::NotHere), a [`BoxError`](crate::BoxError) of either, or a
    /// refused connection).
    ///
    /// Meanwhile it is held, for at most the builder's `hold_within`; a request that
    /// is under way is never cut.
    ///
    /// ```no_run
    /// # async fn example(spectator: plimsoll_client::Spectator) {
    /// # async fn get(_: Option<&str>) -> Result<u64, tonic::Status> { Ok(1) }
    /// let count = spectator.call("42", |owner| async move { get(owner.address()).await }).await;
    /// # let _ = count; }
    /// ```
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn call<T, E, F, A>(&self, shard: &str, mut send: F) -> Result<T, CallError<E>>
    where
        E: Redirect,
        F: FnMut(Owner) -> A,
        A: Future<Output = Result<T, E>>,
    {
        let misdirected = |answer: &Result<T, E>| answer.as_ref().err().and_then(E::redirect);
        self.deliver(shard, &mut send, misdirected).await?.map_err(CallError::Failed)
    }

    /// The same for any answer, if it can be told which say that nothing was done.
    pub(crate) async fn deliver<R, A>(
        &self,
        shard: &str,
        send: &mut impl FnMut(Owner) -> A,
        misdirected: impl Fn(&R) -> Option<Misdirected>,
    ) -> Result<R, Undelivered<R>>
    where
        A: Future<Output = R>,
    {
        let mut courier = Courier::new(self, shard);
        let delivered = courier.deliver(send, misdirected).await;
        if matches!(delivered, Err(Undelivered::GaveUp { .. } | Undelivered::Full { .. })) {
            Counters::count(&self.shared.counters.gave_up);
        }
        delivered
    }
}

/// One request on its way.
struct Courier<'a, R> {
    spectator: &'a Spectator,
    shard: Arc<str>,
    journey: Journey,
    seat: Option<Seat>,
    /// The last answer that was none.
    last: Option<R>,
}

impl<'a, R> Courier<'a, R> {
    fn new(spectator: &'a Spectator, shard: &str) -> Self {
        let journey = Journey::new(spectator.shared.now(), spectator.hold_within);
        Self { spectator, shard: shard.into(), journey, seat: None, last: None }
    }

    async fn deliver<A>(
        &mut self,
        send: &mut impl FnMut(Owner) -> A,
        misdirected: impl Fn(&R) -> Option<Misdirected>,
    ) -> Result<R, Undelivered<R>>
    where
        A: Future<Output = R>,
    {
        loop {
            let owner = self.owner()?;
            let to = match self.step(owner.as_ref()) {
                Step::Send => owner.clone(),
                Step::Follow(next) => self.named(&next),
                Step::Ask => {
                    self.ask().await?;
                    None
                }
                Step::Sit => {
                    self.sit(owner.as_ref())?;
                    None
                }
                Step::Wait(until) => {
                    self.wait(until).await;
                    None
                }
                Step::GiveUp => return Err(self.give_up()),
            };
            let Some(to) = to else { continue };
            let answer = self.send(send(to)).await;
            match misdirected(&answer) {
                None => {
                    self.let_others_go();
                    return Ok(answer);
                }
                Some(why) => self.refused(owner.as_ref(), why),
            }
            self.last = Some(answer);
        }
    }

    fn step(&mut self, owner: Option<&Owner>) -> Step {
        let grant = owner.map(Grant::from);
        let role = self.seat.as_ref().map(|seat| seat.role);
        let crowd = role.is_none() && self.shared().waiting.has(&self.shard);
        self.journey.next(View { now: self.shared().now(), grant: grant.as_ref(), role, crowd })
    }

    /// Exclusive only so that answers need not be shared between threads.
    async fn send(&mut self, sending: impl Future<Output = R>) -> R {
        let Some(seat) = &self.seat else { return sending.await };
        tokio::pin!(sending);
        match tokio::time::timeout(TAKEN_AFTER, &mut sending).await {
            Ok(answer) => answer,
            Err(_) => {
                seat.open();
                sending.await
            }
        }
    }

    fn let_others_go(&self) {
        if let Some(seat) = &self.seat {
            seat.open();
        }
    }

    fn refused(&mut self, owner: Option<&Owner>, why: Misdirected) {
        Counters::count(&self.shared().counters.refused);
        let next = match why {
            Misdirected::NotHere(next) => next.filter(|next| self.named(next).is_some()),
            Misdirected::Unreached => None,
        };
        let now = self.shared().now();
        self.journey.refused(now, owner.map(Grant::from), next, rand::random());
    }

    /// The executor that a former owner named, as far as it is known how to reach it.
    fn named(&self, next: &NextOwner) -> Option<Owner> {
        let known = self.shared().read(|map, _| map.table().executor(&next.executor_id).cloned());
        let mut metadata = known.map(|known| known.metadata.clone()).unwrap_or_default();
        if let Some(address) = &next.address {
            metadata.insert(ADDRESS_KEY.to_owned(), address.to_string());
        }
        metadata.contains_key(ADDRESS_KEY).then(|| {
            let id = Arc::clone(&next.executor_id);
            Owner { executor: Arc::new(RoutedExecutor { id, metadata }), generation: 0 }
        })
    }

    // === waiting ===

    fn sit(&mut self, seen: Option<&Owner>) -> Result<(), Undelivered<R>> {
        let waiting = &self.spectator.shared.waiting;
        let Ok(seat) = waiting.sit(&self.shard) else {
            let (shard, held) = (Arc::clone(&self.shard), waiting.held());
            return Err(Undelivered::Full { shard, held });
        };
        Counters::count(&self.shared().counters.held);
        self.seat = Some(seat);
        // What the map learnt before the seat was taken is told to nobody.
        if self.owner()?.as_ref() != seen {
            self.stand_up();
        }
        Ok(())
    }

    async fn wait(&mut self, until: Time) {
        let until = self.shared().instant(until);
        let Some(seat) = &mut self.seat else { return };
        tokio::select! {
            biased;
            word = seat.word() => self.hear(word),
            () = self.spectator.shared.turns.more(), if self.journey.is_put_off() => {
                self.journey.called(self.spectator.shared.now());
            }
            () = tokio::time::sleep_until(until) => {}
        }
    }

    /// Asks a server if it is its turn, unless a word comes first. If it takes long
    /// it is not waited for: it goes on, and its answer is a word.
    async fn ask(&mut self) -> Result<(), Undelivered<R>> {
        let owner = self.owner()?;
        let asking = match self.spectator.scout_out(&self.shard, owner.as_ref()) {
            Ok(asking) => tokio::time::timeout(ASK_WITHIN, asking),
            Err(until) => {
                self.journey.put_off(until, owner.is_some(), rand::random());
                return Ok(());
            }
        };
        let Some(seat) = &mut self.seat else { return Ok(()) };
        tokio::select! {
            biased;
            word = seat.word() => self.hear(word),
            answer = asking => return self.answered(answer.ok()),
        }
        Ok(())
    }

    fn answered(&mut self, answer: Option<Answer>) -> Result<(), Undelivered<R>> {
        match answer {
            Some(Err(error)) if !matches!(error, LookupError::Unavailable { .. }) => {
                return Err(Undelivered::Lookup(error));
            }
            _ => {}
        }
        let known = self.owner()?.is_some();
        self.journey.asked(self.shared().now(), known, rand::random());
        Ok(())
    }

    fn hear(&mut self, word: Word) {
        match word {
            Word::Go => self.stand_up(),
            Word::Scout => {
                if let Some(seat) = &mut self.seat {
                    seat.role = Role::Scout;
                }
                self.journey.made_scout(self.spectator.shared.now(), rand::random());
            }
        }
    }

    fn stand_up(&mut self) {
        self.seat = None;
        self.journey.released();
    }

    fn give_up(&mut self) -> Undelivered<R> {
        Undelivered::GaveUp {
            shard: Arc::clone(&self.shard),
            waited: self.journey.took(self.shared().now()),
            tries: self.journey.tries(),
            last: self.last.take(),
        }
    }

    // === the map ===

    fn owner(&self) -> Result<Option<Owner>, Undelivered<R>> {
        match self.spectator.find(&self.shard) {
            Found::Owner(owner) => Ok(Some(owner)),
            Found::Unknown => Ok(None),
            Found::Drained => {
                let shard = Arc::clone(&self.shard);
                Err(Undelivered::Lookup(LookupError::Drained { shard }))
            }
        }
    }

    fn shared(&self) -> &'a Shared {
        &self.spectator.shared
    }
}

impl From<&Owner> for Grant {
    fn from(owner: &Owner) -> Self {
        Self { executor: Arc::clone(&owner.executor.id), generation: owner.generation }
    }
}
