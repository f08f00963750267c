//! Settings nobody should write, handlers that never end, and what a refusal says.

use std::time::Duration;

use plimsoll_shedding::criticality::{Cohort, Criticality};
use plimsoll_shedding::request::{CallerIndex, QueueIndex, Request};
use plimsoll_shedding::settings::{Auto, Enforcement, QueueSettings, ServiceSettings};
use plimsoll_shedding::signal::{Signal, SignalKind};
use plimsoll_shedding::verdict::{Arrival, Outcome, Permit, Reason, Verdict};
use plimsoll_shedding::{Shedder, Time};

fn request(level: Criticality, cohort: u64) -> Request {
    Request {
        queue: QueueIndex(0),
        level,
        cohort: Cohort::from_hash(cohort),
        caller: CallerIndex(1),
        deadline: None,
        bytes: 10,
        enforcement: Enforcement::Enforce,
    }
}

fn shedder(settings: QueueSettings) -> Shedder {
    let mut shedder = Shedder::new(ServiceSettings::default(), 1);
    shedder.add_queue(settings);
    shedder
}

/// Four seconds of twice what one place carries.
fn drive(mut shedder: Shedder) {
    let mut running: Vec<Permit> = Vec::new();
    for step in 0..4000u64 {
        let now = Time::from_millis(step);
        let level = Criticality::ALL[(step % 4) as usize];
        if let Arrival::Admitted(permit) = shedder.arrive(now, &request(level, step)) {
            running.push(permit);
        }
        shedder.handle_timeout(now);
        while let Some((_, verdict)) = shedder.poll_verdict() {
            if let Verdict::Admitted(permit) = verdict {
                running.push(permit);
            }
        }
        if step % 2 == 0 && !running.is_empty() {
            shedder.complete(now, running.swap_remove(0), Outcome::Answered);
        }
        shedder.view(now, QueueIndex(0)).unwrap();
    }
}

#[test]
fn settings_out_of_range_count_as_the_nearest_that_is_in_it() {
    for span in [Duration::MAX, Duration::ZERO, Duration::from_nanos(1)] {
        for figure in [0, 1, u32::MAX] {
            let settings = QueueSettings {
                target: Auto::Fixed(span),
                interval: Auto::Fixed(span),
                concurrency: Auto::Fixed(figure.min(1)),
                min_concurrency: Some(figure),
                max_concurrency: figure,
                max_queue: figure,
                max_queue_bytes: u64::from(figure),
                reserve: f64::from(figure),
                newest_first_after: span,
                critical_patience: span,
                caller_cap: Some(figure),
                never_drop_critical: false,
            };
            drive(shedder(settings));
            drive(shedder(QueueSettings { caller_cap: None, reserve: f64::NAN, ..settings }));
            let found = QueueSettings { concurrency: Auto::Auto, ..settings };
            drive(shedder(found));
            drive(shedder(QueueSettings { interval: Auto::Auto, target: Auto::Auto, ..found }));
            drive(shedder(QueueSettings { concurrency: Auto::Fixed(figure), ..settings }));
        }
    }
}

#[test]
fn behind_handlers_that_hang_nobody_of_levels_3_and_4_waits_without_end() {
    let mut shedder = shedder(QueueSettings { concurrency: Auto::Fixed(1), ..Default::default() });
    let held = shedder.arrive(Time::from_millis(1), &request(Criticality::Feature, 0));
    assert!(matches!(held, Arrival::Admitted(_)));
    for level in [Criticality::Feature, Criticality::Internal] {
        let waits = shedder.arrive(Time::from_millis(10), &request(level, 0));
        assert!(matches!(waits, Arrival::Queued(_)));
    }
    let mut refused = Vec::new();
    for millis in 10..3000 {
        shedder.handle_timeout(Time::from_millis(millis));
        while let Some((_, Verdict::Refused(refusal))) = shedder.poll_verdict() {
            refused.push((millis >= 900, refusal.reason));
        }
    }
    assert_eq!(refused, [(true, Reason::Overload); 2]);
    let waiting = shedder.view(Time::from_millis(3000), QueueIndex(0)).unwrap().waiting;
    assert_eq!(waiting, [0; 4]);
}

#[test]
fn a_refusal_by_a_resource_names_a_level_that_it_does_not_refuse() {
    for kind in [SignalKind::Cpu, SignalKind::Lag, SignalKind::Memory] {
        let mut shedder = shedder(QueueSettings::default());
        let mut refusals = [0; 2];
        for count in 0..2000u64 {
            let now = Time::from_millis(1000 + count);
            if count % 10 == 0 {
                let pressure = 1.05 + count as f64 / 1000.0;
                shedder.signal(now, Signal { kind, pressure });
            }
            let level = [Criticality::Feature, Criticality::Internal][(count % 2) as usize];
            match shedder.arrive(now, &request(level, count)) {
                Arrival::Admitted(permit) => shedder.complete(now, permit, Outcome::Answered),
                Arrival::Refused(refusal) => {
                    refusals[(count % 2) as usize] += 1;
                    assert_eq!(refusal.reason, Reason::Resource(kind));
                    assert!(refusal.admitted_level < level, "{kind:?} {level} {refusal:?}");
                }
                Arrival::Queued(_) => unreachable!("places are free"),
            }
        }
        assert!(refusals.iter().all(|&refused| refused > 50), "{kind:?} {refusals:?}");
    }
}
