use std::path::Path;

use clap::Parser;
use plimsoll_qalm::policy_file::Loaded;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    import: ImportJaeger,
}

fn import(line: &str) -> ImportJaeger {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../io/jaeger/tests/fixtures/traces.json");
    let words = format!("import --file {} {line}", file.display());
    Line::try_parse_from(words.split_whitespace()).unwrap().import
}

#[test]
fn what_is_proposed_is_what_the_policy_file_says() {
    for proposal in import("").proposals().unwrap() {
        let text = proposal.text();
        let loaded = Loaded::parse(Path::new("proposal.toml"), &text).unwrap();
        assert_eq!(*loaded.table.policy(), proposal.policy(), "{text}");
        assert!(loaded.table.review().is_empty(), "{text}");
    }
}

#[test]
fn words_are_added_to_those_that_are_known() {
    let plain = import("--service menu").proposals().unwrap().remove(0);
    assert!(plain.unclear.iter().any(|it| it.caller.as_deref() == Some("ads")));
    let taught = import("--service menu --background ads").proposals().unwrap().remove(0);
    let ads = taught.rules.iter().find(|it| it.caller.as_deref() == Some("ads")).unwrap();
    assert_eq!(ads.level.level(), 4);
    assert!(taught.rules.iter().any(|it| it.caller.as_deref() == Some("catalog-export")));
}

#[test]
fn a_service_that_nobody_called_is_an_error_that_names_those_that_were() {
    let error = import("--service meny").proposals().unwrap_err().to_string();
    assert!(error.contains("\"meny\"") && error.contains("menu"), "{error}");
}

#[test]
fn files_are_not_written_over_unless_asked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("menu.toml");
    let to = |path: &Path, more: &str| import(&format!("--out {} {more}", path.display())).run();
    to(&file, "--service menu").unwrap();
    let error = to(&file, "--service menu").unwrap_err().to_string();
    assert!(error.contains("--force"), "{error}");
    to(&file, "--service menu --force").unwrap();
    let all = folder.path().join("all");
    to(&all, "").unwrap();
    assert!(all.join("menu.toml").is_file() && all.join("pricing.toml").is_file());
}
