//! Both layers in front of a callee that carries so much and no more, on a clock
//! that only goes on when everybody waits.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use parking_lot::Mutex;
use plimsoll_shedding::Criticality;
use plimsoll_shedding::criticality::Cohort;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use super::*;
use crate::context::Context;
use crate::headers::{CRITICALITY, RETRY_AFTER, RETRY_AFTER_MS, SHED_LEVEL, SHED_REASON};

type Call = Request<Full<Bytes>>;

/// At 800 calls a second, a third of them critical, this is a capacity of 400.
const OTHERS: u32 = 130;

/// Carries every critical call, and so many others in every tenth of a second.
#[derive(Debug)]
struct Callee {
    carries: u32,
    began: Instant,
    seen: AtomicU32,
    window: Mutex<(u128, u32)>,
}

impl Callee {
    fn new(per_second: u32) -> Arc<Self> {
        let began = Instant::now();
        let (seen, window) = (AtomicU32::new(0), Mutex::default());
        Arc::new(Self { carries: per_second / 10, began, seen, window })
    }

    fn answer(&self, call: &Call) -> Response<()> {
        self.seen.fetch_add(1, Ordering::Relaxed);
        let window = &mut *self.window.lock();
        let now = self.began.elapsed().as_millis() / 100;
        if window.0 != now {
            *window = (now, 0);
        }
        if call.headers()[CRITICALITY] != "4" {
            return Response::new(());
        }
        if window.1 >= self.carries {
            return refusal(&[(SHED_LEVEL, "3"), (RETRY_AFTER_MS, "100")]);
        }
        window.1 += 1;
        Response::new(())
    }
}

/// A service that can be given to tasks.
trait Callable:
    Service<Call, Response = Response<()>, Error = BoxError, Future: Send> + Clone + Send + 'static
{
}

impl<S> Callable for S where
    S: Service<Call, Response = Response<()>, Error = BoxError, Future: Send>
        + Clone
        + Send
        + 'static
{
}

fn refusal(said: &[(&'static str, &'static str)]) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response.headers_mut().insert(SHED_REASON, http::HeaderValue::from_static("overload"));
    for (name, value) in said {
        response.headers_mut().insert(*name, http::HeaderValue::from_static(value));
    }
    response
}

fn of_level(level: Criticality) -> Context {
    Context { level, cohort: Cohort::default(), deadline: None }
}

fn call() -> Call {
    Request::new(Full::new(Bytes::from_static(b"hello")))
}

/// Offers `rate` calls a second for ten seconds, a third of them critical, and
/// returns how many of each were answered.
async fn offer<S>(service: S, rate: u32) -> [(u32, u32); 2]
where
    S: Service<Call, Response = Response<()>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
{
    let mut calls = JoinSet::new();
    for number in 0..rate * 10 {
        let due = Duration::from_secs(1) / rate * number;
        let (service, begun) = (service.clone(), Instant::now());
        let is_critical = number % 3 == 0;
        let level = if is_critical { Criticality::CoreFlow } else { Criticality::Internal };
        calls.spawn(of_level(level).scope(async move {
            tokio::time::sleep_until(begun + due).await;
            let answer = service.oneshot(call()).await;
            (is_critical, answer.is_ok_and(|it| it.status() == StatusCode::OK))
        }));
    }
    let mut tally = [(0, 0); 2];
    while let Some(done) = calls.join_next().await {
        let (is_critical, is_answered) = done.unwrap();
        let (all, answered) = &mut tally[usize::from(is_critical)];
        *all += 1;
        *answered += u32::from(is_answered);
    }
    tally
}

fn service(callee: &Arc<Callee>, layer: &ClientLayer) -> impl Callable {
    let callee = callee.clone();
    layer.layer(service_fn(move |call: Call| {
        let answer = callee.answer(&call);
        async move { Ok::<_, Infallible>(answer) }
    }))
}

#[tokio::test(start_paused = true)]
async fn at_twice_the_capacity_three_repetitions_asked_amplify_by_a_tenth_at_most() {
    let callee = Callee::new(OTHERS);
    let layer = ClientLayer::new("me").unwrap().send_everything();
    let retries = RetryLayer::new().attempts(3);
    let [(others, answered), critical] = offer(retries.layer(service(&callee, &layer)), 800).await;
    let figures = retries.figures();
    let amplification = f64::from(callee.seen.load(Ordering::Relaxed)) / 8_000.0;
    println!("amplification {amplification}, others {answered}/{others}, {figures:?}");
    assert!(amplification > 1.05 && amplification <= 1.1, "{amplification}");
    assert_eq!(figures.calls, 8_000);
    assert!(figures.over_budget > figures.retries, "{figures:?}");
    assert_eq!(critical.0, critical.1, "critical calls failed");
}

#[tokio::test(start_paused = true)]
async fn without_a_budget_the_same_callers_double_the_load() {
    let callee = Callee::new(OTHERS);
    let layer = ClientLayer::new("me").unwrap().send_everything();
    let retries = RetryLayer::new().attempts(3).budget(1.0);
    offer(retries.layer(service(&callee, &layer)), 800).await;
    let amplification = f64::from(callee.seen.load(Ordering::Relaxed)) / 8_000.0;
    assert!(amplification > 1.5, "{amplification}");
}

#[tokio::test(start_paused = true)]
async fn what_would_be_refused_is_kept_back_and_what_is_carried_is_not() {
    let all = ClientLayer::new("me").unwrap().send_everything();
    let [(_, carried), _] = offer(service(&Callee::new(OTHERS), &all), 800).await;
    let unheld = all.figures();
    for seed in 1..=5 {
        let callee = Callee::new(OTHERS);
        let layer = ClientLayer::new("me").unwrap().seed(seed);
        let [(_, answered), critical] = offer(service(&callee, &layer), 800).await;
        let figures = layer.figures();
        println!("seed {seed}: {answered} of {carried} answered, {figures:?}, else {unheld:?}");
        assert_eq!(critical.0, critical.1);
        assert!(f64::from(answered) > 0.9 * f64::from(carried), "{answered} of {carried}");
        assert!(figures.refused * 4 < unheld.refused, "{figures:?} {unheld:?}");
        assert_eq!(figures.sent + figures.held_back, 8_000);
        assert_eq!(u64::from(callee.seen.load(Ordering::Relaxed)), figures.sent);
    }
}

#[tokio::test(start_paused = true)]
async fn a_callee_that_has_recovered_is_called_again() {
    let is_overloaded = Arc::new(AtomicBool::new(true));
    let state = is_overloaded.clone();
    let layer = ClientLayer::new("me").unwrap().level(Criticality::Internal);
    let mut service = layer.layer(service_fn(move |_: Call| {
        let refused = state.load(Ordering::Relaxed);
        let said = [(SHED_LEVEL, "2"), (RETRY_AFTER_MS, "400")];
        let answer = if refused { refusal(&said) } else { Response::new(()) };
        async move { Ok::<_, Infallible>(answer) }
    }));
    let error = loop {
        match service.ready().await.unwrap().call(call()).await {
            Ok(refused) => assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE),
            Err(error) => break error,
        }
    };
    let why = error.downcast_ref::<NotSent>().unwrap().why();
    let (level, admitted) = (Criticality::Internal, Criticality::CoreFlow);
    assert_eq!(why, Why::HeldBack { level, admitted, retry_after: Duration::from_millis(400) });
    is_overloaded.store(false, Ordering::Relaxed);
    tokio::time::advance(Duration::from_millis(400)).await;
    for _ in 0..100 {
        assert!(service.ready().await.unwrap().call(call()).await.is_ok());
    }
}

/// Calls once through both layers; returns the answer and how often the callee
/// was called.
async fn once(
    answers: Vec<Result<Response<()>, &'static str>>,
    context: Context,
) -> (Result<Response<()>, BoxError>, usize) {
    let answers = Arc::new(Mutex::new(answers.into_iter()));
    let left = answers.clone();
    let count = answers.lock().len();
    let callee = service_fn(move |_: Call| {
        let answer = answers.lock().next().unwrap_or_else(|| Ok(Response::new(())));
        async move { answer }
    });
    let service = ServiceBuilder::new()
        .layer(RetryLayer::new().budget(1.0))
        .layer(ClientLayer::new("me").unwrap())
        .service(callee);
    let answer = context.scope(service.oneshot(call())).await;
    (answer, count - left.lock().len())
}

fn refused_for(millis: &'static str) -> Result<Response<()>, &'static str> {
    Ok(refusal(&[(RETRY_AFTER_MS, millis)]))
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_is_made_again_after_the_wait_that_was_asked_for() {
    let begun = Instant::now();
    let answers = vec![refused_for("40"), Ok(Response::new(())), Ok(Response::new(()))];
    let (answer, calls) = once(answers, of_level(Criticality::Feature)).await;
    assert_eq!((answer.unwrap().status(), calls), (StatusCode::OK, 2));
    let waited = begun.elapsed();
    assert!(
        waited >= Duration::from_millis(40) && waited <= Duration::from_millis(52),
        "{waited:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_handler_may_have_seen_is_never_repeated() {
    let mut unavailable = Response::new(());
    *unavailable.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    let rest = || vec![Ok(Response::new(())); 3];
    let feature = of_level(Criticality::Feature);
    for first in [Ok(unavailable), Err("connection lost")] {
        let answers = std::iter::once(first).chain(rest()).collect();
        assert_eq!(once(answers, feature).await.1, 1);
    }
    let expired = refusal(&[(SHED_REASON, "expired")]);
    let forbidden = refusal(&[(crate::headers::GRPC_RETRY_PUSHBACK_MS, "-1")]);
    for first in [Ok(expired), Ok(forbidden), refused_for("2001")] {
        let answers = std::iter::once(first).chain(rest()).collect();
        assert_eq!(once(answers, feature).await.1, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_repeated_for_which_nobody_waits() {
    let deadline = Some(Instant::now() + Duration::from_millis(30));
    let context = Context { deadline, ..of_level(Criticality::Feature) };
    let (answer, calls) = once(vec![refused_for("40"), Ok(Response::new(()))], context).await;
    assert_eq!((answer.unwrap().status(), calls), (StatusCode::SERVICE_UNAVAILABLE, 1));
    let over = Context { deadline: Some(Instant::now()), ..context };
    let (answer, calls) = once(vec![Ok(Response::new(()))], over).await;
    let error = answer.unwrap_err();
    assert_eq!((error.downcast_ref::<NotSent>().unwrap().why(), calls), (Why::Expired, 0));
}

#[tokio::test(start_paused = true)]
async fn no_wait_that_a_callee_names_ends_its_caller() {
    let deadline = Some(Instant::now() + Duration::from_secs(1));
    let feature = of_level(Criticality::Feature);
    for context in [feature, Context { deadline, ..feature }] {
        for seconds in ["18446744073709551615", "9000000000000000000"] {
            let answers = vec![Ok(refusal(&[(RETRY_AFTER, seconds)])), Ok(Response::new(()))];
            let (answer, calls) = once(answers, context).await;
            assert_eq!((answer.unwrap().status(), calls), (StatusCode::SERVICE_UNAVAILABLE, 1));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_repeated_no_more_often_than_is_allowed() {
    let answers = (0..9).map(|_| refused_for("10")).collect();
    let (answer, calls) = once(answers, of_level(Criticality::Feature)).await;
    // One call earns one repetition where the budget is as much again.
    assert_eq!((answer.unwrap().status(), calls), (StatusCode::SERVICE_UNAVAILABLE, 2));
}

#[test]
fn a_name_that_no_header_carries_is_refused() {
    for name in ["", "a\nb"] {
        assert_eq!(ClientLayer::new(name).unwrap_err(), InvalidName(name.to_owned()));
    }
}
