//! Links that are cut, in one direction or both, and slowed.

use std::time::Duration;

use anyhow::Result;
use plimsoll_testkit::chaos::{Flow, LinkState};
use rand::RngExt;
use tokio::time::sleep;

use super::super::addresses::{ETCD, EXECUTORS, End};
use super::super::fault::{Kind, about, past_a_lease};
use super::World;

const TROUBLE: Duration = Duration::from_secs(6);
const CUT: LinkState = state(Flow::Stalls, Flow::Stalls);
/// The one who connected hears nothing.
const DEAF: LinkState = state(Flow::Passes, Flow::Stalls);
/// The one who connected is not heard.
const MUTE: LinkState = state(Flow::Stalls, Flow::Passes);
/// As if nobody listened.
const REFUSING: LinkState = LinkState { refuses: true, ..state(Flow::Passes, Flow::Passes) };

const fn state(there: Flow, back: Flow) -> LinkState {
    LinkState { refuses: false, there, back, delay: Duration::ZERO }
}

impl World<'_> {
    pub(super) async fn disturb_links(&mut self, kind: Kind) -> Result<()> {
        let executor = End::Executor(self.dice.random_range(0..EXECUTORS));
        let of_executor = move |from: End, _: End| from == executor;
        let slow = LinkState { delay: Duration::from_millis(50), ..LinkState::default() };
        let past = past_a_lease(&mut self.dice);
        let trouble = about(TROUBLE, &mut self.dice);
        match kind {
            Kind::CutExecutorServer => self.disturb(of_executor, CUT, past).await,
            Kind::DeafExecutorServer => self.disturb(of_executor, DEAF, past).await,
            Kind::MuteExecutorServer => self.disturb(of_executor, MUTE, past).await,
            Kind::SlowLinks => self.disturb(|_, _| true, slow, trouble).await,
            _ => self.disturb_server(kind).await,
        }
    }

    async fn disturb_server(&mut self, kind: Kind) -> Result<()> {
        let server = End::Server(self.victim().await);
        let of_etcd = move |from: End, to: End| from == server && matches!(to, End::Etcd(_));
        let of_peers = move |from: End, to: End| from == End::Servers && to == server;
        let of_everybody = move |from: End, to: End| from == server || to == server;
        let trouble = about(TROUBLE, &mut self.dice);
        let past = past_a_lease(&mut self.dice);
        match kind {
            Kind::RefuseServerServer => self.disturb(of_peers, REFUSING, trouble).await,
            Kind::UnplugLeader => self.disturb(of_everybody, CUT, past).await,
            Kind::CutServerEtcd => self.disturb(of_etcd, CUT, trouble).await,
            Kind::DeafServerServer => self.disturb(of_peers, DEAF, trouble).await,
            Kind::DeafServerEtcd => self.disturb(of_etcd, DEAF, trouble).await,
            _ => self.disturb(of_peers, CUT, trouble).await,
        }
    }

    /// The member that leads the others, so that another one has to.
    pub(super) async fn cut_etcd_etcd(&mut self) -> Result<()> {
        let mut leads = self.dice.random_range(0..ETCD);
        for (n, member) in self.scene.etcd.iter().enumerate() {
            if member.figure("etcd_server_is_leader").await? > 0.0 {
                leads = n;
            }
        }
        self.story.tell(&format!("  {} leads the others", End::Etcd(leads)));
        let of_members = move |from: End, to: End| from == End::Members && to == End::Etcd(leads);
        let trouble = about(TROUBLE, &mut self.dice);
        self.disturb(of_members, CUT, trouble).await
    }

    async fn disturb(
        &mut self,
        which: impl Fn(End, End) -> bool,
        state: LinkState,
        span: Duration,
    ) -> Result<()> {
        self.scene.links.set(&which, state)?;
        sleep(span).await;
        self.scene.links.set(&which, LinkState::default())?;
        self.story.tell("  links are whole again");
        Ok(())
    }
}
