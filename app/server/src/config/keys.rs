//! Which keys there are, and which one was probably meant.

use plimsoll_ownership::settings::FIELDS;
use toml::{Table, Value};

use super::{Config, Error, Namespace};

/// Prefix of every variable.
const PREFIX: &str = "PLIMSOLL_";
/// Below this likeness, 0 to 1, a guess would mislead.
const LIKE: f64 = 0.6;

/// Every key of the configuration, dotted. Inside `namespaces` the keys are
/// those of one of them.
pub(super) fn known() -> Vec<String> {
    let mut keys: Vec<_> = table_of(&Config::default()).into_iter().map(|(key, _)| key).collect();
    let namespace = table_of(&Namespace::default()).into_iter().map(|(key, _)| key);
    keys.extend(namespace.map(|key| format!("namespaces.{key}")));
    keys.extend(FIELDS.iter().map(|field| format!("namespaces.settings.{}", field.name)));
    keys.push("namespaces".to_owned());
    keys
}

/// The defaults as dotted keys. An empty table stands for itself.
fn table_of(value: &impl serde::Serialize) -> Vec<(String, String)> {
    // Plain structs of strings, numbers and tables always serialize.
    let table = Table::try_from(value).unwrap_or_default();
    flatten(&table)
}

/// A table's leaves with dotted names, values as text.
pub(super) fn flatten(table: &Table) -> Vec<(String, String)> {
    let mut leaves = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) if !inner.is_empty() => {
                let inner = flatten(inner).into_iter();
                leaves.extend(inner.map(|(rest, value)| (format!("{key}.{rest}"), value)));
            }
            Value::String(text) => leaves.push((key.clone(), text.clone())),
            other => leaves.push((key.clone(), other.to_string())),
        }
    }
    leaves
}

/// Refuses the first key that is not known.
pub(super) fn refuse_unknown(origin: &str, table: &Table, known: &[String]) -> Result<(), Error> {
    let mut used = Vec::new();
    collect("", &Value::Table(table.clone()), &mut used);
    match used.into_iter().find(|key| !known.contains(key)) {
        None => Ok(()),
        Some(key) => {
            let hint = nearest(&key, known)
                .map_or_else(String::new, |it| format!("; did you mean {it:?}?"));
            Err(Error::UnknownKey { origin: origin.to_owned(), key, hint })
        }
    }
}

/// The dotted keys in use; the elements of a list of tables share theirs.
fn collect(path: &str, value: &Value, used: &mut Vec<String>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                collect(&path, value, used);
            }
        }
        Value::Array(list) if list.iter().any(Value::is_table) => {
            list.iter().for_each(|value| collect(path, value, used));
        }
        _ => used.push(path.to_owned()),
    }
}

fn nearest<'a>(key: &str, known: &'a [String]) -> Option<&'a String> {
    let likeness = |other: &&String| strsim::normalized_damerau_levenshtein(key, other);
    let best = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(&best) >= LIKE).then_some(best)
}

/// Puts variables over what the file says.
pub(super) fn add_variables(
    table: &mut Table,
    known: &[String],
    variables: impl IntoIterator<Item = (String, String)>,
) {
    for (name, value) in variables {
        let Some(name) = name.strip_prefix(PREFIX) else { continue };
        let settable = known.iter().filter(|key| !key.starts_with("namespaces"));
        for key in settable.filter(|key| key.replace('.', "_").to_uppercase() == name) {
            put(table, key, &value);
        }
    }
}

fn put(table: &mut Table, key: &str, text: &str) {
    let value = match text {
        "true" => Value::Boolean(true),
        "false" => Value::Boolean(false),
        other => Value::String(other.to_owned()),
    };
    match key.split_once('.') {
        None => drop(table.insert(key.to_owned(), value)),
        Some((outer, inner)) => {
            let entry = table.entry(outer).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(entry) = entry {
                entry.insert(inner.to_owned(), value);
            }
        }
    }
}
