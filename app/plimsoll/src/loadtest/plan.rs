//! From arguments to a plan.

use std::path::Path;

use anyhow::{Context, Result};
use http::{HeaderName, HeaderValue};
use plimsoll_loadtest::{Arrivals, Call, Phase, Plan, Schema, Version};

use super::{Options, Spread};

/// A header's name and value.
pub(super) type Header = (HeaderName, HeaderValue);

/// Reads `name: value`.
pub(super) fn header(text: &str) -> Result<Header, String> {
    let say = || format!("{text:?} is no header; write it as in 'name: value'");
    let (name, value) = text.split_once(':').ok_or_else(say)?;
    let name = name.trim().parse().map_err(|_| say())?;
    Ok((name, value.trim().parse().map_err(|_| say())?))
}

pub(super) fn plan(options: &Options) -> Result<Plan> {
    let plan = Plan::new(options.target.clone(), call(options)?, 0.0, options.timeout);
    Ok(Plan {
        phases: phases(options),
        headers: options.headers.clone(),
        arrivals: match options.arrivals {
            Spread::Poisson => Arrivals::Poisson,
            Spread::Constant => Arrivals::Constant,
        },
        callers: options.callers.clone(),
        connections: options.connections,
        timeout: options.timeout,
        max_in_flight: options.max_in_flight,
        seed: options.seed,
        ca: options.ca.clone(),
        ..plan
    })
}

/// Ramps or steps, then the steady rate.
fn phases(options: &Options) -> Vec<Phase> {
    let mut phases = options.ramp.clone();
    if let Some(lasts) = options.step_duration {
        phases.extend(options.steps.iter().map(|rate| Phase::steady(*rate, lasts)));
    }
    if let (Some(rate), Some(lasts)) = (options.rate, options.duration) {
        phases.push(Phase::steady(rate, lasts));
    }
    phases
}

fn call(options: &Options) -> Result<Call> {
    let body = body(options)?;
    let Some(method) = &options.grpc else {
        return Ok(Call::Http {
            version: version(options),
            method: options.method.clone(),
            paths: options.paths.clone(),
            body: body.unwrap_or_default().into(),
        });
    };
    let json = body.unwrap_or_else(|| b"{}".to_vec());
    let json = String::from_utf8(json).context("the body is not UTF-8, so it is no JSON")?;
    Ok(Call::Grpc { method: method.clone(), json, schema: schema(options) })
}

fn version(options: &Options) -> Version {
    if options.http2 {
        Version::Http2
    } else if options.http1 {
        Version::Http1
    } else {
        Version::Negotiated
    }
}

fn schema(options: &Options) -> Schema {
    match (&options.proto, &options.descriptors) {
        (Some(file), _) => Schema::Proto { file: file.clone(), includes: options.includes.clone() },
        (None, Some(file)) => Schema::Descriptors(file.clone()),
        (None, None) => Schema::Reflection,
    }
}

fn body(options: &Options) -> Result<Option<Vec<u8>>> {
    let read = |path: &Path| {
        std::fs::read(path).with_context(|| format!("cannot read the body from {}", path.display()))
    };
    match (&options.body, &options.body_file) {
        (Some(text), _) => Ok(Some(text.clone().into_bytes())),
        (None, Some(path)) => read(path).map(Some),
        (None, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        options: Options,
    }

    fn parsed(rest: &str) -> Result<Plan, String> {
        let line = format!("loadtest --target http://127.0.0.1:1 {rest}");
        let cli = Cli::try_parse_from(line.split(' ')).map_err(|error| error.to_string())?;
        plan(&cli.options).map_err(|error| error.to_string())
    }

    #[test]
    fn the_rate_comes_after_the_ramps() {
        let plan = parsed("--rate 100 --duration 2s --ramp 1:50:1s --ramp 50:100:1s").unwrap();
        let rates: Vec<_> = plan.phases.iter().map(|phase| (phase.from, phase.to)).collect();
        assert_eq!(rates, [(1.0, 50.0), (50.0, 100.0), (100.0, 100.0)]);
    }

    #[test]
    fn steps_have_one_length() {
        let plan = parsed("--steps 100,200,400 --step-duration 500ms").unwrap();
        assert_eq!(plan.phases.iter().map(Phase::arrivals).collect::<Vec<_>>(), [50., 100., 200.]);
    }

    #[test]
    fn the_protocol_is_as_asked() {
        let version =
            |flag: &str| match parsed(&format!("--rate 1 --duration 1s{flag}")).unwrap().call {
                Call::Http { version, .. } => version,
                Call::Grpc { .. } => panic!("not asked for"),
            };
        assert_eq!(version(""), Version::Negotiated);
        assert_eq!(version(" --http1"), Version::Http1);
        assert_eq!(version(" --http2"), Version::Http2);
        let grpc = parsed("--rate 1 --duration 1s --grpc a.B/C").unwrap();
        let Call::Grpc { method, json, schema } = grpc.call else { panic!("asked for") };
        assert_eq!((method.as_str(), json.as_str(), schema), ("a.B/C", "{}", Schema::Reflection));
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for (arguments, why) in [
            ("", "--rate"),
            ("--rate 5", "--duration"),
            ("--steps 1,2", "--step-duration"),
            ("--rate 5 --duration 1s --steps 1 --step-duration 1s", "cannot be used with"),
            ("--rate 5 --duration 1s --http2 --grpc a.B/C", "cannot be used with"),
            ("--rate 5 --duration 1s --proto x.proto", "--grpc"),
            ("--rate 5 --duration soon", "500ms, 30s or 2m"),
            ("--rate fast --duration 1s", "requests a second"),
            ("--rate 5 --duration 1s --caller x", "checkout=2:50"),
            ("--rate 5 --duration 1s -H x", "name: value"),
            ("--rate 5 --duration 1s --fail-if p99", "p99>100ms"),
            ("--rate 5 --duration 1s --body-file /no/such", "/no/such"),
        ] {
            let said = parsed(arguments).unwrap_err();
            assert!(said.contains(why), "{arguments}: {said}");
        }
    }
}
