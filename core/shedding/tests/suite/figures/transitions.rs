//! When load changes: how soon shedding begins, how soon it ends, and what a
//! burst costs.

use plimsoll_shedding::settings::QueueSettings;

use super::{kinds, level, median, mix, over_seeds};
use crate::simulation::{Record, Scene, Source};

const STEP_AT: f64 = 4.0;

/// A step from a load to another, of which so much is critical.
fn step(queue: QueueSettings, from: (f64, f64), to: (f64, f64)) -> (Scene, Vec<Record>) {
    let mut scene = mix(queue, 0.0, 0.0);
    let capacity = scene.capacity();
    (scene.seconds, scene.count_from) = (6.5, 0.0);
    let rates = |one: f64, two: f64| vec![(0.0, one * capacity), (STEP_AT, two * capacity)];
    scene.sources[0].rates = rates(from.0, to.0);
    scene.sources[1].rates = rates(from.1 - from.0, to.1 - to.0);
    let records = over_seeds(&scene, 15);
    (scene, records)
}

fn first_refusal_ms(record: &Record) -> f64 {
    let first = record.refusals.iter().map(|it| it.0).find(|&at| at >= STEP_AT);
    first.map_or(f64::INFINITY, |at| (at - STEP_AT) * 1e3)
}

#[test]
fn shedding_begins_within_a_window_of_a_step_up() {
    for (name, queue) in kinds() {
        for (total, bound) in [(1.4, 100.0), (4.0, 60.0)] {
            let (scene, records) = step(queue, (0.333, 0.5), (0.667, total));
            let first = median(records.iter().map(first_refusal_ms).collect());
            let critical = level(&records, &scene, 2);
            println!("{name} .5 to {total}: first refusal {first:.0} ms");
            assert!(first <= bound, "{name} {total} {first}");
            assert!(critical.answered(0.99) <= 100.0);
            assert_eq!(critical.refused + critical.expired, 0);
        }
    }
}

#[test]
fn shedding_ends_within_two_windows_of_a_step_down() {
    for (name, queue) in kinds() {
        let (_, records) = step(queue, (0.667, 2.0), (0.25, 0.5));
        let last = records.iter().filter_map(|it| it.refusals.last()).map(|it| it.0);
        let last = last.fold(0.0, f64::max) - STEP_AT;
        println!("{name} 2 to .5: last refusal after {:.0} ms", last * 1e3);
        assert!(last <= 0.2, "{name} {last}");
    }
}

/// 50 ms at three times the capacity each second, half the capacity on average.
fn bursts(queue: QueueSettings, shares: [f64; 4]) -> Scene {
    let mut scene = Scene::new(vec![queue]);
    scene.seconds = 24.0;
    for (number, share) in (1..=4).zip(shares) {
        let rate = share * scene.capacity();
        let second = |from: u32| {
            let from = f64::from(from);
            [(from, 0.368 * rate), (from + 0.5, 3.0 * rate), (from + 0.55, 0.368 * rate)]
        };
        let rates = (0..24).flat_map(second).collect();
        scene.sources.push(Source { rates, ..Source::new(number, 0.0) });
    }
    scene
}

#[test]
fn bursts_pass() {
    for (name, queue) in kinds() {
        for shares in [[0.25; 4], [0.0, 0.5, 0.0, 0.5], [0.0, 0.333, 0.0, 0.667]] {
            let scene = bursts(queue, shares);
            let records = over_seeds(&scene, 6);
            let [one, two, three, four] = [1, 2, 3, 4].map(|it| level(&records, &scene, it));
            let low = four.refused as f64 / four.offered as f64;
            println!(
                "{name} bursts {shares:?}: level 4 {:.3} %, level 3 {}",
                low * 100.0,
                three.refused
            );
            assert_eq!(one.refused + two.refused + three.refused, 0);
            assert!(low <= 0.001, "{name} {shares:?} {low}");
        }
    }
}

#[test]
fn at_four_fifths_of_capacity_next_to_nothing_is_shed() {
    for (name, queue) in kinds() {
        let mut scene = mix(queue, 0.4, 0.8);
        scene.seconds = 30.0;
        let records = over_seeds(&scene, 2);
        let low = level(&records, &scene, 4);
        let share = low.refused as f64 / low.offered as f64;
        println!("{name} .8 steady: level 4 {:.3} %", share * 100.0);
        assert!(share <= 0.001, "{name} {share}");
    }
}
