//! What servers say of themselves, as values, and how it changes.

use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt};

use super::EtcdError;
use super::api::{Event, KeyValue, event::EventType};
use super::client::Client;
use super::keys::{Folder, Keys};
use super::load::damaged;
use super::watch::{News, Watch, revision};
use crate::Epoch;

/// Which range is which in the watch.
const SERVERS: usize = 0;
const LEADERS: usize = 1;

/// Everybody at one revision of etcd.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Observed {
    /// Every server: its id and what it says of itself.
    pub servers: Vec<(String, String)>,
    /// Every namespace that is led.
    pub leaders: Vec<Leader>,
}

/// Who leads a namespace.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Leader {
    pub namespace: String,
    /// Its id.
    pub server: String,
    pub epoch: Epoch,
    /// Names this leadership: changes with each.
    pub revision: i64,
}

/// One step of what servers say of themselves. Each is told once. Steps of servers
/// come in order of revision, and so do those of leaders; one of a server and one of
/// a leader may come in any order.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Change {
    /// Replaces all that was told before. First, and again when etcd has compacted
    /// away what happened while it could not be reached.
    Everything { revision: i64, observed: Observed },
    /// What a server says of itself; `None`: it is gone.
    Server { revision: i64, server: String, about: Option<String> },
    /// Who leads a namespace; `None`: nobody does.
    Leader { revision: i64, namespace: String, leader: Option<Leader> },
}

impl Observed {
    /// A key that is damaged or foreign does not keep the others from being seen.
    pub(super) fn new(keys: &Keys, servers: &[KeyValue], leaders: &[KeyValue]) -> Self {
        let servers = servers.iter().filter_map(|kv| {
            let server = known(keys.name_of(Folder::Servers, &kv.key))?;
            Some((server, String::from_utf8_lossy(&kv.value).into_owned()))
        });
        let leaders = leaders.iter().filter_map(|kv| known(leader(keys, kv)));
        Self { servers: servers.collect(), leaders: leaders.collect() }
    }
}

fn leader(keys: &Keys, kv: &KeyValue) -> Result<Leader, EtcdError> {
    let namespace = keys.name_of(Folder::Leaders, &kv.key)?;
    let told = str::from_utf8(&kv.value).map_err(|_| damaged(kv, "it is not text"))?;
    let (epoch, server) =
        told.split_once(' ').ok_or_else(|| damaged(kv, "it is no epoch and server"))?;
    let epoch = Epoch(epoch.parse().map_err(|error| damaged(kv, error))?);
    Ok(Leader { namespace, server: server.to_owned(), epoch, revision: kv.mod_revision })
}

fn known<T>(told: Result<T, EtcdError>) -> Option<T> {
    told.inspect_err(|error| tracing::error!(%error, "a server or leader is not known")).ok()
}

/// Everybody, and then what changes.
pub(super) fn follow(client: Arc<Client>, keys: Keys) -> BoxStream<'static, Change> {
    let ranges = [Folder::Servers, Folder::Leaders].map(|folder| keys.folder(folder));
    let watch = Watch::new(client, ranges.to_vec());
    let steps = stream::unfold((watch, keys), |(mut watch, keys)| async {
        let steps = steps(&keys, watch.news().await);
        Some((stream::iter(steps), (watch, keys)))
    });
    steps.flatten().boxed()
}

fn steps(keys: &Keys, news: News) -> Vec<Change> {
    match news {
        News::Everything { revision, ranges } => {
            let of = |range: usize| ranges.get(range).map_or(&[][..], Vec::as_slice);
            let observed = Observed::new(keys, of(SERVERS), of(LEADERS));
            vec![Change::Everything { revision, observed }]
        }
        News::Changes { range: SERVERS, events } => {
            events.iter().filter_map(|event| known(server_step(keys, event))).collect()
        }
        News::Changes { events, .. } => {
            events.iter().filter_map(|event| known(leader_step(keys, event))).collect()
        }
    }
}

fn server_step(keys: &Keys, event: &Event) -> Result<Change, EtcdError> {
    let (kv, is_there) = parts(event);
    let server = keys.name_of(Folder::Servers, &kv.key)?;
    let about = is_there.then(|| String::from_utf8_lossy(&kv.value).into_owned());
    Ok(Change::Server { revision: revision(event), server, about })
}

/// A leadership that cannot be read is none: nobody acts on it.
fn leader_step(keys: &Keys, event: &Event) -> Result<Change, EtcdError> {
    let (kv, is_there) = parts(event);
    let namespace = keys.name_of(Folder::Leaders, &kv.key)?;
    let leader = if is_there { known(leader(keys, &kv)) } else { None };
    Ok(Change::Leader { revision: revision(event), namespace, leader })
}

fn parts(event: &Event) -> (KeyValue, bool) {
    let kv = event.kv.clone().unwrap_or_default();
    (kv, event.r#type == i32::from(EventType::Put))
}
