//! One socket to a browser: commands with numbers, answers by number, and events.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::stream::SplitStream;
use futures::{SinkExt, StreamExt};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

/// The longest that a command takes on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// The socket.
#[derive(Debug)]
pub(super) struct Connection {
    sender: mpsc::UnboundedSender<Message>,
    next: AtomicU64,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
    events: Mutex<Vec<Value>>,
}

impl Connection {
    pub(super) async fn open(address: &str) -> Result<Arc<Self>> {
        // Pictures are large.
        let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let opened = connect_async_with_config(address, Some(config), false).await;
        let (socket, _) = opened.context("the browser does not answer")?;
        let (mut out, answers) = socket.split();
        let (sender, mut messages) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(message) = messages.recv().await {
                if out.send(message).await.is_err() {
                    return;
                }
            }
        });
        let state = Arc::new(State::default());
        tokio::spawn(read(answers, state.clone()));
        Ok(Arc::new(Self { sender, next: AtomicU64::new(1), state }))
    }

    /// Has the browser, or one of its pages, do something.
    pub(super) async fn call(
        &self,
        session: Option<&str>,
        method: &str,
        parameters: Value,
    ) -> Result<Value> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let (answer, answered) = oneshot::channel();
        self.state.waiting.lock().insert(id, answer);
        self.sender.send(Message::text(message.to_string())).context("the browser is gone")?;
        let answered = tokio::time::timeout(PATIENCE, answered).await;
        let answer = answered.with_context(|| format!("{method} had no answer"))?;
        let mut answer = answer.context("the browser is gone")?;
        if !answer["error"].is_null() {
            bail!("{method}: {}", answer["error"]);
        }
        Ok(answer["result"].take())
    }

    /// The events of a page so far, which are forgotten here.
    pub(super) fn take_events(&self, session: &str) -> Vec<Value> {
        let mut events = self.state.events.lock();
        let (its, others) = events.drain(..).partition(|event| event["sessionId"] == session);
        *events = others;
        its
    }
}

async fn read(mut answers: SplitStream<Socket>, state: Arc<State>) {
    while let Some(Ok(message)) = answers.next().await {
        let Ok(text) = message.to_text() else { continue };
        let Ok(message) = serde_json::from_str::<Value>(text) else { continue };
        match message["id"].as_u64() {
            Some(id) => {
                if let Some(waiting) = state.waiting.lock().remove(&id) {
                    // Who does not wait any more need not be told.
                    let _ = waiting.send(message);
                }
            }
            None => state.events.lock().push(message),
        }
    }
    // Everybody who waits is told that nothing comes.
    state.waiting.lock().clear();
}
