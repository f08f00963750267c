//! The thread that follows a policy file.
//!
//! The system's notices say when to look, for the folder, since a file that is
//! replaced is a new one. They are only a hint: folders on networks and links
//! into other folders give none, so the file is read twice a second all the same.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use notify::{RecommendedWatcher, RecursiveMode};
use tokio::sync::watch as channel;

use super::settle::{Settle, Step};
use super::{Loaded, MAX_BYTES, PolicyFileError, Status};

/// How often the file is read when nothing tells of a change: an edit takes
/// effect within a second.
const LOOK: Duration = Duration::from_millis(500);
/// How long a file that changes must stay the same to be believed.
const SETTLED: Duration = Duration::from_millis(25);

/// What the thread wakes up for.
enum Wake {
    Look,
    Stop,
}

/// Stops following when it is dropped.
#[derive(Debug)]
pub(super) struct Watcher {
    wake: Sender<Wake>,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // If the thread is gone, there is nothing to stop.
        let _ = self.wake.send(Wake::Stop);
    }
}

/// What the thread has.
struct Follower {
    path: PathBuf,
    current: Arc<ArcSwap<Loaded>>,
    status: channel::Sender<Status>,
    file: Settle<Result<String, PolicyFileError>>,
}

impl Watcher {
    pub(super) fn start(
        path: PathBuf,
        text: String,
        current: Arc<ArcSwap<Loaded>>,
        status: channel::Sender<Status>,
    ) -> Self {
        let (wake, woken) = mpsc::channel();
        let notices = notices(&path, wake.clone());
        status.send_modify(|it| it.is_notified = notices.is_some());
        let mut follower = Follower { path, current, status, file: Settle::new(Ok(text)) };
        let run = move || {
            let _notices = notices;
            follower.follow(&woken);
        };
        if let Err(error) = thread::Builder::new().name("qalm-policy".to_owned()).spawn(run) {
            tracing::error!(%error, "no thread for the policy file: edits take no effect");
        }
        Self { wake }
    }
}

/// Asks the system to tell of changes in the file's folder.
fn notices(path: &Path, wake: Sender<Wake>) -> Option<RecommendedWatcher> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let tell = move |event: notify::Result<notify::Event>| {
        // Our own reading is no news.
        if event.is_ok_and(|event| event.kind.is_access()) {
            return;
        }
        // The thread may be gone already.
        let _ = wake.send(Wake::Look);
    };
    let start = || {
        let mut watcher = notify::recommended_watcher(tell)?;
        notify::Watcher::watch(&mut watcher, folder, RecursiveMode::NonRecursive)?;
        Ok(watcher)
    };
    let watcher: notify::Result<_> = start();
    let report = |error: &notify::Error| {
        tracing::warn!(path = %path.display(), %error, "no notices of changes: polling");
    };
    watcher.inspect_err(report).ok()
}

impl Follower {
    fn follow(&mut self, woken: &Receiver<Wake>) {
        while self.wait(woken) {
            self.look();
        }
    }

    /// Waits until the file should be read; false if never again. However much
    /// happens in the folder, it is not read more often than it may settle.
    fn wait(&self, woken: &Receiver<Wake>) -> bool {
        let begun = Instant::now();
        let mut is_due = self.file.is_moving();
        loop {
            let patience = if is_due { SETTLED } else { LOOK };
            let Some(left) = patience.checked_sub(begun.elapsed()) else { return true };
            match woken.recv_timeout(left) {
                Ok(Wake::Look) => is_due = true,
                Err(RecvTimeoutError::Timeout) => return true,
                Ok(Wake::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }

    fn look(&mut self) {
        match self.file.observe(read(&self.path)) {
            Step::Unchanged | Step::LookAgain => {}
            Step::Changed(text) => match text.and_then(|text| Loaded::edit(&self.path, &text)) {
                Ok(loaded) => self.accept(loaded),
                Err(error) => self.refuse(error),
            },
        }
    }

    fn accept(&self, loaded: Loaded) {
        tracing::info!(path = %self.path.display(), version = %loaded.version, "policy loaded");
        let loaded = Arc::new(loaded);
        self.current.store(loaded.clone());
        self.status.send_modify(|it| it.accept(&loaded));
    }

    fn refuse(&self, error: PolicyFileError) {
        let in_force = self.current.load().version.clone();
        tracing::error!(%error, in_force, "policy edit refused: the last good policy stays");
        self.status.send_modify(|it| it.refuse(error));
    }
}

/// Reads a policy file's text.
pub(super) fn read(path: &Path) -> Result<String, PolicyFileError> {
    let refuse = |reason: String| PolicyFileError::Read { path: path.to_owned(), reason };
    let metadata = fs::metadata(path).map_err(|error| refuse(error.to_string()))?;
    // Opening a pipe would wait for a writer.
    if !metadata.is_file() {
        return Err(refuse("it is not a file".to_owned()));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| refuse(error.to_string()))?;
    let read = file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| refuse(error.to_string()))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(refuse(format!("it is longer than {MAX_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| refuse(format!("it is not UTF-8: {error}")))
}
