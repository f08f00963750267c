//! How a server comes to lead a namespace: alone it simply does, among several it
//! runs in etcd. Keeps what was last seen of the others, and decides nothing: that is
//! `core/ownership`'s `leadership`.

mod about;
mod held;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use plimsoll_ownership::leadership::{Act, CONFIDENCE, Leadership, Led, Seen};
use plimsoll_placement::time::Time;
use plimsoll_store::{Elections, Epoch, EtcdError, EtcdStore, Leader, Observed};
use tokio::sync::Notify;

pub use about::About;
pub use held::Held;

use crate::clock::Clock;
use crate::confidence::Confidence;
use crate::listing::LedBy;

/// A call that is part of an election takes no longer; then nobody waits for it.
const WITHIN: Duration = Duration::from_secs(3);

/// One server's place in the elections.
#[derive(Debug)]
pub struct Elector {
    /// This server's id: its address and when it was started.
    pub me: Arc<str>,
    pub about: About,
    store: Arc<EtcdStore>,
    clock: Clock,
    elections: RwLock<Arc<Elections>>,
    joining: tokio::sync::Mutex<()>,
    core: Mutex<Leadership>,
    view: RwLock<Arc<View>>,
    /// Of what this server leads.
    confidences: Mutex<BTreeMap<Arc<str>, Confidence>>,
    /// The same leaderships, and since when they are known.
    won: Mutex<BTreeMap<Arc<str>, (Time, Leader)>>,
    /// Nobody here runs for these, though they are led no more.
    held: Mutex<BTreeSet<Arc<str>>>,
    /// Something has changed that may lead to an act.
    pub nudge: Notify,
}

/// What was last seen of everybody.
#[derive(Debug, Default)]
pub struct View {
    pub servers: BTreeMap<Arc<str>, About>,
    pub leaders: BTreeMap<Arc<str>, Leader>,
}

/// A leadership that was won.
#[derive(Clone, Debug)]
pub struct Won {
    pub epoch: Epoch,
    pub confidence: Confidence,
}

impl Elector {
    /// Joins the servers, telling them `about` this one.
    ///
    /// # Errors
    /// etcd does not answer, or refuses.
    pub async fn join(
        store: Arc<EtcdStore>,
        clock: Clock,
        about: About,
    ) -> Result<Self, EtcdError> {
        let me: Arc<str> = format!("{}@{:x}", about.address, clock.epoch_ms()).into();
        let mut core = Leadership::new(clock.now(), me.clone());
        let sent = clock.now();
        let elections = Elections::join(&store, &me, &about.to_text(), CONFIDENCE).await?;
        core.kept_alive(sent);
        Ok(Self {
            me,
            about,
            store,
            clock,
            elections: RwLock::new(Arc::new(elections)),
            joining: tokio::sync::Mutex::default(),
            core: Mutex::new(core),
            view: RwLock::default(),
            confidences: Mutex::default(),
            won: Mutex::default(),
            held: Mutex::default(),
            nudge: Notify::new(),
        })
    }

    fn elections(&self) -> Arc<Elections> {
        self.elections.read().clone()
    }

    /// What was last seen of everybody.
    pub fn view(&self) -> Arc<View> {
        self.view.read().clone()
    }

    // === keeping in touch ===

    /// Extends the lease; joins anew if it has run out.
    ///
    /// # Errors
    /// etcd does not answer.
    pub async fn keep_alive(&self) -> Result<(), EtcdError> {
        let sent = self.clock.now();
        let elections = self.elections();
        if elections.keep_alive().await? {
            self.core.lock().kept_alive(sent);
            return Ok(());
        }
        self.rejoin(&elections).await
    }

    async fn rejoin(&self, over: &Arc<Elections>) -> Result<(), EtcdError> {
        let _turn = self.joining.lock().await;
        if !Arc::ptr_eq(over, &self.elections()) {
            return Ok(());
        }
        tracing::warn!(server = %self.me, "the lease in etcd has run out: joining again");
        self.core.lock().lease_lost();
        self.nudge.notify_one();
        let sent = self.clock.now();
        let elections =
            Elections::join(&self.store, &self.me, &self.about.to_text(), CONFIDENCE).await?;
        *self.elections.write() = Arc::new(elections);
        self.core.lock().kept_alive(sent);
        Ok(())
    }

    /// Looks who is there and who leads what.
    ///
    /// # Errors
    /// etcd does not answer.
    pub async fn observe(&self) -> Result<(), EtcdError> {
        let sent = self.clock.now();
        let observed = self.elections().observe().await?;
        self.saw(sent, observed);
        Ok(())
    }

    fn saw(&self, sent: Time, observed: Observed) {
        let mut view = View::of(observed);
        // A look that was sent before a leadership was won does not show it.
        for (name, (_, leader)) in self.won.lock().iter().filter(|(_, (at, _))| sent < *at) {
            view.leaders.insert(name.clone(), leader.clone());
        }
        let mut core = self.core.lock();
        if core.observed(self.clock.now(), sent, view.seen()) {
            *self.view.write() = Arc::new(view);
        }
    }

    /// Tells of every change of servers and leaders, for as long as it is read.
    pub fn changes(&self) -> futures::stream::BoxStream<'static, plimsoll_store::Change> {
        self.elections().watch()
    }

    /// These namespaces exist.
    pub fn names(&self, names: impl IntoIterator<Item = Arc<str>>) {
        self.core.lock().names(self.clock.now(), names);
    }

    /// The address of that server refuses connections.
    pub fn refuses(&self, server: &Arc<str>) {
        self.core.lock().refuses(self.clock.now(), server);
        self.nudge.notify_one();
    }

    // === leading ===

    /// What to do now. Whoever steps down has lost its confidence when this returns,
    /// and whoever does not has as much as it may have.
    pub fn decide(&self) -> Vec<Act> {
        let now = self.clock.now();
        let mut core = self.core.lock();
        let acts = core.decide(now);
        let confidences = self.confidences.lock();
        for act in &acts {
            if let Act::StepDown { namespace, .. } = act
                && let Some(confidence) = confidences.get(namespace)
            {
                confidence.revoke();
            }
        }
        for (name, confidence) in &*confidences {
            if let Some(until) = core.confident_until(name) {
                confidence.set(until);
            }
        }
        acts
    }

    /// The least time that a leadership of this server is still sure of; `None`: it
    /// leads nothing.
    pub fn least_confidence(&self) -> Option<Duration> {
        let now = self.clock.now();
        self.confidences.lock().values().map(|it| it.end() - now).min()
    }

    /// Whether this server has been invited, and can come: it runs for it next.
    pub fn invited(&self, namespace: &str) -> bool {
        self.core.lock().invited(namespace)
    }

    /// Runs for the namespace, in the place of the leadership of that epoch if there
    /// was one. `None`: another one was faster, or it is gone.
    ///
    /// # Errors
    /// etcd does not answer: nobody knows whether it came to pass.
    pub async fn run(
        &self,
        namespace: &Arc<str>,
        replacing: Option<u64>,
    ) -> Result<Option<Won>, EtcdError> {
        let seen = self.view().leaders.get(namespace).cloned();
        let replaced = match (replacing, seen) {
            (None, _) => None,
            (Some(epoch), Some(leader)) if leader.epoch == Epoch(epoch) => Some(leader),
            (Some(_), _) => return Ok(None),
        };
        let sent = self.clock.now();
        let elections = self.elections();
        let run = elections.lead(namespace, replaced.as_ref());
        let led = tokio::time::timeout(WITHIN, run).await.unwrap_or_else(|_| Err(slow()))?;
        Ok(led.map(|leader| self.won(namespace, sent, leader)))
    }

    fn won(&self, namespace: &Arc<str>, sent: Time, leader: Leader) -> Won {
        let (epoch, mut core, now) = (leader.epoch, self.core.lock(), self.clock.now());
        core.leads(now, namespace, epoch.0, sent);
        self.won.lock().insert(namespace.clone(), (now, leader.clone()));
        let confidence = Confidence::until(core.confident_until(namespace).unwrap_or(Time::ZERO));
        self.confidences.lock().insert(namespace.clone(), confidence.clone());
        let mut view = self.view.write();
        let mut leaders = view.leaders.clone();
        leaders.insert(namespace.clone(), leader);
        *view = Arc::new(View { servers: view.servers.clone(), leaders });
        Won { epoch, confidence }
    }

    /// Whether this server leads the namespace, as far as it knows.
    pub fn leads(&self, namespace: &str) -> bool {
        self.confidences.lock().contains_key(namespace)
    }

    fn forget(&self, namespace: &str) {
        self.confidences.lock().remove(namespace);
        self.won.lock().remove(namespace);
    }

    /// Keeps this server from running for a namespace while it is deleted.
    pub fn hold(self: &Arc<Self>, namespace: &Arc<str>) -> Held {
        self.held.lock().insert(namespace.clone());
        Held::new(self.clone(), namespace.clone())
    }

    /// This server leads the namespace no more, or could not.
    pub fn ended(&self, namespace: &str) {
        self.forget(namespace);
        if self.held.lock().contains(namespace) {
            return;
        }
        self.core.lock().ended(self.clock.now(), namespace);
        self.nudge.notify_one();
    }

    /// Its changes could not be stored.
    pub fn stuck(&self, namespace: &str) {
        self.forget(namespace);
        self.core.lock().stuck(self.clock.now(), namespace);
        self.nudge.notify_one();
    }

    /// Takes away the key of a leadership, if it is still in force.
    ///
    /// # Errors
    /// etcd does not answer.
    pub async fn resign(&self, namespace: &str, epoch: Epoch) -> Result<(), EtcdError> {
        let view = self.view();
        let leader = view.leaders.get(namespace).filter(|leader| leader.epoch == epoch);
        let Some(leader) = leader.filter(|leader| *leader.server == *self.me) else {
            return Ok(());
        };
        let elections = self.elections();
        let resigned = tokio::time::timeout(WITHIN, elections.resign(leader)).await;
        resigned.unwrap_or_else(|_| Err(slow()))
    }

    // === going ===

    /// From now on everything is handed over and nothing taken.
    pub fn leave(&self) {
        self.core.lock().leave();
        self.nudge.notify_one();
    }

    /// Whether this server goes down.
    pub fn is_leaving(&self) -> bool {
        self.core.lock().is_leaving()
    }

    /// Takes every key of this server away.
    pub async fn left(&self) {
        let elections = self.elections();
        match tokio::time::timeout(WITHIN, elections.leave()).await {
            Ok(Ok(())) => {}
            // They go when the lease runs out.
            Ok(Err(error)) => tracing::warn!(%error, "could not leave the other servers"),
            Err(_) => tracing::warn!("could not leave the other servers in time"),
        }
    }
}

fn slow() -> EtcdError {
    EtcdError::Away {
        what: "take part in an election",
        endpoints: "the endpoints given".to_owned(),
        why: "no answer within 3 s".to_owned(),
    }
}

impl View {
    fn of(observed: Observed) -> Self {
        let about = |(id, text): (String, String)| {
            let about = About::parse(&id, &text)?;
            Some((id.into(), about))
        };
        let leader = |leader: Leader| (Arc::from(leader.namespace.as_str()), leader);
        Self {
            servers: observed.servers.into_iter().filter_map(about).collect(),
            leaders: observed.leaders.into_iter().map(leader).collect(),
        }
    }

    fn seen(&self) -> Seen {
        let place = |(id, about): (&Arc<str>, &About)| (id.clone(), about.address.as_str().into());
        let led = |(name, leader): (&Arc<str>, &Leader)| {
            let led = Led { server: leader.server.as_str().into(), epoch: leader.epoch.0 };
            (name.clone(), led)
        };
        Seen {
            servers: self.servers.iter().map(place).collect(),
            leaders: self.leaders.iter().map(led).collect(),
        }
    }

    /// Who leads a namespace and where, if it is known.
    pub fn leader(&self, namespace: &str) -> Option<LedBy> {
        let leader = self.leaders.get(namespace)?;
        let about = self.servers.get(leader.server.as_str())?;
        let (server, epoch) = (leader.server.as_str().into(), leader.epoch.0);
        Some(LedBy { server, address: about.address.as_str().into(), epoch })
    }
}
