//! To the `metrics` facade: counters and gauges once a second, histograms as
//! samples come.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use metrics::{
    Label, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};

use super::names::{self, Metric};
use super::walk::{Sample, Sink, Value, walk};
use crate::background::Background;
use crate::layer::protection::Protection;

const PERIOD: Duration = Duration::from_secs(1);

/// Publishes the metrics of one layer.
#[derive(Debug, Default)]
pub(in crate::layer) struct Facade {
    task: Background,
}

impl Facade {
    pub(in crate::layer) fn ensure(&self, protection: &Arc<Protection>) {
        self.task.ensure(|| run(Arc::downgrade(protection)));
    }
}

async fn run(protection: Weak<Protection>) {
    let mut turns = tokio::time::interval(PERIOD);
    let mut recorder = Recorder { describes: true };
    loop {
        turns.tick().await;
        let Some(protection) = protection.upgrade() else { break };
        let Ok(()) = walk(&protection, &mut recorder);
        recorder.describes = false;
    }
}

struct Recorder {
    /// The first time, metrics are told with what they mean.
    describes: bool,
}

impl Recorder {
    fn describe(&self, metric: Metric, samples: &[Sample<'_>]) {
        match samples.first() {
            Some((_, Value::Counter(_))) => describe_counter!(metric.name, metric.help),
            Some((_, Value::Gauge(_))) => describe_gauge!(metric.name, metric.help),
            Some((_, Value::Histogram(_))) => describe_histogram!(metric.name, metric.help),
            None => {}
        }
    }
}

impl Sink for Recorder {
    type Error = Infallible;

    fn metric(&mut self, metric: Metric, samples: &[Sample<'_>]) -> Result<(), Infallible> {
        if self.describes {
            self.describe(metric, samples);
        }
        for (labels, value) in samples {
            let labels: Vec<Label> =
                labels.iter().map(|(name, value)| Label::new(*name, (*value).to_owned())).collect();
            match value {
                Value::Counter(count) => counter!(metric.name, labels).absolute(*count),
                Value::Gauge(value) => gauge!(metric.name, labels).set(*value),
                // Those are recorded sample by sample.
                Value::Histogram(_) => {}
            }
        }
        Ok(())
    }
}

/// The histograms of one endpoint, asked for when the first sample comes: by then
/// the application has installed its recorder.
#[derive(Default)]
pub(crate) struct FacadeHistograms {
    queue_wait: OnceLock<metrics::Histogram>,
    handling: OnceLock<metrics::Histogram>,
}

impl FacadeHistograms {
    pub(crate) fn queue_wait(&self, endpoint: &Arc<str>, span: Duration) {
        record(&self.queue_wait, names::QUEUE_WAIT, endpoint, span);
    }

    pub(crate) fn handling(&self, endpoint: &Arc<str>, span: Duration) {
        record(&self.handling, names::HANDLING, endpoint, span);
    }
}

fn record(
    cell: &OnceLock<metrics::Histogram>,
    metric: Metric,
    endpoint: &Arc<str>,
    span: Duration,
) {
    let ask = || histogram!(metric.name, "endpoint" => endpoint.to_string());
    cell.get_or_init(ask).record(span);
}

impl std::fmt::Debug for FacadeHistograms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FacadeHistograms").finish_non_exhaustive()
    }
}
