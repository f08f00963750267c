//! What shedders are fooled by: stalls, slow dependencies, little traffic, clients
//! that go away; and whether a dry run tells the truth.

use std::time::Duration;

use plimsoll_shedding::settings::Enforcement;
use plimsoll_shedding::state::State;

use super::{kinds, level, mean, mix, over_seeds};
use crate::simulation::{Scene, Source};

#[test]
fn a_process_that_stood_still_sheds_nothing_critical() {
    for (name, queue) in kinds() {
        let mut scene = mix(queue, 0.467, 0.7);
        scene.seconds = 22.0;
        scene.stalls = (0..10).map(|stall| (3.0 + 1.7 * f64::from(stall), 1.0)).collect();
        let records = over_seeds(&scene, 3);
        let (critical, low) = (level(&records, &scene, 2), level(&records, &scene, 4));
        println!("{name} stalls: critical {} low {} refused", critical.refused, low.refused);
        assert_eq!(critical.refused + critical.expired, 0);
        let backlog = scene.capacity() * 0.7 * 10.0 * 3.0;
        assert!((low.refused as f64) < backlog);
    }
}

#[test]
fn what_gathered_meanwhile_and_comes_in_over_a_quarter_of_a_second_is_no_saturation() {
    for (name, queue) in kinds() {
        let mut scene = mix(queue, 0.35, 0.7);
        scene.seconds = 22.0;
        scene.stalls = (0..4).map(|stall| (3.0 + 4.0 * f64::from(stall), 1.0)).collect();
        for source in &mut scene.sources {
            let rate = source.rates[0].1;
            for &(from, span) in &scene.stalls {
                let woken = from + span;
                source.rates.extend([(from, 0.0), (woken, 5.0 * rate), (woken + 0.25, rate)]);
            }
        }
        let records = over_seeds(&scene, 10);
        let critical = level(&records, &scene, 2);
        println!("{name} gathered: {} refused, {} expired", critical.refused, critical.expired);
        assert_eq!(critical.refused + critical.expired, 0);
    }
}

#[test]
fn a_dependency_ten_times_as_slow_leaves_critical_requests_what_there_is() {
    for (name, queue) in kinds() {
        for places in [16, 1000] {
            let mut scene = Scene::new(vec![queue]);
            let capacity = scene.capacity();
            scene.places = places;
            (scene.seconds, scene.patience) = (24.0, Duration::from_secs(1));
            scene.sources = [(1, 0.02), (2, 0.05), (3, 0.2), (4, 0.5)]
                .map(|(level, share)| Source::new(level, share * capacity))
                .to_vec();
            scene.slowness = vec![(8.0, 10.0), (18.0, 1.0)];
            let records = over_seeds(&scene, 3);
            let [first, second] = [1, 2].map(|it| level(&records, &scene, it));
            println!(
                "{name} slow, {places} places: {:.4} {:.4}",
                first.success(),
                second.success()
            );
            assert_eq!(first.refused + first.expired + second.refused + second.expired, 0);
            assert!(first.success() > 0.999 && second.success() > 0.995);
        }
    }
}

#[test]
fn little_traffic_is_never_shed() {
    for (name, queue) in kinds() {
        for rate in [1.0, 5.0, 10.0] {
            let mut scene = mix(queue, 0.0, 0.0);
            scene.handling = Duration::from_millis(200);
            scene.seconds = 600.0;
            scene.sources = vec![Source::new(3, rate / 2.0), Source::new(4, rate / 2.0)];
            let records = over_seeds(&scene, 2);
            let refused: u64 = records.iter().map(|it| it.all().refused).sum();
            assert_eq!(refused, 0, "{name} {rate}");
        }
    }
}

#[test]
fn a_dry_run_counts_what_enforcing_refuses() {
    for (name, queue) in kinds() {
        for total in [1.33, 2.0, 4.0] {
            let refused = [Enforcement::Enforce, Enforcement::DryRun].map(|enforcement| {
                let mut scene = mix(queue, 0.667, total);
                scene.seconds = 12.0;
                scene.sources.iter_mut().for_each(|it| it.enforcement = enforcement);
                let records = over_seeds(&scene, 8);
                mean(&records, |it| (it.all().refused + it.all().would_refuse) as f64)
            });
            let ratio = refused[1] / refused[0];
            println!("{name} dry run at {total}: {ratio:.3}");
            assert!((0.95..=1.05).contains(&ratio), "{name} {total} {ratio}");
        }
    }
}

#[test]
fn a_dry_run_whose_handlers_hold_the_backlog_is_not_called_normal() {
    for (name, queue) in kinds() {
        let mut scene = mix(queue, 0.667, 2.0);
        let capacity = scene.capacity();
        scene.seconds = 12.0;
        scene.sources[1].rates = vec![(0.0, 1.333 * capacity), (4.0, 0.32 * capacity)];
        scene.sources.iter_mut().for_each(|it| it.enforcement = Enforcement::DryRun);
        let records = over_seeds(&scene, 3);
        for view in records.iter().map(|it| it.last_view) {
            println!("{name} backlog: {} {:?}", view.state.as_str(), view.predicted_wait);
            assert_ne!(view.state, State::Normal);
            assert!(view.predicted_wait > Duration::from_secs(1));
        }
    }
}

#[test]
fn a_dry_run_at_the_edge_counts_what_enforcing_refuses() {
    for (name, queue) in kinds() {
        let refused = [Enforcement::Enforce, Enforcement::DryRun].map(|enforcement| {
            let mut scene = Scene::new(vec![queue]);
            let capacity = scene.capacity();
            scene.seconds = 12.0;
            scene.sources = [(2, 0.375), (3, 0.375), (4, 0.5)]
                .map(|(level, share)| Source::new(level, share * capacity))
                .to_vec();
            scene.sources.iter_mut().for_each(|it| it.enforcement = enforcement);
            let records = over_seeds(&scene, 4);
            mean(&records, |it| (it.all().refused + it.all().would_refuse) as f64)
        });
        let ratio = refused[1] / refused[0];
        println!("{name} dry run at 1.25, three levels: {ratio:.3}");
        assert!((0.95..=1.05).contains(&ratio), "{name} {ratio}");
    }
}

#[test]
fn a_deadline_far_off_makes_no_critical_request_wait_longer_than_its_patience() {
    for (name, queue) in kinds() {
        let mut scene = mix(queue, 1.3, 1.3);
        scene.sources[0].deadline = Some(Duration::from_secs(10));
        let records = over_seeds(&scene, 3);
        let goodput = mean(&records, |it| it.goodput(&scene));
        let critical = level(&records, &scene, 2);
        let slowest = critical.answered(0.99);
        println!("{name} far deadlines: goodput {goodput:.3}, p99 {slowest:.0} ms");
        assert!(goodput >= 0.97 && slowest <= 400.0 && critical.expired > 0);
    }
}

#[test]
fn clients_that_go_away_cost_nothing() {
    for (name, queue) in kinds() {
        let mut scene = mix(queue, 0.667, 2.0);
        scene.sources[1].hangs_up = Some(Duration::from_millis(15));
        let records = over_seeds(&scene, 3);
        let critical = level(&records, &scene, 2);
        println!("{name} hanging up: {:?}", critical.success());
        assert_eq!(critical.success(), 1.0);
    }
}

#[test]
fn deadlines_that_cannot_be_met_are_not_waited_for() {
    for (name, queue) in kinds() {
        let mut scene = mix(queue, 1.3, 1.3);
        scene.sources[0].deadline = Some(Duration::from_millis(200));
        let records = over_seeds(&scene, 3);
        let goodput = mean(&records, |it| it.goodput(&scene));
        let slowest = level(&records, &scene, 2).answered(0.99);
        println!("{name} deadlines: goodput {goodput:.3}, p99 {slowest:.0} ms");
        assert!(goodput >= 0.97 && slowest <= 250.0);
    }
}
