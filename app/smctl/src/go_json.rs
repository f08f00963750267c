//! JSON as Go's `Encoder` with a two-space indent writes it: `&`, `<`, `>` and
//! the two Unicode line separators escaped, whole numbers without a fraction, a
//! newline at the end.
//!
//! Key order is the order of fields; maps must be sorted ones.

use std::io::{self, Write};

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

/// The text of a value, with its final newline.
pub(crate) fn to_string(value: &impl Serialize) -> Result<String> {
    let mut bytes = Vec::new();
    value
        .serialize(&mut Serializer::with_formatter(&mut bytes, GoFormatter::default()))
        .context("encode response")?;
    bytes.push(b'\n');
    String::from_utf8(bytes).context("encode response")
}

struct GoFormatter {
    pretty: PrettyFormatter<'static>,
}

impl Default for GoFormatter {
    fn default() -> Self {
        Self { pretty: PrettyFormatter::with_indent(b"  ") }
    }
}

impl Formatter for GoFormatter {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        to: &mut W,
        text: &str,
    ) -> io::Result<()> {
        let mut rest = text;
        while let Some((plain, special, after)) = split_at_special(rest) {
            to.write_all(plain.as_bytes())?;
            write!(to, "\\u{:04x}", u32::from(special))?;
            rest = after;
        }
        to.write_all(rest.as_bytes())
    }

    fn write_f64<W: ?Sized + Write>(&mut self, to: &mut W, value: f64) -> io::Result<()> {
        match value.abs() {
            size if size >= 1e21 => {
                to.write_all(format!("{value:e}").replace('e', "e+").as_bytes())
            }
            size if size < 1e-6 && size > 0.0 => write!(to, "{value:e}"),
            _ => write!(to, "{value}"),
        }
    }

    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.pretty.begin_array(to)
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.pretty.end_array(to)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.pretty.begin_array_value(to, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.pretty.end_array_value(to)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.pretty.begin_object(to)
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.pretty.end_object(to)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.pretty.begin_object_key(to, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.pretty.begin_object_value(to)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.pretty.end_object_value(to)
    }
}

fn split_at_special(text: &str) -> Option<(&str, char, &str)> {
    let is_special = |c: char| matches!(c, '&' | '<' | '>' | '\u{2028}' | '\u{2029}');
    let (start, special) = text.char_indices().find(|(_, c)| is_special(*c))?;
    Some((&text[..start], special, &text[start + special.len_utf8()..]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn escapes_what_html_and_javascript_would_misread() {
        let text = to_string(&"a<b>&c\u{2028}\u{2029}\"\\\n\u{1}é").unwrap();
        assert_eq!(text, "\"a\\u003cb\\u003e\\u0026c\\u2028\\u2029\\\"\\\\\\n\\u0001é\"\n");
    }

    #[test]
    fn escapes_keys_too() {
        assert_eq!(to_string(&json!({"<": 1})).unwrap(), "{\n  \"\\u003c\": 1\n}\n");
    }

    #[test]
    fn numbers_are_as_short_as_in_go() {
        let cases = [
            (80.0, "80\n"),
            (0.612, "0.612\n"),
            (0.0, "0\n"),
            (0.000_001_2, "0.0000012\n"),
            (1.5e-7, "1.5e-7\n"),
            (1.5e21, "1.5e+21\n"),
        ];
        for (value, text) in cases {
            assert_eq!(to_string(&value).unwrap(), text);
        }
    }

    #[test]
    fn indents_by_two_and_keeps_empty_things_short() {
        let text = to_string(&json!({"a": [1, {"b": null}], "c": [], "d": {}})).unwrap();
        let expected = "{\n  \"a\": [\n    1,\n    {\n      \"b\": null\n    }\n  ],\n  \"c\": [],\n  \"d\": {}\n}\n";
        assert_eq!(text, expected);
    }
}
