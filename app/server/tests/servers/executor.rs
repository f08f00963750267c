//! Executors by hand, and who watches that no shard runs twice.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use plimsoll_wire::v1;
use plimsoll_wire::v1::executor_service_client::ExecutorServiceClient;
use plimsoll_wire::v1::session_request::Message as Say;
use plimsoll_wire::v1::session_response::Message as Hear;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Status;

use super::fleet::channel;

/// Sees every start and stop. A shard that runs twice fails the test.
#[derive(Debug, Default)]
pub(crate) struct Oracle(Mutex<Watched>);

#[derive(Debug, Default)]
struct Watched {
    running: BTreeMap<String, (String, u64)>,
    last: BTreeMap<String, (String, u64)>,
    moves: usize,
    stops: usize,
    double: Vec<String>,
    grants: Vec<(Instant, String)>,
}

impl Oracle {
    fn started(&self, executor: &str, shard: &str, generation: u64) {
        let mut it = self.0.lock().unwrap();
        let now = (executor.to_owned(), generation);
        if let Some(other) = it.running.insert(shard.to_owned(), now.clone())
            && other.0 != executor
        {
            it.double.push(format!("{shard} on {} and {executor}", other.0));
        }
        if let Some((before, last)) = it.last.insert(shard.to_owned(), now) {
            it.moves += usize::from(before != executor);
            assert!(last <= generation, "generations grow: {shard} {last} {generation}");
        }
        it.grants.push((Instant::now(), shard.to_owned()));
    }

    fn stopped(&self, executor: &str, shard: &str) {
        let mut it = self.0.lock().unwrap();
        if it.running.get(shard).is_some_and(|(by, _)| by == executor) {
            it.running.remove(shard);
            it.stops += 1;
        }
    }

    pub(crate) fn running(&self) -> usize {
        self.0.lock().unwrap().running.len()
    }

    pub(crate) fn moves(&self) -> usize {
        self.0.lock().unwrap().moves
    }

    pub(crate) fn stops(&self) -> usize {
        self.0.lock().unwrap().stops
    }

    /// Moves and stops.
    pub(crate) fn changes(&self) -> (usize, usize) {
        (self.moves(), self.stops())
    }

    /// When the shard was first granted after that moment.
    pub(crate) fn granted_after(&self, moment: Instant, shard: &str) -> Option<Instant> {
        let it = self.0.lock().unwrap();
        it.grants.iter().find(|(at, key)| *at > moment && key == shard).map(|(at, _)| *at)
    }

    pub(crate) fn assert_never_double(&self) {
        let it = self.0.lock().unwrap();
        assert!(it.double.is_empty(), "{:?}", it.double);
    }
}

/// An executor that goes on with the next server when one is gone.
#[derive(Debug)]
pub(crate) struct Executor(JoinHandle<()>);

impl Drop for Executor {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Starts executors, each of which begins with another server.
pub(crate) fn executors(
    oracle: &Arc<Oracle>,
    namespace: &str,
    count: usize,
    servers: &[String],
) -> Vec<Executor> {
    let one = |number: usize| {
        let mut servers = servers.to_vec();
        let many = servers.len();
        servers.rotate_left(number % many);
        let mut one = One {
            id: format!("e{number}"),
            namespace: namespace.to_owned(),
            servers,
            oracle: oracle.clone(),
            running: BTreeMap::new(),
            lease_ends: Instant::now(),
            attempt: 0,
        };
        Executor(tokio::spawn(async move { one.run().await }))
    };
    (0..count).map(one).collect()
}

struct One {
    id: String,
    namespace: String,
    servers: Vec<String>,
    oracle: Arc<Oracle>,
    running: BTreeMap<String, u64>,
    lease_ends: Instant,
    attempt: u64,
}

impl One {
    async fn run(&mut self) {
        loop {
            // A fault is what ends a session; which one does not matter.
            let _ = tokio::time::timeout_at(self.fence(), self.session()).await;
            if !self.running.is_empty() && Instant::now() >= self.lease_ends {
                self.stop_all();
            }
            self.servers.rotate_left(1);
            tokio::time::sleep(Duration::from_millis(rand::random_range(20..300))).await;
        }
    }

    /// Nothing runs beyond the lease, whatever the session does.
    fn fence(&self) -> tokio::time::Instant {
        let end = match self.running.is_empty() {
            true => Instant::now() + Duration::from_secs(3600),
            false => self.lease_ends.max(Instant::now() + Duration::from_millis(10)),
        };
        end.into()
    }

    fn stop_all(&mut self) {
        for shard in std::mem::take(&mut self.running).into_keys() {
            self.oracle.stopped(&self.id, &shard);
        }
    }

    async fn session(&mut self) -> Result<(), Status> {
        let (say, said) = mpsc::unbounded_channel();
        let send = |message| drop(say.send(v1::SessionRequest { message: Some(message) }));
        let mut sent = Instant::now();
        send(Say::Hello(self.hello()));
        let mut client = ExecutorServiceClient::new(channel(&self.servers[0]));
        let opened = tokio::time::timeout(
            Duration::from_secs(3),
            client.session(UnboundedReceiverStream::new(said)),
        );
        let mut hear = opened.await.map_err(|_| Status::deadline_exceeded("hello"))??.into_inner();
        let (mut lease, mut beat) = (Duration::from_secs(3), Duration::from_millis(300));
        let (mut sequence, mut acknowledged) = (0, Instant::now());
        let mut next_beat = tokio::time::Instant::now() + beat;
        loop {
            let fence = self.fence();
            tokio::select! {
                heard = hear.message() => match heard?.and_then(|it| it.message) {
                    None | Some(Hear::Farewell(_)) => return Ok(()),
                    Some(Hear::Welcome(welcome)) => {
                        lease = Duration::from_millis(welcome.lease_ms);
                        beat = Duration::from_millis(welcome.beat_ms);
                        (self.lease_ends, acknowledged) = (sent + lease * 9 / 10, Instant::now());
                        self.welcome(welcome);
                    }
                    Some(Hear::Granted(granted)) => {
                        for grant in granted.grants {
                            self.start(&grant.shard_key, grant.generation);
                        }
                    }
                    Some(Hear::Revoked(revoked)) => {
                        for it in revoked.revocations {
                            self.stop(&it.shard_key);
                            send(Say::Stopped(v1::Stopped {
                                shard_key: it.shard_key,
                                generation: it.generation,
                                ..Default::default()
                            }));
                        }
                    }
                    Some(Hear::BeatAck(ack)) if ack.sequence == sequence => {
                        (self.lease_ends, acknowledged) = (sent + lease * 9 / 10, Instant::now());
                    }
                    Some(_) => {}
                },
                () = tokio::time::sleep_until(next_beat) => {
                    // A server that hangs is left after some beats.
                    if acknowledged.elapsed() > lease * 8 / 10 {
                        return Ok(());
                    }
                    if acknowledged >= sent {
                        sequence += 1;
                        sent = Instant::now();
                        send(Say::Beat(v1::Beat { sequence, ..Default::default() }));
                    }
                    next_beat = tokio::time::Instant::now() + beat;
                }
                () = tokio::time::sleep_until(fence) => {
                    if Instant::now() >= self.lease_ends {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn hello(&mut self) -> v1::Hello {
        let since_1970 = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_micros() as u64;
        self.attempt = since_1970.max(self.attempt + 1);
        let running = self.running.iter().map(|(shard, generation)| v1::Holding {
            shard_key: shard.clone(),
            generation: *generation,
            stopping: false,
        });
        v1::Hello {
            namespace: self.namespace.clone(),
            executor_id: self.id.clone(),
            host: self.id.clone(),
            running: running.collect(),
            attempt: self.attempt,
            ..Default::default()
        }
    }

    fn welcome(&mut self, welcome: v1::Welcome) {
        let granted: BTreeMap<_, _> =
            welcome.grants.into_iter().map(|it| (it.shard_key, it.generation)).collect();
        let others: Vec<_> =
            self.running.keys().filter(|shard| !granted.contains_key(*shard)).cloned().collect();
        others.iter().for_each(|shard| self.stop(shard));
        for (shard, generation) in granted {
            self.start(&shard, generation);
        }
    }

    fn start(&mut self, shard: &str, generation: u64) {
        if self.running.insert(shard.to_owned(), generation) != Some(generation) {
            self.oracle.started(&self.id, shard, generation);
        }
    }

    fn stop(&mut self, shard: &str) {
        if self.running.remove(shard).is_some() {
            self.oracle.stopped(&self.id, shard);
        }
    }
}
