//! A gRPC service without generated code: unary, streaming, and one that is held.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use futures::{Stream, StreamExt, stream};
use http::{Request, Response};
use tokio::sync::Semaphore;
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, ServerStreamingService, UnaryService};
use tonic::{Code, Status};
use tonic_prost::ProstCodec;
use tower::Service;

type Quotes = Pin<Box<dyn Stream<Item = Result<String, Status>> + Send>>;

#[derive(Clone, Debug)]
pub(crate) struct QuoteService {
    pub(crate) held: Arc<Semaphore>,
}

impl Default for QuoteService {
    fn default() -> Self {
        Self { held: Arc::new(Semaphore::new(0)) }
    }
}

impl NamedService for QuoteService {
    const NAME: &'static str = "test.v1.Quotes";
}

impl Service<Request<Body>> for QuoteService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (held, path) = (Arc::clone(&self.held), request.uri().path().to_owned());
        let mut grpc = Grpc::new(ProstCodec::<String, String>::default());
        Box::pin(async move {
            Ok(match path.as_str() {
                "/test.v1.Quotes/Get" => grpc.unary(Get, request).await,
                "/test.v1.Quotes/Held" => grpc.unary(Held(held), request).await,
                "/test.v1.Quotes/Watch" => grpc.server_streaming(Watch, request).await,
                _ => Status::new(Code::Unimplemented, "no such method").into_http(),
            })
        })
    }
}

struct Get;

impl UnaryService<String> for Get {
    type Response = String;
    type Future = BoxFuture<'static, Result<tonic::Response<String>, Status>>;

    fn call(&mut self, request: tonic::Request<String>) -> Self::Future {
        Box::pin(async move { Ok(tonic::Response::new(request.into_inner() + ": 42")) })
    }
}

struct Held(Arc<Semaphore>);

impl UnaryService<String> for Held {
    type Response = String;
    type Future = BoxFuture<'static, Result<tonic::Response<String>, Status>>;

    fn call(&mut self, _: tonic::Request<String>) -> Self::Future {
        let held = Arc::clone(&self.0);
        Box::pin(async move {
            held.acquire().await.map_err(|_| Status::aborted("closed"))?.forget();
            Ok(tonic::Response::new("done".to_owned()))
        })
    }
}

struct Watch;

impl ServerStreamingService<String> for Watch {
    type Response = String;
    type ResponseStream = Quotes;
    type Future = BoxFuture<'static, Result<tonic::Response<Quotes>, Status>>;

    fn call(&mut self, _: tonic::Request<String>) -> Self::Future {
        let quotes: Quotes =
            Box::pin(stream::iter([Ok("first".to_owned())]).chain(stream::pending()));
        Box::pin(async move { Ok(tonic::Response::new(quotes)) })
    }
}
