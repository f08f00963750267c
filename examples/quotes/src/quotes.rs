//! The service, and the exchange behind it: the example's stand-in for a slow
//! dependency.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};
use tonic::codegen::tokio_stream::{Stream, wrappers::ReceiverStream};
use tonic::{Request, Response, Status};

use wire::{GetRequest, Quote};

/// What the wire is generated from, for reflection.
pub(crate) const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

#[expect(unreachable_pub, reason = "it is generated")]
pub(crate) mod wire {
    tonic::include_proto!("quotes.v1");
}

/// What asking for one price takes.
const ASKING: Duration = Duration::from_millis(10);
/// Between two prices of a watch.
const PAUSE: Duration = Duration::from_secs(1);

/// So many lines; who finds none free waits, in no order of importance.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    lines: Arc<Semaphore>,
}

impl Exchange {
    pub(crate) fn new(lines: u16) -> Self {
        Self { lines: Arc::new(Semaphore::new(usize::from(lines.max(1)))) }
    }

    async fn ask(&self, symbol: &str) -> Quote {
        let _line = self.lines.acquire().await;
        tokio::time::sleep(ASKING).await;
        let price = symbol.bytes().map(f64::from).sum();
        Quote { symbol: symbol.to_owned(), price }
    }
}

#[tonic::async_trait]
impl wire::quotes_server::Quotes for Exchange {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<Quote, Status>> + Send>>;

    async fn get(&self, request: Request<GetRequest>) -> Result<Response<Quote>, Status> {
        Ok(Response::new(self.ask(&request.get_ref().symbol).await))
    }

    async fn watch(
        &self,
        request: Request<GetRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let (exchange, symbol) = (self.clone(), request.into_inner().symbol);
        let (quotes, stream) = mpsc::channel(1);
        tokio::spawn(async move {
            while quotes.send(Ok(exchange.ask(&symbol).await)).await.is_ok() {
                tokio::time::sleep(PAUSE).await;
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(stream))))
    }
}
