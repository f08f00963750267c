//! Metrics as a page of OpenMetrics text shows them.

use std::collections::{BTreeMap, BTreeSet};

/// What pages have shown of one metric.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) kind: String,
    pub(crate) help: String,
    /// Names of its labels, without `le`.
    pub(crate) labels: BTreeSet<String>,
}

/// Adds what `page` shows.
pub(crate) fn read(page: &str, into: &mut BTreeMap<String, Seen>) {
    // Samples follow what is said of their metric.
    let mut name = "";
    for line in page.lines() {
        if let Some((of, help)) = told(line, "# HELP ") {
            name = of;
            into.entry(name.to_owned()).or_default().help = help.trim_end_matches('.').to_owned();
        } else if let Some((of, kind)) = told(line, "# TYPE ") {
            name = of;
            into.entry(name.to_owned()).or_default().kind = kind.to_owned();
        } else if !line.starts_with('#') {
            let labels = labels(line).filter(|label| label != "le");
            into.entry(name.to_owned()).or_default().labels.extend(labels);
        }
    }
}

fn told<'a>(line: &'a str, what: &str) -> Option<(&'a str, &'a str)> {
    line.strip_prefix(what)?.split_once(' ')
}

/// The names between `{` and `}`. A value in which `="` stands would be misread; no
/// scene has one.
fn labels(sample: &str) -> impl Iterator<Item = String> {
    let inner = sample.split_once('{').map_or("", |(_, rest)| rest);
    let before = inner.split("=\"").collect::<Vec<_>>();
    let names = before.split_last().map_or(&[][..], |(_, names)| names).to_vec();
    names.into_iter().map(|text| {
        let name = text.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next();
        name.unwrap_or_default().to_owned()
    })
}

#[test]
fn a_page_is_read_with_labels_and_without() {
    let page = "# HELP a_b Says \"it\".\n# TYPE a_b counter\na_b_total{x=\"1, 2\",y=\"{z}\"} 3\n\
                # HELP c Other.\n# TYPE c histogram\nc_bucket{le=\"1.0\",q=\"\"} 1\nc_sum 2\n# EOF\n";
    let mut seen = BTreeMap::new();
    read(page, &mut seen);
    assert_eq!(seen.len(), 2);
    assert_eq!((seen["a_b"].kind.as_str(), seen["a_b"].help.as_str()), ("counter", "Says \"it\""));
    assert_eq!(seen["a_b"].labels, ["x", "y"].map(str::to_owned).into());
    assert_eq!(seen["c"].labels, ["q"].map(str::to_owned).into());
}
