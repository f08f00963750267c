//! Between callers and between queues.

use std::time::Duration;

use plimsoll_shedding::settings::QueueSettings;

use super::{kinds, level, over_seeds};
use crate::simulation::{Scene, Source};

#[test]
fn one_that_asks_for_ten_times_as_much_does_not_take_the_others_share() {
    for (name, queue) in kinds() {
        for with_cohorts in [true, false] {
            let mut scene = Scene::new(vec![queue]);
            let capacity = scene.capacity();
            let [greedy, modest] = [20.0 / 11.0 * capacity, 2.0 / 11.0 * capacity];
            scene.sources = [(1, greedy), (2, modest)]
                .map(|(caller, rate)| Source { caller, with_cohorts, ..Source::new(3, rate) })
                .to_vec();
            let records = over_seeds(&scene, 3);
            let got =
                |source: usize| records.iter().map(|it| it.tallies[source].ok as f64).sum::<f64>();
            let (one, two) = (got(0) / (capacity - modest), got(1) / modest);
            let jain = (one + two).powi(2) / 2.0 / (one * one + two * two);
            println!("{name} ten to one, cohorts {with_cohorts}: Jain {jain:.4}");
            assert!(jain >= 0.95, "{name} {with_cohorts} {jain}");
        }
    }
}

/// An aggressor in one queue, or several, and ten requests a second in another,
/// all of them on one pool.
fn beside(queue: QueueSettings, aggressors: u32, factor: f64, places: usize) -> Scene {
    let mut scene = Scene::new(vec![queue; aggressors as usize + 1]);
    scene.places = places;
    (scene.seconds, scene.count_from) = (24.0, 8.0);
    let rate = factor * scene.capacity() / f64::from(aggressors);
    let flood = |queue| Source { queue, ..Source::new(3, rate) };
    scene.sources = (0..aggressors).map(flood).collect();
    scene.sources.push(Source { queue: aggressors, ..Source::new(2, 10.0) });
    scene
}

#[test]
fn a_flooded_queue_does_not_touch_another() {
    for (name, queue) in kinds() {
        let alone = beside(queue, 1, 0.0, 16);
        let solo = level(&over_seeds(&alone, 4), &alone, 2).answered(0.99);
        for factor in [1.0, 1.5, 3.0] {
            let scene = beside(queue, 1, factor, 16);
            let victim = level(&over_seeds(&scene, 4), &scene, 2);
            let p99 = victim.answered(0.99);
            println!("{name} beside {factor}: p99 {p99:.0} ms, alone {solo:.0}");
            assert_eq!(victim.success(), 1.0);
            assert!(p99 <= 1.5 * solo, "{name} {factor}: {p99} alone {solo}");
        }
    }
}

#[test]
fn several_flooded_queues_share_what_the_service_has() {
    let scene = beside(QueueSettings::default(), 4, 3.0, 16);
    let records = over_seeds(&scene, 3);
    let victim = level(&records, &scene, 2);
    let goodput = records.iter().map(|it| it.goodput(&scene)).sum::<f64>() / 3.0;
    println!(
        "four flooded queues: victim p99 {:.0} ms, goodput {goodput:.3}",
        victim.answered(0.99)
    );
    assert_eq!(victim.success(), 1.0);
    assert!(victim.answered(0.99) <= 150.0);
    assert!(goodput >= 0.95, "{goodput}");
}

#[test]
fn on_a_single_core_the_other_queue_waits_for_a_few_handlers_at_most() {
    let mut scene = beside(QueueSettings::default(), 1, 3.0, 1);
    scene.handling = Duration::from_millis(1);
    (scene.seconds, scene.count_from) = (40.0, 20.0);
    scene.sources[0].rates = vec![(0.0, 3000.0)];
    let victim = level(&over_seeds(&scene, 3), &scene, 2);
    println!("one core: victim p99 {:.1} ms", victim.answered(0.99));
    assert_eq!(victim.success(), 1.0);
    assert!(victim.answered(0.99) <= 15.0);
}
