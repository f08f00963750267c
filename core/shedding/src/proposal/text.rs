//! A proposal as a policy file, with its reasons. Names come from outside: none
//! ends a line or a string.

use std::fmt::Write;

use super::{Because, Proposal, Proposed};

pub(super) fn of(proposal: &Proposal) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut text, proposal);
    text
}

fn write(out: &mut String, it: &Proposal) -> std::fmt::Result {
    let (service, hours) = (quoted(&it.service), it.seconds as f64 / 3600.0);
    writeln!(
        out,
        "# A first policy for {service}, from {} traced calls within {hours:.1} hours.",
        it.calls
    )?;
    writeln!(
        out,
        "# Names, hours and what calls serve were all there was to judge by: correct it,"
    )?;
    writeln!(out, "# look at what would be shed, then write \"enforce\".")?;
    writeln!(out, "enforcement = \"dry-run\"")?;
    write_bypass(out, &it.bypass)?;
    it.rules.iter().try_for_each(|rule| write_rule(out, rule))?;
    if !it.unclear.is_empty() {
        writeln!(out, "\n# At the default, level 3; look at these first:")?;
    }
    it.unclear.iter().try_for_each(|rule| write_unclear(out, rule))
}

fn write_bypass(out: &mut String, bypass: &[String]) -> std::fmt::Result {
    if bypass.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = bypass.iter().map(|it| quoted(it)).collect();
    writeln!(out, "\n# {}: never queued nor refused", Because::Health)?;
    writeln!(out, "bypass = [{}]", list.join(", "))
}

fn write_rule(out: &mut String, it: &Proposed) -> std::fmt::Result {
    writeln!(out, "\n# {} calls: {}", it.calls, commented(&it.because))?;
    writeln!(out, "[[rules]]")?;
    for (key, value) in [("endpoint", &it.endpoint), ("caller", &it.caller)] {
        if let Some(value) = value {
            writeln!(out, "{key} = {}", quoted(value))?;
        }
    }
    writeln!(out, "criticality = {}", it.level)
}

fn write_unclear(out: &mut String, it: &Proposed) -> std::fmt::Result {
    let endpoint = it.endpoint.as_deref().map(|it| format!("endpoint {}", quoted(it)));
    let caller = it.caller.as_deref().map(|it| format!("caller {}", quoted(it)));
    let what: Vec<String> = caller.into_iter().chain(endpoint).collect();
    writeln!(out, "# {}, {} calls: {}", what.join(" at "), it.calls, commented(&it.because))
}

/// On one line whatever is in it.
fn commented(because: &Because) -> String {
    because.to_string().replace(char::is_control, " ")
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                // Writing to a string does not fail.
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_ends_its_string_or_its_line() {
        assert_eq!(quoted("a\"b\\c\nd\u{85}"), r#""a\"b\\c\u000Ad\u0085""#);
        let root = "GET /\nenforcement = \"off\" of web".to_owned();
        let because = Because::Serves { what: super::super::Serves::People, root, percent: 9 };
        assert!(!commented(&because).contains('\n'));
    }
}
