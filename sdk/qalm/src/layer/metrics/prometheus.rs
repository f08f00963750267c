//! To a `prometheus_client` registry, read when it is scraped.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use super::names::Metric;
use super::walk::{Sample, Sink, Value, walk};
use crate::figures::{BOUNDS, Histogram};
use crate::layer::protection::Protection;

/// Encodes the metrics of one layer.
#[derive(Debug)]
pub(in crate::layer) struct QalmCollector(pub(in crate::layer) Arc<Protection>);

impl Collector for QalmCollector {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        walk(&self.0, &mut Encoder(encoder))
    }
}

struct Encoder<'a>(DescriptorEncoder<'a>);

impl Sink for Encoder<'_> {
    type Error = fmt::Error;

    fn metric(&mut self, metric: Metric, samples: &[Sample<'_>]) -> fmt::Result {
        let Some((_, first)) = samples.first() else { return Ok(()) };
        let kind = match first {
            Value::Counter(_) => MetricType::Counter,
            Value::Gauge(_) => MetricType::Gauge,
            Value::Histogram(_) => MetricType::Histogram,
        };
        let mut family = self.0.encode_descriptor(metric.name, metric.help, None, kind)?;
        samples.iter().try_for_each(|(labels, value)| {
            if labels.is_empty() {
                encode(value, family.encode_family(&NO_LABELS)?)
            } else {
                encode(value, family.encode_family(labels)?)
            }
        })
    }
}

const NO_LABELS: [(&str, &str); 0] = [];

fn encode(value: &Value<'_>, mut encoder: MetricEncoder<'_>) -> fmt::Result {
    match value {
        Value::Counter(count) => encoder.encode_counter::<NoLabelSet, u64, f64>(count, None),
        Value::Gauge(value) => encoder.encode_gauge(value),
        Value::Histogram(histogram) => encode_histogram(histogram, &mut encoder),
    }
}

fn encode_histogram(histogram: &Histogram, encoder: &mut MetricEncoder<'_>) -> fmt::Result {
    let counts = histogram.counts();
    let bounds = BOUNDS.into_iter().chain([f64::INFINITY]);
    let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
    encoder.encode_histogram::<NoLabelSet>(histogram.sum(), counts.iter().sum(), &buckets, None)
}
