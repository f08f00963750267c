//! One of several servers: keeps in touch with the others through etcd and carries
//! out what `core/ownership`'s `leadership` decides. Decides nothing.
//!
//! Every request to etcd is a task of its own with the time it was sent, so that one
//! that hangs holds up no other, and each namespace is won, loaded, handed over and
//! given up by a task of its own.

mod handing;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use parking_lot::Mutex;
use plimsoll_ownership::leadership::{Act, CONFIDENCE};
use plimsoll_ownership::namespace::Origin;
use plimsoll_placement::time::Time;
use plimsoll_store::{Epoch, EtcdError};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::election::Elector;
use crate::metrics::Metrics;
use crate::namespaces::{Namespaces, Start};
use crate::peers::Peers;
use crate::replica::Replica;

pub use handing::SERVER_KEY;

/// How often the lease is extended and everybody looked at.
const TOUCH: Duration = Duration::from_millis(500);
/// How often it is asked what is to be done now.
const TICK: Duration = Duration::from_millis(100);
/// How often the list of namespaces is read; one that somebody leads and nobody here
/// knows is read at once.
const LIST: Duration = Duration::from_secs(2);
/// How long a server that leaves takes to hand everything over.
const LEAVE_WITHIN: Duration = Duration::from_secs(3);
/// etcd counts as reached if it was, so long ago at most.
const REACHED: Duration = Duration::from_secs(3);

/// This server among the others.
#[derive(Debug)]
pub struct Servers {
    pub elector: Arc<Elector>,
    pub peers: Arc<Peers>,
    namespaces: Arc<Namespaces>,
    clock: Clock,
    metrics: Metrics,
    /// Namespaces whose map is followed while others lead them.
    followed: Mutex<BTreeSet<Arc<str>>>,
    /// When etcd last answered.
    reached: Mutex<Time>,
    end: CancellationToken,
}

impl Servers {
    /// Begins to lead and to follow.
    pub fn start(
        elector: Arc<Elector>,
        peers: Arc<Peers>,
        namespaces: Arc<Namespaces>,
        clock: Clock,
        metrics: Metrics,
    ) -> Arc<Self> {
        let servers = Arc::new(Self {
            elector,
            peers,
            namespaces,
            clock,
            metrics,
            followed: Mutex::default(),
            reached: Mutex::new(clock.now()),
            end: CancellationToken::new(),
        });
        tokio::spawn(servers.clone().run());
        servers
    }

    async fn run(self: Arc<Self>) {
        let mut touch = tokio::time::interval(TOUCH);
        let mut list = tokio::time::interval(LIST);
        let mut tick = tokio::time::interval(TICK);
        for timer in [&mut touch, &mut list, &mut tick] {
            timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
        }
        let mut changes = self.elector.changes();
        loop {
            tokio::select! {
                _ = touch.tick() => self.touch(),
                _ = list.tick() => {
                    self.measure();
                    drop(tokio::spawn(self.clone().list()));
                }
                // What has changed, and more, is looked at: what counts is when it was sent.
                Some(_) = changes.next() => self.look(),
                () = self.elector.nudge.notified() => {}
                _ = tick.tick() => {}
                () = self.end.cancelled() => return,
            }
            self.step();
        }
    }

    // === keeping in touch ===

    fn touch(self: &Arc<Self>) {
        let servers = self.clone();
        tokio::spawn(async move {
            let kept = servers.elector.keep_alive().await;
            servers.note("extend the lease", kept);
        });
        self.look();
    }

    fn look(self: &Arc<Self>) {
        let servers = self.clone();
        tokio::spawn(async move {
            let seen = servers.elector.observe().await;
            servers.note("see the other servers", seen);
            servers.show_leaders();
            servers.elector.nudge.notify_one();
        });
    }

    fn note(&self, what: &str, answer: Result<(), EtcdError>) {
        match answer {
            Ok(()) => *self.reached.lock() = self.clock.now(),
            Err(error) => {
                self.metrics.store_failed();
                match self.out_of_reach() {
                    None => tracing::warn!(%error, "could not {what}"),
                    // It was said before; `/readyz` and the metrics go on saying it.
                    Some(_) => tracing::debug!(%error, "could not {what}"),
                }
            }
        }
    }

    /// How long ago etcd last answered, if that is too long.
    pub fn out_of_reach(&self) -> Option<Duration> {
        let ago = self.clock.now() - *self.reached.lock();
        (ago > REACHED).then_some(ago)
    }

    /// What is not well between this server and etcd, if it leads anything.
    pub fn condition(&self) -> Option<String> {
        let left = self.elector.least_confidence()?;
        (left < CONFIDENCE / 2).then(|| {
            format!(
                "etcd has not confirmed this server's leaderships for {:.1?}: without it they end \
                 in {left:.1?}",
                CONFIDENCE - left
            )
        })
    }

    async fn list(self: Arc<Self>) {
        match self.namespaces.sync().await {
            Ok(()) => self.show_leaders(),
            Err(error) => {
                self.metrics.store_failed();
                tracing::warn!(%error, "could not list the namespaces");
            }
        }
    }

    /// Puts on the list who leads what, and follows what is new on it.
    fn show_leaders(self: &Arc<Self>) {
        let view = self.elector.view();
        let mut unknown = view.leaders.keys().collect::<BTreeSet<_>>();
        for listed in self.namespaces.listing.all() {
            unknown.remove(&listed.name);
            let leader = view.leader(&listed.name);
            if leader.is_some() && leader != listed.leader() {
                self.metrics.leader_changed(&listed.name);
            }
            listed.set_leader(leader);
            if self.followed.lock().insert(listed.name.clone()) {
                tokio::spawn(self.clone().follow(listed));
            }
        }
        if !unknown.is_empty() {
            tokio::spawn(self.clone().list_what_is_new());
        }
        let places: BTreeSet<_> = view.servers.values().map(|about| &*about.address).collect();
        self.peers.retain(|address| places.contains(address));
    }

    async fn list_what_is_new(self: Arc<Self>) {
        if self.namespaces.sync().await.is_ok() {
            self.elector.nudge.notify_one();
        }
    }

    async fn follow(self: Arc<Self>, listed: Arc<crate::listing::Listed>) {
        let (elector, peers) = (self.elector.clone(), self.peers.clone());
        let replica = Replica { listed: listed.clone(), elector, peers, clock: self.clock };
        tokio::select! {
            () = replica.run() => {}
            () = self.end.cancelled() => {}
        }
        self.followed.lock().remove(&listed.name);
        self.metrics.replica_age(&listed.name, None);
    }

    fn measure(&self) {
        self.metrics.confidence(self.elector.least_confidence().unwrap_or_default());
        for listed in self.namespaces.listing.all() {
            let is_led = self.namespaces.get(&listed.name).is_some();
            let age = listed.board.age(self.clock.now()).filter(|_| !is_led);
            self.metrics.replica_age(&listed.name, age);
        }
    }

    // === carrying out ===

    fn step(self: &Arc<Self>) {
        for act in self.elector.decide() {
            let servers = self.clone();
            match act {
                Act::Run { namespace, replacing } => {
                    tokio::spawn(async move { servers.run_for(&namespace, replacing).await });
                }
                Act::StepDown { namespace, why } => {
                    tracing::warn!(%namespace, why = why.as_str(), "stepping down");
                    tokio::spawn(async move { servers.step_down(&namespace).await });
                }
                Act::HandOver { namespace, to } => {
                    tokio::spawn(async move { servers.hand_over(&namespace, &to).await });
                }
                Act::Resign { namespace, epoch } => {
                    tokio::spawn(async move { servers.resign(&namespace, Epoch(epoch)).await });
                }
            }
        }
    }

    async fn run_for(self: Arc<Self>, namespace: &Arc<str>, replacing: Option<u64>) {
        let won = match self.elector.run(namespace, replacing).await {
            Ok(Some(won)) => won,
            Ok(None) => {
                self.elector.ended(namespace);
                return self.list().await;
            }
            Err(error) => {
                self.metrics.store_failed();
                tracing::warn!(%namespace, %error, "could not be elected");
                return self.elector.ended(namespace);
            }
        };
        let epoch = won.epoch;
        // What the last leader acknowledged before it fell silent nobody knows.
        let origin = Origin::Takeover { confidence: CONFIDENCE };
        match self.namespaces.take(namespace, won, Start::Cold(origin)).await {
            Ok(()) => {
                tracing::info!(%namespace, %epoch, "leading");
                self.show_leaders();
            }
            Err(error) => {
                tracing::error!(%namespace, %error, "won, and cannot lead");
                self.resign(namespace, epoch).await;
                self.elector.stuck(namespace);
            }
        }
    }

    /// The confidence is gone already; this only wakes whoever does not know.
    async fn step_down(&self, namespace: &str) {
        match self.namespaces.get(namespace) {
            Some(handle) => handle.wake().await,
            None => self.elector.ended(namespace),
        }
    }

    async fn resign(&self, namespace: &str, epoch: Epoch) {
        if let Err(error) = self.elector.resign(namespace, epoch).await {
            tracing::warn!(namespace, %error, "could not give up the leadership: it ends with the lease");
        }
    }

    // === going ===

    /// Hands everything over, as far as there is somebody to take it.
    pub async fn leave(self: &Arc<Self>) {
        self.elector.leave();
        let all_gone = async {
            while !self.namespaces.all().is_empty() && self.is_anybody_else_there() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = tokio::time::timeout(LEAVE_WITHIN, all_gone).await;
    }

    /// Whether this server goes down.
    pub fn is_leaving(&self) -> bool {
        self.elector.is_leaving()
    }

    fn is_anybody_else_there(&self) -> bool {
        self.elector.view().servers.keys().any(|server| *server != self.elector.me)
    }

    /// The last thing: takes every key of this server away.
    pub async fn left(&self) {
        self.end.cancel();
        self.elector.left().await;
    }
}
