//! A link to etcd that can be cut, or that lets requests pass and no answers.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Open,
    /// Requests arrive, answers do not.
    Deaf,
    /// Connections end at once.
    Cut,
}

/// Ends with the runtime of the test.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) endpoint: String,
    state: watch::Sender<State>,
    trap: Trap,
}

/// A request with these bytes makes the link deaf, once.
type Trap = Arc<Mutex<Option<&'static str>>>;

impl Link {
    pub(crate) async fn to(etcd: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let etcd = etcd.strip_prefix("http://").unwrap().to_owned();
        let (state, trap) = (watch::Sender::new(State::Open), Trap::default());
        let (for_all, sprung) = (state.clone(), trap.clone());
        tokio::spawn(async move {
            while let Ok((ours, _)) = listener.accept().await {
                tokio::spawn(carry(ours, etcd.clone(), for_all.clone(), sprung.clone()));
            }
        });
        Self { endpoint, state, trap }
    }

    pub(crate) fn open(&self) {
        self.state.send_replace(State::Open);
    }

    /// Ends all connections, and waits until they have ended.
    pub(crate) async fn cut(&self) {
        self.state.send_replace(State::Cut);
        while self.state.receiver_count() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Waits for a request that holds this text, which passes, and its answer not.
    pub(crate) async fn deaf_after(&self, text: &'static str) {
        *self.trap.lock() = Some(text);
        let _ = self.state.subscribe().wait_for(|state| *state == State::Deaf).await;
    }
}

async fn carry(ours: TcpStream, etcd: String, state: watch::Sender<State>, trap: Trap) {
    let mut cut = state.subscribe();
    let Ok(theirs) = TcpStream::connect(etcd).await else { return };
    let ((our_read, our_write), (their_read, their_write)) =
        (ours.into_split(), theirs.into_split());
    tokio::select! {
        () = requests(our_read, their_write, &state, &trap) => {}
        () = answers(their_read, our_write, state.subscribe()) => {}
        _ = cut.wait_for(|state| *state == State::Cut) => {}
    }
}

async fn requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    state: &watch::Sender<State>,
    trap: &Trap,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let sprung = trap.lock().take_if(|text| holds(&buffer[..read], text)).is_some();
        if sprung {
            state.send_replace(State::Deaf);
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

async fn answers(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut state: watch::Receiver<State>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let open = state.wait_for(|state| *state == State::Open).await.is_ok();
        if !open || to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
