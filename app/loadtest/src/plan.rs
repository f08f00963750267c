//! What a load test is to do, complete and checked before anything is sent.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, Method};

use crate::caller::{Caller, MAX_CALLERS};
use crate::error::Error;
use crate::phase::{Phase, Profile};
use crate::schedule::{Arrivals, Mix};
use crate::share::Shares;
use crate::target::Target;

/// The greatest number of connections.
pub const MAX_CONNECTIONS: usize = 10_000;
/// The greatest bound on requests in flight.
pub const MAX_IN_FLIGHT: usize = 1_000_000;
/// The longest time that a request may take.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(3600);

/// A whole load test.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where it goes.
    pub target: Target,
    /// What is sent.
    pub call: Call,
    /// Headers of every request, after those that the call itself needs.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Regular or random starts.
    pub arrivals: Arrivals,
    /// The rate over time; at least one phase.
    pub phases: Vec<Phase>,
    /// Who calls; none means that no caller is named.
    pub callers: Vec<Caller>,
    /// Connections, 1 to [`MAX_CONNECTIONS`]; without a number 1000 over HTTP/1.1, opened
    /// as needed, where it is also how many requests can be on the wire at once, and 4
    /// over HTTP/2.
    pub connections: Option<usize>,
    /// How long after its intended start a request is given up.
    pub timeout: Duration,
    /// Requests under way at once, 1 to [`MAX_IN_FLIGHT`]; more are not started.
    pub max_in_flight: usize,
    /// Seed of starts, callers and paths.
    pub seed: u64,
    /// Certificates (PEM) that https is verified against, if not the system's.
    pub ca: Option<PathBuf>,
}

/// What is sent.
#[derive(Clone, Debug)]
pub enum Call {
    /// A plain request.
    Http {
        /// HTTP/1.1, HTTP/2 or as negotiated.
        version: Version,
        /// The method.
        method: Method,
        /// Where to, by weight; none means the target's own path.
        paths: Vec<WeightedPath>,
        /// The body of every request.
        body: Bytes,
    },
    /// A unary call.
    Grpc {
        /// `package.Service/Method`.
        method: String,
        /// The request message in protobuf's JSON form.
        json: String,
        /// Where the description of the method comes from.
        schema: Schema,
    },
}

/// The protocol of plain requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// What an https server prefers (by ALPN); HTTP/1.1 without TLS.
    #[default]
    Negotiated,
    /// One request a connection at a time.
    Http1,
    /// Many; without TLS by prior knowledge.
    Http2,
}

/// One of several paths.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedPath {
    /// Path and query.
    pub path: PathAndQuery,
    /// Its part of the requests, relative to the others'; above zero.
    pub weight: f64,
}

/// Reads `/path` or `WEIGHT:/path`.
impl std::str::FromStr for WeightedPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let say = || format!("{text:?} is not a path; write /path, or 3:/path to weigh it");
        let (weight, path) = match text.split_once(":/") {
            Some((weight, _)) if !text.starts_with('/') => {
                (weight.parse().map_err(|_| say())?, &text[weight.len() + 1..])
            }
            _ => (1.0, text),
        };
        let is_sound = path.starts_with('/') && f64::is_finite(weight) && weight > 0.0;
        let path = path.parse().ok().filter(|_| is_sound).ok_or_else(say)?;
        Ok(Self { path, weight })
    }
}

/// Where the description of a gRPC method comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schema {
    /// The server's reflection service, v1.
    Reflection,
    /// A `.proto` file.
    Proto {
        /// The file.
        file: PathBuf,
        /// Folders that imports are looked up in, beside the file's own.
        includes: Vec<PathBuf>,
    },
    /// A serialized `FileDescriptorSet`.
    Descriptors(PathBuf),
}

impl Plan {
    /// A plan of one steady phase with the usual settings, to be changed by field.
    pub fn new(target: Target, call: Call, rate: f64, lasts: Duration) -> Self {
        Self {
            target,
            call,
            headers: Vec::new(),
            arrivals: Arrivals::default(),
            phases: vec![Phase::steady(rate, lasts)],
            callers: Vec::new(),
            connections: None,
            timeout: Duration::from_secs(10),
            max_in_flight: 10_000,
            seed: 1,
            ca: None,
        }
    }

    /// The version to speak, as far as it is known before connecting.
    pub(crate) fn version(&self) -> Version {
        match self.call {
            Call::Http { version: Version::Negotiated, .. } if !self.target.is_tls() => {
                Version::Http1
            }
            Call::Http { version, .. } => version,
            Call::Grpc { .. } => Version::Http2,
        }
    }

    /// Refuses what cannot be carried out.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let refuse = |why: String| Err(Error::Plan(why));
        if self.phases.is_empty() || !self.phases.iter().all(Phase::is_sound) {
            return refuse(format!("the rate over time is not sound: {:?}", self.phases));
        }
        if self.phases.iter().map(Phase::arrivals).sum::<f64>() <= 0.0 {
            return refuse("the plan sends nothing: give a rate above zero".into());
        }
        if self.callers.len() > MAX_CALLERS {
            return refuse(format!("{} callers; at most {MAX_CALLERS}", self.callers.len()));
        }
        for caller in &self.callers {
            caller.check().or_else(|why| refuse(format!("caller {:?}: {why}", caller.name)))?;
        }
        self.check_bounds()
    }

    fn check_bounds(&self) -> Result<(), Error> {
        let within = |what: &str, value: usize, most: usize| {
            let sound = (1..=most).contains(&value);
            sound.then_some(()).ok_or_else(|| {
                Error::Plan(format!("{what} is {value}; give a number from 1 to {most}"))
            })
        };
        within("the number of connections", self.connections.unwrap_or(1), MAX_CONNECTIONS)?;
        within("the bound on requests in flight", self.max_in_flight, MAX_IN_FLIGHT)?;
        if self.timeout.is_zero() || self.timeout > MAX_TIMEOUT {
            return Err(Error::Plan("a timeout is more than zero and at most an hour".into()));
        }
        Ok(())
    }

    pub(crate) fn profile(&self) -> Profile {
        Profile::new(self.phases.clone())
    }

    pub(crate) fn mix(&self) -> Mix {
        let callers: Vec<f64> = self.callers.iter().map(|caller| caller.share).collect();
        let paths: Vec<f64> = match &self.call {
            Call::Http { paths, .. } => paths.iter().map(|path| path.weight).collect(),
            Call::Grpc { .. } => Vec::new(),
        };
        Mix { callers: Shares::new(&callers), paths: Shares::new(&paths) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(target: &str, rate: f64) -> Plan {
        let call = Call::Http {
            version: Version::Http1,
            method: Method::GET,
            paths: Vec::new(),
            body: Bytes::new(),
        };
        Plan::new(target.parse().unwrap(), call, rate, Duration::from_secs(1))
    }

    fn refusal(plan: &Plan) -> String {
        plan.check().unwrap_err().to_string()
    }

    #[test]
    fn a_usual_plan_is_sound() {
        assert!(plan("http://a.example", 10.0).check().is_ok());
    }

    #[test]
    fn what_cannot_be_carried_out_is_refused_with_what_to_do() {
        assert!(refusal(&plan("http://a.example", 0.0)).contains("give a rate above zero"));
        assert!(refusal(&plan("http://a.example", f64::NAN)).contains("not sound"));
        let none = Plan { connections: Some(0), ..plan("http://a.example", 1.0) };
        assert!(refusal(&none).contains("from 1 to 10000"));
        let never = Plan { timeout: Duration::ZERO, ..plan("http://a.example", 1.0) };
        assert!(refusal(&never).contains("at most an hour"));
        let caller = Caller { name: "x".into(), level: 9, share: 1.0 };
        let odd = Plan { callers: vec![caller], ..plan("http://a.example", 1.0) };
        assert!(refusal(&odd).contains("caller \"x\": a level is 1, 2, 3 or 4"));
    }

    #[test]
    fn paths_may_be_weighed() {
        let read =
            |text: &str| text.parse::<WeightedPath>().map(|p| (p.path.to_string(), p.weight));
        assert_eq!(read("/a:/b?c"), Ok(("/a:/b?c".into(), 1.0)));
        assert_eq!(read("3:/a"), Ok(("/a".into(), 3.0)));
        assert_eq!(read("0.5:/a"), Ok(("/a".into(), 0.5)));
        for text in ["a", "", "x:/a", "-1:/a", "0:/a", "3:a"] {
            assert!(read(text).unwrap_err().contains("3:/path"), "{text}");
        }
    }
}
