//! `plimsoll policy import-jaeger`: first policies, proposed from traces.

mod output;
mod saving;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use clap::Args;
use plimsoll_jaeger::{Counted, Jaeger, JaegerError, Lookup};
use plimsoll_shedding::proposal::{Heuristics, Observed, Proposal};

use output::{print_all, write_files};
use saving::Saving;

/// Services that are asked for one by one, at most.
const MAX_SERVICES: usize = 500;

#[derive(Args, Debug)]
pub(crate) struct ImportJaeger {
    /// Jaeger's query service
    #[arg(long, value_name = "http://HOST:16686", required_unless_present = "file")]
    jaeger: Option<String>,
    /// Traces as Jaeger's page or /api/traces save them, instead
    #[arg(long, value_name = "FILE", conflicts_with = "jaeger")]
    file: Option<PathBuf>,
    /// The services to propose policies for; all of them if none is named
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    service: Vec<String>,
    /// How far back to look; a day tells who works by night
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "24h")]
    lookback: Duration,
    /// Traces of one service at most, spread over the hours
    #[arg(long, value_name = "N", default_value_t = 2400, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Words in names that say that nobody waits: added to those that are known
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    background: Vec<String>,
    /// Words in names that say core flow: added to those that are known
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    core: Vec<String>,
    /// Write the policy there; with several services a folder, one file each
    #[arg(long, short, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Write over files that are there
    #[arg(long, requires = "out")]
    force: bool,
    /// Print the proposals as JSON
    #[arg(long, conflicts_with = "out")]
    json: bool,
    #[command(flatten)]
    saving: Saving,
}

impl ImportJaeger {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let proposals = self.proposals()?;
        if self.saving.save {
            return self.saving.run(&proposals);
        }
        match &self.out {
            Some(path) => write_files(path, &proposals, self.service.len() == 1, self.force)?,
            None => print_all(&proposals, self.json)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    /// At least one.
    fn proposals(&self) -> Result<Vec<Proposal>> {
        let observed = self.observed()?;
        let heuristics = self.heuristics();
        let all: Vec<&str> = observed.services().collect();
        let wanted: Vec<&str> = match self.service.is_empty() {
            true => all.clone(),
            false => self.service.iter().map(String::as_str).collect(),
        };
        let propose = |service: &str| {
            let proposal = Proposal::of(service, &observed, &heuristics);
            proposal.with_context(|| {
                format!("no call of {service:?} was traced; there are calls of {}", list(&all))
            })
        };
        let proposals = wanted.into_iter().map(propose).collect::<Result<Vec<_>>>()?;
        if proposals.is_empty() {
            bail!("there is no call in these traces: is the time right, and does anybody trace?");
        }
        Ok(proposals)
    }

    fn heuristics(&self) -> Heuristics {
        let mut heuristics = Heuristics::default();
        heuristics.background.extend(self.background.iter().cloned());
        heuristics.core.extend(self.core.iter().cloned());
        heuristics
    }

    fn observed(&self) -> Result<Observed> {
        let mut observed = Observed::default();
        let counted = match (&self.file, &self.jaeger) {
            (Some(file), _) => plimsoll_jaeger::read(file, &mut observed)?,
            (None, Some(address)) => self.ask(address, &mut observed)?,
            (None, None) => bail!("say --jaeger http://HOST:16686 or --file FILE"),
        };
        tell(&counted, &observed);
        Ok(observed)
    }

    fn ask(&self, address: &str, observed: &mut Observed) -> Result<Counted> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("cannot start the runtime")?;
        Ok(runtime.block_on(self.ask_all(&Jaeger::new(address)?, observed))?)
    }

    async fn ask_all(
        &self,
        jaeger: &Jaeger,
        observed: &mut Observed,
    ) -> Result<Counted, JaegerError> {
        let known = jaeger.services().await?;
        let unknown = self.service.iter().find(|it| !known.contains(*it));
        if let Some(service) = unknown {
            let known = list(&known.iter().map(String::as_str).collect::<Vec<_>>());
            return Err(JaegerError::NoService { service: service.clone(), known });
        }
        let services: Vec<&String> = match self.service.is_empty() {
            true => known.iter().take(MAX_SERVICES).collect(),
            false => self.service.iter().collect(),
        };
        let lookup = self.lookup();
        let mut all = Counted::default();
        for service in services {
            let progress = |so_far: &Counted| {
                eprint!("\r\x1b[K{service}: {} traces, {} calls", so_far.traces, so_far.calls);
            };
            all += jaeger.count(service, &lookup, observed, progress).await?;
            eprintln!();
        }
        let added = jaeger.add_dependencies(&lookup, observed).await?;
        eprintln!("{added} callers only from Jaeger's dependencies");
        Ok(all)
    }

    fn lookup(&self) -> Lookup {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Lookup { until: now.as_secs(), lookback: self.lookback, limit: self.limit }
    }
}

/// What the proposals rest on, for people.
fn tell(counted: &Counted, observed: &Observed) {
    let Counted { traces, spans, calls, unnamed, orphans } = counted;
    eprintln!(
        "{calls} calls in {spans} spans of {traces} traces within {:.1} hours; {unnamed} without an \
         endpoint's name, {orphans} left out since their caller's span is missing, {} for want of room",
        observed.seconds() as f64 / 3600.0,
        observed.left_out()
    );
}

/// Some of them, for an error.
fn list(names: &[&str]) -> String {
    const FEW: usize = 10;
    match names {
        [] => "none".to_owned(),
        few if few.len() <= FEW => few.join(", "),
        many => format!("{} and {} more", many[..FEW].join(", "), many.len() - FEW),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let parsed = plimsoll_ownership::duration::parse(text).filter(|it| !it.is_zero());
    parsed.ok_or_else(|| format!("{text:?} is not a duration such as 30m, 24h or 168h"))
}

#[cfg(test)]
mod tests;
