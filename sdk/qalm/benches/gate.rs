//! What admission costs: lock, clock and decision together.

#![expect(clippy::expect_used, reason = "a bench that cannot run, fails")]

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use plimsoll_qalm::shedding::Criticality;
use plimsoll_qalm::shedding::request::{CallerIndex, QueueIndex, Request};
use plimsoll_qalm::shedding::settings::{Auto, Enforcement, QueueSettings, ServiceSettings};
use plimsoll_qalm::shedding::verdict::Outcome;
use plimsoll_qalm::{Admission, Gate};

fn gate_with(concurrency: Auto<u32>, max_queue: u32) -> (Gate, QueueIndex) {
    let gate = Gate::with_seed(ServiceSettings::default(), 7);
    let settings = QueueSettings { concurrency, max_queue, ..QueueSettings::default() };
    let queue = gate.add_queue("orders", settings);
    (gate, queue)
}

fn request(queue: QueueIndex, level: Criticality) -> Request {
    Request {
        queue,
        level,
        cohort: Default::default(),
        caller: CallerIndex(0),
        deadline: None,
        bytes: 0,
        enforcement: Enforcement::Enforce,
    }
}

fn admit_and_complete(gate: &Gate, request: &Request) -> Duration {
    match gate.arrive(black_box(request)) {
        Admission::Admitted(place) => place.finish(Outcome::Answered),
        other => panic!("not admitted: {other:?}"),
    }
}

fn admitted(c: &mut Criterion) {
    let (gate, queue) = gate_with(Auto::Auto, 10_000);
    let request = request(queue, Criticality::Feature);
    c.bench_function("gate/admit_and_complete", |b| {
        b.iter(|| admit_and_complete(&gate, &request));
    });
}

fn refused(c: &mut Criterion) {
    let (gate, queue) = gate_with(Auto::Fixed(1), 1);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let _runtime = runtime.enter();
    let _running = gate.arrive(&request(queue, Criticality::CoreFlow));
    let _waiting = gate.arrive(&request(queue, Criticality::CoreFlow));
    let request = request(queue, Criticality::Internal);
    c.bench_function("gate/refuse", |b| {
        b.iter(|| assert!(matches!(gate.arrive(black_box(&request)), Admission::Refused(_))));
    });
}

/// Time for one request of each of two threads that share an endpoint.
fn two_threads(c: &mut Criterion) {
    let (gate, queue) = gate_with(Auto::Auto, 10_000);
    let request = request(queue, Criticality::CoreFlow);
    c.bench_function("gate/admit_and_complete/two_threads", |b| {
        b.iter_custom(|rounds| {
            let start = Barrier::new(2);
            let run = || {
                start.wait();
                let began = Instant::now();
                for _ in 0..rounds {
                    black_box(admit_and_complete(&gate, &request));
                }
                began.elapsed()
            };
            std::thread::scope(|scope| {
                let other = scope.spawn(run);
                let mine: Duration = run();
                mine.max(other.join().expect("no panic"))
            })
        });
    });
}

criterion_group!(benches, admitted, refused, two_threads);
criterion_main!(benches);
