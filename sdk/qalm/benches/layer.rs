//! What the layer costs a request, beside the same service without it: time, and
//! allocations on the standard error stream.

#![expect(clippy::expect_used, reason = "a bench that cannot run, fails")]

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::hint::black_box;

use bytes::Bytes;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use futures::FutureExt;
use http::{Request, Response};
use http_body_util::{BodyExt, Empty, Full};
use plimsoll_qalm::QalmLayer;
use tower::{Layer, Service, service_fn};

type Asked = Request<Empty<Bytes>>;

/// As a browser or a library would send it.
fn request(caller: Option<&str>) -> Asked {
    let request = Request::get("http://shop.example/orders/7")
        .header("host", "shop.example")
        .header("user-agent", "bench/1.0")
        .header("accept", "application/json")
        .header("accept-encoding", "gzip");
    let named = match caller {
        Some(caller) => request.header("rpc-caller", caller),
        None => request,
    };
    named.body(Empty::new()).expect("a request")
}

#[expect(clippy::type_complexity, reason = "what a service is, said once")]
fn handler(
    answer: &'static str,
) -> impl Service<
    Asked,
    Response = Response<Full<Bytes>>,
    Error = Infallible,
    Future = Ready<Result<Response<Full<Bytes>>, Infallible>>,
> + Clone {
    service_fn(move |_: Asked| ready(Ok(Response::new(Full::from(answer)))))
}

/// One request to its end: the answer's body is read.
fn once<S, B>(service: &mut S, request: Asked)
where
    S: Service<Asked, Response = Response<B>>,
    B: http_body::Body<Data = Bytes>,
{
    let answered = service.call(request).now_or_never().and_then(Result::ok);
    let body = answered.expect("it answers at once").into_body();
    black_box(body.collect().now_or_never().and_then(Result::ok));
}

fn allocations<S, B>(name: &str, service: &mut S, caller: Option<&str>)
where
    S: Service<Asked, Response = Response<B>>,
    B: http_body::Body<Data = Bytes>,
{
    let requests: Vec<Asked> = (0..1000).map(|_| request(caller)).collect();
    let counted = allocation_counter::measure(|| {
        requests.into_iter().for_each(|request| once(service, request));
    });
    eprintln!("layer/{name}: {} allocations a request", counted.count_total as f64 / 1e3);
}

fn measured<S, B>(c: &mut Criterion, name: &str, service: &mut S, caller: Option<&str>)
where
    S: Service<Asked, Response = Response<B>>,
    B: http_body::Body<Data = Bytes>,
{
    (0..1000).for_each(|_| once(service, request(caller)));
    allocations(name, service, caller);
    c.bench_function(&format!("layer/{name}"), |bench| {
        bench.iter_batched(
            || request(caller),
            |request| once(service, request),
            BatchSize::SmallInput,
        );
    });
}

fn beside_the_bare_service(c: &mut Criterion) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let _within = runtime.enter();
    for (name, answer) in [("empty", ""), ("body", "hello")] {
        measured(c, &format!("bare/{name}"), &mut handler(answer), None);
        let mut layered = QalmLayer::new().layer(handler(answer));
        measured(c, &format!("qalm/{name}"), &mut layered, None);
        measured(c, &format!("qalm/{name}/named_caller"), &mut layered, Some("checkout"));
    }
}

criterion_group!(benches, beside_the_bare_service);
criterion_main!(benches);
