//! A tower service as an [`Admission`].
//!
//! A layer wants to run the handler itself. Here the innermost service hands a
//! guard to whoever asked and ends when that is dropped, so the layer sees the
//! handler's time.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use plimsoll_peers::{Admission, Admitting, Asked, Guard, Rejected};
use tokio::sync::oneshot;
use tower::{Service, ServiceExt};

/// What the layer carries to the innermost service.
#[derive(Debug)]
pub(super) struct Call(oneshot::Sender<Guard>);

/// The innermost service: it lasts until the guard that it hands over is dropped.
#[derive(Clone, Debug)]
pub(super) struct Handler;

impl Service<Call> for Handler {
    type Response = ();
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<(), Infallible>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: Call) -> Self::Future {
        Box::pin(async move {
            let (sender, ended) = oneshot::channel();
            // Nobody may be listening: the layer gave up.
            let guard = Guard::new(move || sender.send(()).unwrap_or_default());
            if call.0.send(guard).is_ok() {
                drop(ended.await);
            }
            Ok(())
        })
    }
}

/// A stack of layers around [`Handler`].
pub(super) struct Layered<S> {
    name: &'static str,
    service: S,
}

impl<S> Layered<S> {
    pub(super) fn new(name: &'static str, service: S) -> Self {
        Self { name, service }
    }
}

impl<S> Admission for Layered<S>
where
    S: Service<Call> + Clone + Send + Sync + 'static,
    S::Future: Send,
    S::Response: Send,
    S::Error: Send,
{
    fn admit(&self, _asked: Asked) -> Admitting {
        let (service, (sender, admitted)) = (self.service.clone(), oneshot::channel());
        // A task of its own, so that it goes on while the handler runs.
        tokio::spawn(service.oneshot(Call(sender)));
        Box::pin(async move { admitted.await.map_err(|_| Rejected::Shed) })
    }
}

impl<S> fmt::Debug for Layered<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
