//! Values of a policy file, read strictly, with errors that say what fits.

use std::time::Duration;

use plimsoll_shedding::Criticality;
use plimsoll_shedding::settings::{Auto, Enforcement};
use serde::de::{Deserialize, Deserializer, Error, Unexpected};

use crate::policy_file::duration;

/// `enforce`, `dry-run` or `off`.
#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(from = "Word")]
pub(super) struct Mode(pub(super) Enforcement);

#[derive(serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Enforce,
    DryRun,
    Off,
}

impl From<Word> for Mode {
    fn from(word: Word) -> Self {
        Self(match word {
            Word::Enforce => Enforcement::Enforce,
            Word::DryRun => Enforcement::DryRun,
            Word::Off => Enforcement::Off,
        })
    }
}

/// An incoming header that may be ignored.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Header {
    Criticality,
    Cohort,
    Deadline,
}

/// 1 to 4.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level(pub(super) Criticality);

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = i64::deserialize(from)?;
        let level = u8::try_from(number).ok().and_then(Criticality::from_level);
        let expected = &"1, 2, 3 or 4, where 1 matters most";
        level.map(Self).ok_or_else(|| D::Error::invalid_value(Unexpected::Signed(number), expected))
    }
}

/// A duration such as `5ms`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span(pub(super) Duration);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let expected = &"a duration such as \"5ms\" or \"1.5s\"";
        let span = duration::parse(&text).map(Self);
        span.ok_or_else(|| D::Error::invalid_value(Unexpected::Str(&text), expected))
    }
}

/// A duration, or `auto`.
#[derive(Clone, Copy, Debug)]
pub(super) struct AutoSpan(pub(super) Auto<Duration>);

impl<'de> Deserialize<'de> for AutoSpan {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        if text == "auto" {
            return Ok(Self(Auto::Auto));
        }
        let expected = &"\"auto\" or a duration such as \"5ms\"";
        let span = duration::parse(&text).map(|it| Self(Auto::Fixed(it)));
        span.ok_or_else(|| D::Error::invalid_value(Unexpected::Str(&text), expected))
    }
}

/// A number, or `auto`.
#[derive(Clone, Copy, Debug)]
pub(super) struct AutoCount(pub(super) Auto<u32>);

impl<'de> Deserialize<'de> for AutoCount {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl serde::de::Visitor<'_> for Visitor {
            type Value = AutoCount;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("\"auto\" or a number of handlers, at least 1")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<AutoCount, E> {
                let count = u32::try_from(number).ok().filter(|&it| it > 0);
                count
                    .map(|it| AutoCount(Auto::Fixed(it)))
                    .ok_or_else(|| E::invalid_value(Unexpected::Signed(number), &self))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<AutoCount, E> {
                match text {
                    "auto" => Ok(AutoCount(Auto::Auto)),
                    other => Err(E::invalid_value(Unexpected::Str(other), &self)),
                }
            }
        }

        from.deserialize_any(Visitor)
    }
}
