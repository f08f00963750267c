//! The two watches, with messages that are encoded once however many watch.
//!
//! Generated code encodes every message anew for every stream. A map of 100,000
//! shards told to 1,000 watchers would be encoded a thousand times; here it is
//! encoded by the board and shared. So this service stands before a generated
//! one, answers the watch by itself and passes everything else on.

use std::convert::Infallible;
use std::task::{Context, Poll};

use bytes::{BufMut, Bytes};
use futures::FutureExt;
use futures::future::BoxFuture;
use plimsoll_wire::MAX_MESSAGE_BYTES;
use prost::Message;
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::codec::{Codec, EncodeBuf, Encoder};
use tonic::codegen::Service;
use tonic::codegen::http;
use tonic::server::{Grpc, NamedService, ServerStreamingService, StreamingService};
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::{ProstCodec, ProstDecoder};

use super::Services;
use super::{go_watch, watch};
use crate::replica;

const GO_WATCH: &str = "/uber.cadence.sharddistributor.v1.ShardDistributorAPI/WatchNamespaceState";
const WATCH: &str = "/plimsoll.v1.RoutingService/Watch";

/// Messages on their way to a watcher, encoded.
pub(super) type Pushes = ReceiverStream<Result<Bytes, Status>>;
type Answer = BoxFuture<'static, Result<Response<Pushes>, Status>>;

/// A generated service whose watch is answered here.
#[derive(Clone, Debug)]
pub(super) struct Pushed<S> {
    pub(super) inner: S,
    pub(super) services: Services,
}

impl<S> Service<http::Request<Body>> for Pushed<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let services = self.services.clone();
        match request.uri().path() {
            GO_WATCH => async { Ok(grpc().streaming(GoWatch(services), request).await) }.boxed(),
            WATCH => async { Ok(grpc().server_streaming(Watch(services), request).await) }.boxed(),
            _ => self.inner.call(request).boxed(),
        }
    }
}

impl<S: NamedService> NamedService for Pushed<S> {
    const NAME: &'static str = S::NAME;
}

fn grpc<D: Message + Default + 'static>() -> Grpc<Encoded<D>> {
    Grpc::new(Encoded::default()).max_encoding_message_size(MAX_MESSAGE_BYTES)
}

struct GoWatch(Services);

impl StreamingService<go_watch::Request> for GoWatch {
    type Response = Bytes;
    type ResponseStream = Pushes;
    type Future = Answer;

    fn call(&mut self, request: Request<Streaming<go_watch::Request>>) -> Answer {
        go_watch::open(self.0.clone(), request.into_inner()).boxed()
    }
}

struct Watch(Services);

impl ServerStreamingService<watch::Request> for Watch {
    type Response = Bytes;
    type ResponseStream = Pushes;
    type Future = Answer;

    fn call(&mut self, request: Request<watch::Request>) -> Answer {
        let by_server = request.metadata().contains_key(replica::SERVER);
        std::future::ready(watch::open(self.0.clone(), request.into_inner(), by_server)).boxed()
    }
}

/// Takes messages of one type in and sends what is encoded already.
#[derive(Debug)]
struct Encoded<D>(std::marker::PhantomData<D>);

impl<D> Default for Encoded<D> {
    fn default() -> Self {
        Self(std::marker::PhantomData)
    }
}

impl<D: Message + Default + 'static> Codec for Encoded<D> {
    type Encode = Bytes;
    type Decode = D;
    type Encoder = AsItIs;
    type Decoder = ProstDecoder<D>;

    fn encoder(&mut self) -> AsItIs {
        AsItIs
    }

    fn decoder(&mut self) -> ProstDecoder<D> {
        ProstCodec::<D, D>::default().decoder()
    }
}

struct AsItIs;

impl Encoder for AsItIs {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.reserve(message.len());
        buffer.put(message);
        Ok(())
    }
}
