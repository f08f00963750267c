//! Everything that is counted, as metrics: one walk over it, two ways out.

#[cfg(feature = "metrics")]
mod facade;
#[cfg(any(feature = "metrics", feature = "prometheus"))]
mod names;
#[cfg(feature = "prometheus")]
mod prometheus;
#[cfg(any(feature = "metrics", feature = "prometheus"))]
mod walk;

#[cfg(feature = "metrics")]
pub(super) use facade::Facade;
#[cfg(feature = "metrics")]
pub(crate) use facade::FacadeHistograms;
#[cfg(feature = "prometheus")]
pub(super) use prometheus::QalmCollector;
