//! The body of a request whose handler runs: while the handler waits for its
//! client's next piece, time counts.

#[cfg(any(feature = "axum", feature = "grpc"))]
mod watched;

#[cfg(any(feature = "axum", feature = "grpc"))]
use std::any::Any;
use std::sync::Arc;

use http::Request;

use super::holds::Hold;
#[cfg(any(feature = "axum", feature = "grpc"))]
use watched::Watched;

/// Tells the layer when a handler waits for more of its request. It is among the
/// extensions of a request whose body is not yet there; bodies of axum and tonic
/// tell by themselves.
#[derive(Clone, Debug)]
pub struct UploadWatch {
    hold: Arc<Hold>,
}

impl UploadWatch {
    /// The body was polled and has, or has not yet, given its next piece. Once the
    /// handler has waited for a second over all, it goes on without a place.
    pub fn polled(&self, is_pending: bool) {
        self.hold.asked(is_pending);
    }
}

/// Has the place be given back if the request comes too slowly.
pub(super) fn watch<B: 'static>(request: &mut Request<B>, hold: &Arc<Hold>) {
    let watch = UploadWatch { hold: Arc::clone(hold) };
    #[cfg(any(feature = "axum", feature = "grpc"))]
    if wrap(request.body_mut(), &watch) {
        return;
    }
    request.extensions_mut().insert(watch);
}

/// Has a body tell by itself, if it is of a kind that can be wrapped.
#[cfg(any(feature = "axum", feature = "grpc"))]
fn wrap(body: &mut dyn Any, watch: &UploadWatch) -> bool {
    #[cfg(feature = "axum")]
    if let Some(body) = body.downcast_mut::<axum::body::Body>() {
        *body = axum::body::Body::new(Watched::new(std::mem::take(body), watch));
        return true;
    }
    #[cfg(feature = "grpc")]
    if let Some(body) = body.downcast_mut::<tonic::body::Body>() {
        *body = tonic::body::Body::new(Watched::new(std::mem::take(body), watch));
        return true;
    }
    false
}
