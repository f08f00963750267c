//! What the core costs a request, without lock and clock.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use plimsoll_shedding::criticality::{Cohort, Criticality};
use plimsoll_shedding::request::{CallerIndex, QueueIndex, Request};
use plimsoll_shedding::settings::{Auto, Enforcement, QueueSettings, ServiceSettings};
use plimsoll_shedding::verdict::{Arrival, Outcome};
use plimsoll_shedding::{Shedder, Time};

fn request(level: Criticality) -> Request {
    Request {
        queue: QueueIndex(0),
        level,
        cohort: Cohort::default(),
        caller: CallerIndex(1),
        deadline: None,
        bytes: 100,
        enforcement: Enforcement::Enforce,
    }
}

/// Nobody queued: 10 µs from request to request.
fn admit_and_complete(bench: &mut Criterion) {
    let mut shedder = Shedder::new(ServiceSettings::default(), 1);
    shedder.add_queue(QueueSettings::default());
    let request = request(Criticality::Feature);
    let mut now = Time::ZERO;
    bench.bench_function("admit_and_complete", |bencher| {
        bencher.iter(|| {
            now += Duration::from_micros(10);
            if let Arrival::Admitted(permit) = shedder.arrive(now, black_box(&request)) {
                shedder.complete(now, permit, Outcome::Answered);
            }
        });
    });
}

/// An overload that has lasted: level 4 is refused.
fn refuse(bench: &mut Criterion) {
    let mut shedder = Shedder::new(ServiceSettings::default(), 1);
    shedder.add_queue(QueueSettings { concurrency: Auto::Fixed(1), ..QueueSettings::default() });
    let (critical, low) = (request(Criticality::CoreFlow), request(Criticality::Internal));
    let mut now = Time::ZERO;
    let held: Vec<Arrival> = (0..4000)
        .map(|_| {
            now += Duration::from_micros(100);
            shedder.arrive(now, &critical)
        })
        .collect();
    assert!(matches!(shedder.arrive(now, &low), Arrival::Refused(_)), "{}", held.len());
    bench.bench_function("refuse", |bencher| {
        bencher.iter(|| matches!(shedder.arrive(now, black_box(&low)), Arrival::Refused(_)));
    });
}

criterion_group!(benches, admit_and_complete, refuse);
criterion_main!(benches);
