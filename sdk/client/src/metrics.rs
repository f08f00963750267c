//! What executors and spectators show to Prometheus, read when it is scraped: how
//! old the map is, how requests met with handovers, how it stands with the lease.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::{Contact, Executor, Spectator};

impl Spectator {
    /// Adds metrics `plimsoll_spectator_*`, with the label `namespace`.
    pub fn register(&self, registry: &mut Registry) {
        registry.register_collector(Box::new(OfSpectator(self.clone())));
    }
}

impl Executor {
    /// Adds metrics `plimsoll_executor_*`, with the label `namespace`. The registry
    /// keeps a handle: the executor ends by [`shutdown`](Self::shutdown), or with it.
    pub fn register(&self, registry: &mut Registry) {
        registry.register_collector(Box::new(OfExecutor(self.clone())));
    }
}

#[derive(Debug)]
struct OfSpectator(Spectator);

#[derive(Debug)]
struct OfExecutor(Executor);

impl Collector for OfSpectator {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (spectator, stats) = (&self.0, self.0.stats());
        let mut page = Page { encoder, namespace: spectator.namespace() };
        if let Some(age) = spectator.age() {
            let help = "How long ago the leader last confirmed the map, in seconds";
            page.gauge("plimsoll_spectator_map_age_seconds", help, age.as_secs_f64())?;
        }
        let help = "Shards that have an owner";
        page.gauge("plimsoll_spectator_shards", help, spectator.len() as f64)?;
        let help = "Requests that are held for shards in handover";
        page.gauge("plimsoll_spectator_requests_held", help, stats.holding as f64)?;
        let help = "Answers that a shard is not there, and refused connections";
        page.counter("plimsoll_spectator_misdirected", help, stats.refused)?;
        let help = "Times that a request was held";
        page.counter("plimsoll_spectator_holds", help, stats.held)?;
        let help = "Requests that were given up, or not held because too many were";
        page.counter("plimsoll_spectator_given_up", help, stats.gave_up)
    }
}

impl Collector for OfExecutor {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (executor, stats) = (&self.0, self.0.stats());
        let mut page = Page { encoder, namespace: executor.namespace() };
        let connected = *executor.contact().borrow() == Contact::Connected;
        let help = "1 while a server is in touch";
        page.gauge("plimsoll_executor_connected", help, f64::from(u8::from(connected)))?;
        let help = "Shards that run here";
        page.gauge("plimsoll_executor_shards", help, executor.shards().len() as f64)?;
        let help = "Leases that ended before a server was heard again";
        page.counter("plimsoll_executor_leases_ended", help, stats.leases_ended)?;
        let help = "Beats without fresh loads";
        page.counter("plimsoll_executor_loads_late", help, stats.loads_late)?;
        let help = "Loads that were not told: NaN, infinite or negative";
        page.counter("plimsoll_executor_loads_refused", help, stats.loads_refused)
    }
}

struct Page<'a, 'e> {
    encoder: DescriptorEncoder<'e>,
    namespace: &'a str,
}

impl Page<'_, '_> {
    fn gauge(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        self.metric(name, help, &ConstGauge::new(value))
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.metric(name, help, &ConstCounter::new(value))
    }

    fn metric(&mut self, name: &str, help: &str, metric: &impl EncodeMetric) -> fmt::Result {
        let kind = metric.metric_type();
        let mut family = self.encoder.encode_descriptor(name, help, None, kind)?;
        metric.encode(family.encode_family(&[("namespace", self.namespace)])?)
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text;

    use super::*;

    #[tokio::test]
    async fn a_spectator_without_a_map_shows_no_age() {
        let builder = Spectator::builder("counters").connect("http://127.0.0.1:1");
        let spectator = builder.start().await.unwrap();
        let (mut registry, mut page) = (Registry::default(), String::new());
        spectator.register(&mut registry);
        text::encode(&mut page, &registry).unwrap();
        assert!(page.contains("plimsoll_spectator_requests_held{namespace=\"counters\"} 0"));
        assert!(page.contains("plimsoll_spectator_given_up_total{namespace=\"counters\"} 0"));
        assert!(!page.contains("map_age"), "{page}");
    }
}
