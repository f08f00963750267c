//! What every page has at hand.

use std::ops::Deref;
use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::fleet::{Briefs, Fleet, Tracks};
use crate::pages::Shelf;
use crate::{Options, Wire};

/// Tabs that are live at a time; others ask again and again.
const STREAMS: usize = 256;

/// The console as it runs.
#[derive(Clone, Debug)]
pub(crate) struct App(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) wire: Wire,
    pub(crate) options: Options,
    /// The last look at every namespace.
    pub(crate) fleet: Fleet,
    /// Plans and events of the namespaces that somebody looks at.
    pub(crate) briefs: Briefs,
    /// Loads of the shards that somebody looks at.
    pub(crate) tracks: Tracks,
    /// Snapshots to walk through.
    pub(crate) shelf: Shelf,
    pub(crate) streams: Arc<Semaphore>,
}

impl App {
    pub(crate) fn new(wire: Wire, options: Options) -> Self {
        Self(Arc::new(Inner {
            wire,
            options,
            fleet: Fleet::default(),
            briefs: Briefs::default(),
            tracks: Tracks::default(),
            shelf: Shelf::default(),
            streams: Arc::new(Semaphore::new(STREAMS)),
        }))
    }
}

impl Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}
