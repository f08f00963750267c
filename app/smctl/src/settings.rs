//! `--set key=value` flags and the settings of a namespace.
//!
//! Names and values are the server's business: it refuses what it does not know.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Result, ensure};

/// One `key=value`, split at the first `=`.
pub(crate) fn parse(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err(format!("{text:?} is no setting: write KEY=VALUE")),
    }
}

/// The settings of the flags; naming one twice is a mistake.
pub(crate) fn collect(settings: &[(String, String)]) -> Result<HashMap<String, String>> {
    let mut collected = HashMap::new();
    for (key, value) in settings {
        let earlier = collected.insert(key.clone(), value.clone());
        ensure!(earlier.is_none(), "--set {key} is given twice");
    }
    Ok(collected)
}

/// As tab-separated lines, sorted by name.
pub(crate) fn rows(settings: &BTreeMap<String, String>) -> String {
    let lines = settings.iter().map(|(name, value)| format!("{name}\t{value}\n"));
    format!("SETTING\tVALUE\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_may_hold_an_equals_sign_or_nothing() {
        assert_eq!(parse("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert_eq!(parse("a="), Ok(("a".to_owned(), String::new())));
        assert!(parse("a").is_err() && parse("=b").is_err());
    }

    #[test]
    fn a_setting_given_twice_is_refused() {
        let twice = [("a".to_owned(), "1".to_owned()), ("a".to_owned(), "2".to_owned())];
        assert_eq!(collect(&twice).unwrap_err().to_string(), "--set a is given twice");
    }
}
