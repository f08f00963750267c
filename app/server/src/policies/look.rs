//! What people look at: the services, what their instances see, and what an edit would
//! have done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use plimsoll_shedding::Criticality;
use plimsoll_shedding::policy::Preview;
use plimsoll_shedding::traffic::{SLICE, Traffic};
use plimsoll_wire::v1;

use super::edit::compiled;
use super::known::{Instance, Known, State};
use super::{Fault, Policies, checks, wire};

/// Slices of the last minute, the present one not counted.
const A_MINUTE: u64 = 6;
/// Rows that are told, the busiest.
const MAX_ROWS: usize = 5000;
/// Callers without a level that a server tells another of.
const MAX_UNCLASSIFIED: usize = 1000;

/// What all servers know of one service, in sums.
#[derive(Default)]
struct Sums {
    holding: Vec<u64>,
    requests: u64,
    shed: u64,
    unclassified: BTreeSet<String>,
}

impl Policies {
    /// Every service that has a policy or instances.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn list(&self) -> Result<v1::ListServicesResponse, Fault> {
        let newest = self.store.newest_policies().await?;
        let (observed, servers_left_out) = self.observed_everywhere("").await;
        let mut all = BTreeMap::<String, Sums>::new();
        all.extend(newest.keys().map(|service| (service.to_string(), Sums::default())));
        for service in observed {
            all.entry(service.service.clone()).or_default().add(service);
        }
        let services = all.into_iter().map(|(service, sums)| {
            let revision = newest.get(&*service).map_or(0, |head| head.revision);
            sums.summary(service, revision)
        });
        Ok(v1::ListServicesResponse { services: services.collect(), servers_left_out })
    }

    /// What the instances of a service saw in the last ten minutes.
    ///
    /// # Errors
    /// Nobody has heard of it, or the store does not answer.
    pub async fn traffic(
        &self,
        request: v1::GetTrafficRequest,
    ) -> Result<v1::GetTrafficResponse, Fault> {
        checks::service(&request.service)?;
        let (traffic, instances, servers_left_out) = self.all_traffic(&request.service).await;
        if instances.is_empty() && traffic.slices.is_empty() {
            self.check_is_there(&request.service).await?;
        }
        Ok(v1::GetTrafficResponse {
            as_of: Some(wire::moment(self.clock.wall_ms())),
            over: Some(wire::span(traffic.over())),
            traffic: rows(&traffic),
            instances,
            slices: traffic.slices.iter().map(|(at, slice)| wire::slice(*at, slice)).collect(),
            servers_left_out,
        })
    }

    async fn check_is_there(&self, service: &str) -> Result<(), Fault> {
        if self.store.policy(service, None).await?.is_some() {
            return Ok(());
        }
        let why = format!("no instance of {service:?} has been seen and it has no policy");
        Err(Fault::Missing(why))
    }

    /// What a text would have done with that.
    ///
    /// # Errors
    /// It makes no sense, or the store does not answer.
    pub async fn preview(
        &self,
        request: v1::PreviewPolicyRequest,
    ) -> Result<v1::PreviewPolicyResponse, Fault> {
        checks::service(&request.service)?;
        let after = compiled(&request.service, &request.text).await?;
        let before = self.table(&request.service).await?;
        let (traffic, _, servers_left_out) = self.all_traffic(&request.service).await;
        let over = Some(wire::span(traffic.over()));
        let findings = after.findings();
        let preview = move || Preview::new(&before, &after, &traffic);
        let preview = tokio::task::spawn_blocking(preview).await.map_err(|_| Fault::Leaving)?;
        let levels = Criticality::ALL.into_iter().zip(&preview.levels);
        Ok(v1::PreviewPolicyResponse {
            findings,
            changes: preview.changes.iter().map(wire::change).collect(),
            shed: levels.map(|(level, shed)| wire::level_shed(level, shed)).collect(),
            over,
            servers_left_out,
        })
    }

    async fn all_traffic(&self, service: &str) -> (Traffic, Vec<v1::InstanceState>, Vec<String>) {
        let (observed, left_out) = self.observed_everywhere(service).await;
        let (mut traffic, mut instances) = (Traffic::default(), Vec::new());
        for part in observed.into_iter().filter(|part| part.service == service) {
            traffic.merge(wire::observed_traffic(part.slices));
            instances.extend(part.instances);
        }
        instances.sort_by(|a: &v1::InstanceState, b| a.instance.cmp(&b.instance));
        (traffic, instances, left_out)
    }

    /// What was seen here of a service, or of all in sums if that is empty.
    pub fn observed(&self, service: &str) -> Vec<v1::ObservedService> {
        let now = wire::slice_at(self.clock.wall_ms());
        if service.is_empty() {
            return self.known().iter().map(|known| in_sums(known, now)).collect();
        }
        let known = self.known.read().get(service).cloned();
        known.iter().map(|known| in_full(known, now)).collect()
    }
}

fn in_sums(known: &Arc<Known>, now: u64) -> v1::ObservedService {
    let state = known.state.lock();
    let traffic = state.window.traffic();
    let lately = traffic.within(now.saturating_sub(A_MINUTE)..now);
    v1::ObservedService {
        service: known.name.to_string(),
        holding: holding(&state),
        requests: lately.requests(),
        shed: lately.shed,
        unclassified: wire::names(traffic.unclassified().into_iter().take(MAX_UNCLASSIFIED)),
        ..v1::ObservedService::default()
    }
}

fn in_full(known: &Arc<Known>, now: u64) -> v1::ObservedService {
    let sums = in_sums(known, now);
    let state = known.state.lock();
    let instances = state.instances.iter().map(|(id, instance)| told(id, instance));
    v1::ObservedService {
        instances: instances.collect(),
        slices: wire::observed_slices(state.window.traffic()),
        ..sums
    }
}

fn holding(state: &State) -> Vec<u64> {
    state.instances.values().map(|instance| instance.revision).collect()
}

fn told(id: &Arc<str>, instance: &Instance) -> v1::InstanceState {
    v1::InstanceState {
        instance: id.to_string(),
        version: instance.version.clone(),
        revision: instance.revision,
        refused: instance.refused.clone(),
        heard_at: Some(wire::moment(instance.heard_at_ms)),
        queues: instance.queues.clone(),
    }
}

/// The least classified first, and of those the busiest.
fn rows(traffic: &Traffic) -> Vec<v1::Traffic> {
    let mut rows: Vec<_> = traffic.rows().into_iter().collect();
    rows.sort_by_key(|(_, figures)| std::cmp::Reverse(figures.counts.requests()));
    rows.truncate(MAX_ROWS);
    rows.sort_by_key(|(_, figures)| figures.rule);
    rows.iter().map(|(row, figures)| wire::traffic(row, figures)).collect()
}

impl Sums {
    fn add(&mut self, observed: v1::ObservedService) {
        self.holding.extend(observed.holding);
        self.requests = self.requests.saturating_add(observed.requests);
        self.shed = self.shed.saturating_add(observed.shed);
        self.unclassified.extend(observed.unclassified);
    }

    fn summary(self, service: String, revision: u64) -> v1::ServiceSummary {
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let up_to_date = self.holding.iter().filter(|held| **held == revision).count();
        let seconds = (SLICE * A_MINUTE as u32).as_secs_f64();
        v1::ServiceSummary {
            service,
            revision,
            instances: count(self.holding.len()),
            up_to_date: count(up_to_date),
            rate: self.requests as f64 / seconds,
            shed_share: self.shed as f64 / (self.requests.max(1)) as f64,
            unclassified_callers: count(self.unclassified.len()),
        }
    }
}
