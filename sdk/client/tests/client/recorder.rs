//! An application that reports what is asked of it and does it when allowed.

use std::sync::{Arc, Mutex};

use plimsoll_client::{BoxError, Shard, Shards};
use tokio::sync::{Semaphore, mpsc};

use crate::fake::soon;

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Event {
    Start(String, u64),
    Stop(String, u64),
    Prepare(String),
    Abandon(String),
}

type Load = Box<dyn Fn(&str) -> Option<f64> + Send + Sync>;

/// The application's side.
pub(crate) struct Application {
    events: mpsc::UnboundedSender<Event>,
    gates: Gates,
    load: Load,
}

/// The test's side.
pub(crate) struct Recorder {
    events: mpsc::UnboundedReceiver<Event>,
    pub(crate) gates: Gates,
}

/// Starts and stops wait here; open unless closed.
#[derive(Clone)]
pub(crate) struct Gates {
    pub(crate) start: Gate,
    pub(crate) stop: Gate,
    pub(crate) prepare: Gate,
    /// How the next starts and preparations end.
    pub(crate) outcome: Arc<Mutex<Outcome>>,
    /// What the next stops hand over.
    pub(crate) state: Arc<Mutex<Vec<u8>>>,
    /// What starts were given: state and owner before.
    pub(crate) given: Arc<Mutex<Vec<Given>>>,
}

pub(crate) type Given = (Option<Vec<u8>>, Option<String>);

#[derive(Clone, Copy)]
pub(crate) enum Outcome {
    Runs,
    Fails,
    Panics,
}

#[derive(Clone)]
pub(crate) struct Gate(Arc<Semaphore>);

impl Gate {
    fn open_from_the_start() -> Self {
        let gate = Self(Arc::new(Semaphore::new(0)));
        gate.open();
        gate
    }

    pub(crate) fn open(&self) {
        self.0.add_permits(Semaphore::MAX_PERMITS >> 4);
    }

    pub(crate) fn close(&self) {
        self.0.forget_permits(Semaphore::MAX_PERMITS);
    }

    async fn pass(&self) {
        self.0.acquire().await.unwrap().forget();
    }
}

pub(crate) fn application() -> (Application, Recorder) {
    application_with_load(|_| None)
}

pub(crate) fn application_with_load(
    load: impl Fn(&str) -> Option<f64> + Send + Sync + 'static,
) -> (Application, Recorder) {
    let (sender, events) = mpsc::unbounded_channel();
    let gates = Gates {
        start: Gate::open_from_the_start(),
        stop: Gate::open_from_the_start(),
        prepare: Gate::open_from_the_start(),
        outcome: Arc::new(Mutex::new(Outcome::Runs)),
        state: Arc::default(),
        given: Arc::default(),
    };
    let application = Application { events: sender, gates: gates.clone(), load: Box::new(load) };
    (application, Recorder { events, gates })
}

impl Recorder {
    pub(crate) async fn event(&mut self) -> Event {
        soon(self.events.recv()).await.unwrap()
    }

    pub(crate) fn is_quiet(&mut self) -> bool {
        self.events.try_recv().is_err()
    }
}

impl Shards for Application {
    async fn start(&self, shard: Shard) -> Result<(), BoxError> {
        // The test may have ended.
        let _ = self.events.send(Event::Start(shard.key().to_owned(), shard.generation()));
        let given = (shard.state().map(<[u8]>::to_vec), shard.previous_owner().map(str::to_owned));
        self.gates.given.lock().unwrap().push(given);
        self.gates.start.pass().await;
        self.gates.outcome()
    }

    async fn stop(&self, shard: Shard) {
        let _ = self.events.send(Event::Stop(shard.key().to_owned(), shard.generation()));
        self.gates.stop.pass().await;
    }

    async fn hand_over(&self, shard: Shard) -> Vec<u8> {
        self.stop(shard).await;
        self.gates.state.lock().unwrap().clone()
    }

    async fn prepare(&self, shard: &str) -> Result<(), BoxError> {
        let _ = self.events.send(Event::Prepare(shard.to_owned()));
        self.gates.prepare.pass().await;
        self.gates.outcome()
    }

    async fn abandon(&self, shard: &str) {
        let _ = self.events.send(Event::Abandon(shard.to_owned()));
    }

    fn load(&self, shard: &str) -> Option<f64> {
        (self.load)(shard)
    }
}

impl Gates {
    fn outcome(&self) -> Result<(), BoxError> {
        let outcome = *self.outcome.lock().unwrap();
        match outcome {
            Outcome::Runs => Ok(()),
            Outcome::Fails => Err("disk full".into()),
            Outcome::Panics => panic!("as the test wants it"),
        }
    }
}
