//! Jaeger's JSON, as far as it is needed.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// One trace.
#[derive(Clone, Debug, Deserialize)]
pub struct Trace {
    #[serde(rename = "traceID", default)]
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) spans: Vec<Span>,
    #[serde(default)]
    pub(crate) processes: BTreeMap<String, Process>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Span {
    #[serde(rename = "spanID")]
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) operation_name: String,
    #[serde(default)]
    references: Option<Vec<Reference>>,
    /// As older versions write it.
    #[serde(rename = "parentSpanID", default)]
    parent: String,
    /// Microseconds since 1970.
    #[serde(default)]
    pub(crate) start_time: u64,
    #[serde(default)]
    tags: Option<Vec<Tag>>,
    #[serde(rename = "processID", default)]
    pub(crate) process: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Process {
    pub(crate) service_name: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Reference {
    #[serde(rename = "refType", default)]
    kind: String,
    #[serde(rename = "spanID")]
    span: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Tag {
    key: String,
    #[serde(default)]
    value: Value,
}

impl Span {
    /// The span that it was begun by; `None`: a root.
    pub(crate) fn parent(&self) -> Option<&str> {
        let references = self.references.as_deref().unwrap_or_default();
        let child_of = references.iter().find(|it| it.kind == "CHILD_OF");
        let of_references = child_of.or(references.first()).map(|it| it.span.as_str());
        of_references.or(Some(&self.parent)).filter(|it| !it.is_empty())
    }

    /// The first of these tags that has a text; empty if none has.
    pub(crate) fn tag(&self, keys: &[&str]) -> &str {
        let tags = self.tags.as_deref().unwrap_or_default();
        let of = |key: &&str| tags.iter().find(|it| it.key == **key)?.value.as_str();
        keys.iter().find_map(of).unwrap_or_default()
    }
}

/// What the API and the page save.
#[derive(Deserialize)]
struct Answer {
    data: Option<Vec<Trace>>,
}

/// Reads traces: an answer of the API, a list of them, or one alone.
///
/// # Errors
/// Text that is none of these, with what is wrong.
pub fn parse(text: &[u8]) -> Result<Vec<Trace>, String> {
    let begins = text.iter().find(|byte| !byte.is_ascii_whitespace());
    if begins == Some(&b'[') {
        return serde_json::from_slice(text).map_err(|error| not_traces(&error));
    }
    let answer: Answer = serde_json::from_slice(text).map_err(|error| not_traces(&error))?;
    if let Some(traces) = answer.data {
        return Ok(traces);
    }
    let one: Trace = serde_json::from_slice(text).map_err(|error| not_traces(&error))?;
    if one.spans.is_empty() {
        return Err("it has neither data nor spans, as Jaeger's JSON has".to_owned());
    }
    Ok(vec![one])
}

fn not_traces(error: &serde_json::Error) -> String {
    format!("it is not Jaeger's JSON: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = r#"{"traceID": "a", "spans": [{"spanID": "1", "processID": "p"}],
        "processes": {"p": {"serviceName": "web"}}}"#;

    #[test]
    fn an_answer_a_list_and_a_trace_alone_are_read() {
        for text in [TRACE.to_owned(), format!(" [{TRACE}]"), format!("{{\"data\": [{TRACE}]}}")] {
            assert_eq!(parse(text.as_bytes()).unwrap()[0].id, "a", "{text}");
        }
        assert!(parse(b"{\"data\": [], \"errors\": null}").unwrap().is_empty());
    }

    #[test]
    fn what_is_no_trace_is_refused_with_why() {
        for (text, why) in [
            ("{}", "neither data nor spans"),
            ("<html>", "not Jaeger's JSON"),
            ("{\"data\": [{\"spans\": 3}]}", "line 1"),
        ] {
            assert!(parse(text.as_bytes()).unwrap_err().contains(why), "{text}");
        }
    }

    #[test]
    fn the_parent_is_what_it_is_a_child_of() {
        let parent = |text: &str| {
            let span: Span = serde_json::from_str(text).unwrap();
            span.parent().map(str::to_owned)
        };
        let both = r#"{"spanID": "3", "references": [{"refType": "FOLLOWS_FROM", "spanID": "1"},
            {"refType": "CHILD_OF", "spanID": "2"}]}"#;
        assert_eq!(parent(both).as_deref(), Some("2"));
        assert_eq!(parent(r#"{"spanID": "3", "parentSpanID": "9"}"#).as_deref(), Some("9"));
        assert_eq!(parent(r#"{"spanID": "3", "references": null}"#), None);
    }
}
