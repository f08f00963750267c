//! A number that may be written as text: variables know nothing else.

use serde::de::{Deserializer, Error, Unexpected, Visitor};

/// A count.
pub(super) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
    from.deserialize_any(Count)
}

struct Count;

impl Visitor<'_> for Count {
    type Value = usize;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a number from 0")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<usize, E> {
        usize::try_from(number).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<usize, E> {
        text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}
