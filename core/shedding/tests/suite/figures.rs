//! The figures of the specification, with the limit given (16, as many as the
//! pool has) and with the limit found. `--nocapture` prints them.

mod goals;
mod isolation;
mod overload;
mod robustness;
mod transitions;

use plimsoll_shedding::settings::{Auto, QueueSettings};

use crate::simulation::{Record, Scene, Source, Tally, run};

/// The two ways to have a limit.
pub(crate) fn kinds() -> [(&'static str, QueueSettings); 2] {
    let given = QueueSettings { concurrency: Auto::Fixed(16), ..QueueSettings::default() };
    [("given", given), ("found", QueueSettings::default())]
}

/// Level 2 and level 4 at so many times the capacity, level 4 making up the total.
pub(crate) fn mix(queue: QueueSettings, critical: f64, total: f64) -> Scene {
    let mut scene = Scene::new(vec![queue]);
    let capacity = scene.capacity();
    scene.sources =
        vec![Source::new(2, critical * capacity), Source::new(4, (total - critical) * capacity)];
    scene
}

pub(crate) fn over_seeds(scene: &Scene, seeds: u64) -> Vec<Record> {
    (0..seeds).map(|seed| run(scene, seed)).collect()
}

pub(crate) fn mean(records: &[Record], figure: impl Fn(&Record) -> f64) -> f64 {
    records.iter().map(figure).sum::<f64>() / records.len() as f64
}

/// A level over all runs.
pub(crate) fn level(records: &[Record], scene: &Scene, level: u8) -> Tally {
    let mut sum = Tally::default();
    records.iter().for_each(|record| sum.add(&record.level(scene, level)));
    sum
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
