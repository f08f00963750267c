//! A link between two processes that can be cut: a TCP relay on an address of its
//! own, which needs no rights.
//!
//! Bytes of a stream that was cut wait and arrive when the link is whole again, as
//! TCP would send them again. A listener that refuses stands for a process that is
//! dead: a relay that accepted for it would hide that.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

const CHUNK_BYTES: usize = 64 * 1024;
const REBIND_EVERY: Duration = Duration::from_millis(10);
const DIAL_WITHIN: Duration = Duration::from_secs(5);

/// What becomes of bytes in one direction.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Flow {
    #[default]
    Passes,
    Stalls,
}

/// What a link does at present.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LinkState {
    /// Connections are refused, and those that were open are ended.
    pub refuses: bool,
    /// From the one who connected to the one who listens.
    pub there: Flow,
    pub back: Flow,
    /// Of every chunk, in both directions.
    pub delay: Duration,
}

/// One link. Gone when it is dropped.
#[derive(Debug)]
pub struct Relay {
    state: watch::Sender<LinkState>,
    _serving: AbortOnDropHandle<()>,
}

/// Its two ends and what they share.
#[derive(Clone, Debug)]
struct Link {
    listen: SocketAddr,
    to: SocketAddr,
    state: watch::Receiver<LinkState>,
}

impl Relay {
    /// A link from whoever connects to `listen` to the process at `to`.
    ///
    /// # Errors
    /// The address is taken.
    pub async fn start(listen: SocketAddr, to: SocketAddr) -> io::Result<Self> {
        let first = TcpListener::bind(listen).await?;
        let state = watch::Sender::default();
        let link = Link { listen, to, state: state.subscribe() };
        let serving = AbortOnDropHandle::new(tokio::spawn(link.serve(first)));
        Ok(Self { state, _serving: serving })
    }

    /// Changes what the link does, at once.
    pub fn set(&self, state: LinkState) {
        self.state.send_replace(state);
    }

    /// What it does.
    pub fn state(&self) -> LinkState {
        *self.state.borrow()
    }
}

impl Link {
    async fn serve(mut self, first: TcpListener) {
        let mut listener = Some(first);
        while self.until(|state| !state.refuses).await {
            let Some(listener) = listener.take().or(self.rebind().await) else { continue };
            let mut open = JoinSet::new();
            while !self.state.borrow().refuses {
                tokio::select! {
                    Ok((client, _)) = listener.accept() => {
                        open.spawn(self.clone().carry(client));
                    }
                    Some(_) = open.join_next() => {}
                    changed = self.state.changed() => if changed.is_err() { return },
                }
            }
        }
    }

    async fn rebind(&self) -> Option<TcpListener> {
        let bound = TcpListener::bind(self.listen).await;
        if bound.is_err() {
            sleep(REBIND_EVERY).await;
        }
        bound.ok()
    }

    /// `false` if the relay is gone.
    async fn until(&mut self, holds: impl FnMut(&LinkState) -> bool) -> bool {
        self.state.wait_for(holds).await.is_ok()
    }

    /// Until either end closes or breaks.
    async fn carry(mut self, client: TcpStream) {
        // Nobody is connected to through a link that is cut.
        let whole = |state: &LinkState| state.there == Flow::Passes && state.back == Flow::Passes;
        if !self.until(whole).await {
            return;
        }
        let Ok(Ok(server)) = timeout(DIAL_WITHIN, TcpStream::connect(self.to)).await else {
            return;
        };
        let (Ok(()), Ok(())) = (client.set_nodelay(true), server.set_nodelay(true)) else { return };
        let ((from_client, to_client), (from_server, to_server)) =
            (client.into_split(), server.into_split());
        let there = self.clone().copy(from_client, to_server, |state| state.there);
        let back = self.copy(from_server, to_client, |state| state.back);
        // Broken off by either end, or closed by both: there is nothing left to do.
        let _ = tokio::try_join!(there, back);
    }

    async fn copy(
        mut self,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
        flow: impl Fn(&LinkState) -> Flow,
    ) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let length = from.read(&mut chunk).await?;
            if !self.until(|state| flow(state) == Flow::Passes).await {
                return Ok(());
            }
            let delay = self.state.borrow().delay;
            if !delay.is_zero() {
                sleep(delay).await;
            }
            if length == 0 {
                return to.shutdown().await;
            }
            to.write_all(&chunk[..length]).await?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::{holds, soon};

    struct Scene {
        relay: Relay,
        at: SocketAddr,
        server: TcpListener,
    }

    async fn scene() -> Scene {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let at = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap();
        let relay = Relay::start(at, server.local_addr().unwrap()).await.unwrap();
        Scene { relay, at, server }
    }

    async fn connected(scene: &Scene) -> (TcpStream, TcpStream) {
        let client = TcpStream::connect(scene.at).await.unwrap();
        let (server, _) = soon(scene.server.accept()).await.unwrap();
        (client, server)
    }

    async fn say(from: &mut TcpStream) {
        from.write_all(b"x").await.unwrap();
    }

    async fn hear(to: &mut TcpStream) -> usize {
        soon(to.read(&mut [0; 8])).await.unwrap_or(0)
    }

    #[tokio::test]
    async fn a_whole_link_passes_both_ways() {
        let scene = scene().await;
        let (mut client, mut server) = connected(&scene).await;
        say(&mut client).await;
        assert_eq!(hear(&mut server).await, 1);
        say(&mut server).await;
        assert_eq!(hear(&mut client).await, 1);
        assert_eq!(scene.relay.state(), LinkState::default());
    }

    #[tokio::test]
    async fn one_way_is_cut_and_what_was_said_meanwhile_arrives_when_it_is_whole() {
        let scene = scene().await;
        let (mut client, mut server) = connected(&scene).await;
        scene.relay.set(LinkState { back: Flow::Stalls, ..LinkState::default() });
        say(&mut client).await;
        assert_eq!(hear(&mut server).await, 1);
        say(&mut server).await;
        let nothing = Duration::from_millis(100);
        assert!(timeout(nothing, client.read(&mut [0; 8])).await.is_err());
        scene.relay.set(LinkState::default());
        assert_eq!(hear(&mut client).await, 1);
    }

    #[tokio::test]
    async fn a_dead_end_refuses_and_serves_again_when_it_is_back() {
        let scene = scene().await;
        let (mut client, _server) = connected(&scene).await;
        scene.relay.set(LinkState { refuses: true, ..LinkState::default() });
        assert_eq!(hear(&mut client).await, 0);
        let refused = || async { TcpStream::connect(scene.at).await.is_err() };
        assert!(holds(Duration::from_millis(50), "it refuses", refused).await);
        scene.relay.set(LinkState::default());
        let back = || async { TcpStream::connect(scene.at).await.ok() };
        crate::eventually(crate::SOON, "it serves again", back).await;
    }
}
