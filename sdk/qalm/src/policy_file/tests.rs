//! Real files: written in place, renamed over, behind links, broken, deleted.

use std::fs;
use std::time::Duration;

use plimsoll_shedding::settings::{Auto, Enforcement};
use tempfile::TempDir;
use tokio::time::timeout;

use super::*;

/// What a change may take at most, as promised.
const PROMISED: Duration = Duration::from_secs(1);

struct Place {
    folder: TempDir,
    path: PathBuf,
}

impl Place {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.toml");
        fs::write(&path, text).unwrap();
        Self { folder, path }
    }

    fn rename_over(&self, text: &str) {
        let new = self.folder.path().join(".policy.toml.new");
        fs::write(&new, text).unwrap();
        fs::rename(new, &self.path).unwrap();
    }
}

fn level(number: u8) -> String {
    format!("default_criticality = {number}\n")
}

fn in_force(file: &PolicyFile) -> u8 {
    file.current().table.policy().default_criticality.level()
}

/// Does something and waits until the file's follower has told of it.
async fn after(file: &PolicyFile, edit: impl FnOnce()) -> Status {
    let mut told = file.subscribe();
    edit();
    timeout(PROMISED, told.changed()).await.expect("not within a second").unwrap();
    file.status()
}

#[tokio::test]
async fn an_edit_in_place_takes_effect() {
    let place = Place::new(&level(3));
    let file = PolicyFile::watch(&place.path).unwrap();
    let before = file.status();
    let status = after(&file, || fs::write(&place.path, level(4)).unwrap()).await;
    assert_eq!((in_force(&file), status.loads, status.errors), (4, 2, 0));
    assert!(status.version != before.version && status.trouble.is_none() && status.is_notified);
    assert_eq!(file.current().version, status.version);
}

#[tokio::test]
async fn a_file_renamed_over_it_takes_effect_again_and_again() {
    let place = Place::new(&level(3));
    let file = PolicyFile::watch(&place.path).unwrap();
    for number in [1, 2, 3, 4] {
        after(&file, || place.rename_over(&level(number))).await;
        assert_eq!(in_force(&file), number);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_swapped_link_as_kubernetes_does_it_takes_effect() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (version, number) in [("..1", 3), ("..2", 4)] {
        fs::create_dir(at(version)).unwrap();
        fs::write(at(version).join("policy.toml"), level(number)).unwrap();
    }
    symlink("..1", at("..data")).unwrap();
    symlink("..data/policy.toml", at("policy.toml")).unwrap();
    let file = PolicyFile::watch(at("policy.toml")).unwrap();
    assert_eq!(in_force(&file), 3);
    let swap = || {
        symlink("..2", at("..data_tmp")).unwrap();
        fs::rename(at("..data_tmp"), at("..data")).unwrap();
        fs::remove_dir_all(at("..1")).unwrap();
    };
    after(&file, swap).await;
    assert_eq!(in_force(&file), 4);
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_lies_elsewhere_takes_effect_without_notices() {
    let elsewhere = Place::new(&level(3));
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("policy.toml");
    std::os::unix::fs::symlink(&elsewhere.path, &link).unwrap();
    let file = PolicyFile::watch(&link).unwrap();
    after(&file, || fs::write(&elsewhere.path, level(4)).unwrap()).await;
    assert_eq!(in_force(&file), 4);
}

#[tokio::test]
async fn an_edit_that_makes_no_sense_changes_nothing_and_is_told_once() {
    let place = Place::new(&level(2));
    let file = PolicyFile::watch(&place.path).unwrap();
    let broken = "default_criticality = 2\n\n[[rules]]\ncaller = \"x\"\ncriticality = 9\n";
    let status = after(&file, || place.rename_over(broken)).await;
    assert_eq!((in_force(&file), status.loads, status.errors), (2, 1, 1));
    let error = status.trouble.unwrap().error;
    assert_eq!(error.line(), Some(5), "{error}");
    // Two looks later it is still the same one error.
    let mut told = file.subscribe();
    assert!(timeout(Duration::from_millis(1_100), told.changed()).await.is_err());
    let status = after(&file, || place.rename_over(&level(4))).await;
    assert_eq!((in_force(&file), status.errors, status.trouble), (4, 1, None));
}

#[tokio::test]
async fn a_deleted_file_leaves_the_last_policy_in_force_until_it_is_back() {
    let place = Place::new(&level(2));
    let file = PolicyFile::watch(&place.path).unwrap();
    let status = after(&file, || fs::remove_file(&place.path).unwrap()).await;
    assert_eq!((in_force(&file), status.errors), (2, 1));
    assert!(matches!(status.trouble.unwrap().error, PolicyFileError::Read { .. }));
    let status = after(&file, || place.rename_over(&level(2))).await;
    assert_eq!((in_force(&file), status.trouble), (2, None));
}

#[tokio::test]
async fn an_emptied_file_is_taken_for_a_mistake() {
    let place = Place::new(&level(2));
    let file = PolicyFile::watch(&place.path).unwrap();
    let status = after(&file, || fs::write(&place.path, "").unwrap()).await;
    assert_eq!((in_force(&file), status.errors), (2, 1));
}

#[tokio::test]
async fn who_writes_halfway_is_not_caught() {
    use std::io::Write;
    let place = Place::new(&level(2));
    let file = PolicyFile::watch(&place.path).unwrap();
    let whole = format!("{}[[rules]]\ncaller = \"x\"\ncriticality = 1\n", level(4));
    let status = after(&file, || {
        let mut open = fs::File::create(&place.path).unwrap();
        for byte in whole.as_bytes() {
            open.write_all(std::slice::from_ref(byte)).unwrap();
        }
    });
    let status = status.await;
    assert_eq!((status.loads, status.errors), (2, 0));
    assert_eq!(file.current().table.policy().rules.len(), 1);
}

#[tokio::test]
async fn its_thread_ends_with_it() {
    let place = Place::new(&level(2));
    let file = PolicyFile::watch(&place.path).unwrap();
    let mut told = file.subscribe();
    drop(file);
    // The sender goes with the thread.
    timeout(PROMISED, told.changed()).await.unwrap().unwrap_err();
}

#[test]
fn what_cannot_be_read_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let error = |path: &Path| PolicyFile::watch(path).unwrap_err().to_string();
    let missing = error(&folder.path().join("none.toml"));
    assert!(missing.starts_with("cannot read ") && missing.contains("none.toml"), "{missing}");
    assert!(error(folder.path()).contains("not a file"));
    let binary = folder.path().join("binary");
    fs::write(&binary, [0xff, 0xfe]).unwrap();
    assert!(error(&binary).contains("UTF-8"));
    let long = folder.path().join("long");
    fs::write(&long, vec![b'#'; 4 << 20 | 1]).unwrap();
    assert!(error(&long).contains("longer than"));
}

fn parse(text: &str) -> Result<Loaded, PolicyFileError> {
    Loaded::parse(Path::new("policy.toml"), text)
}

#[test]
fn nothing_written_is_the_default() {
    assert_eq!(parse("# nothing\n").unwrap().table.policy(), &Default::default());
}

/// Every key that there is.
const EVERY_KEY: &str = r#"
enforcement = "dry-run"
default_criticality = 4
concurrency = 64
caller_from = ["x-service", "certificate"]
ignore_headers = ["criticality", "cohort", "deadline"]
bypass = ["/admin/*"]
bypass_health = false

[queue]
target = "5ms"
interval = "auto"
concurrency = "auto"
min_concurrency = 2
max_concurrency = 200
max_queue = 500
max_queue_bytes = 1048576
reserve = 0.1
newest_first_after = "50ms"
critical_patience = "1.5s"
caller_cap = 20
never_drop_critical = true

[[groups]]
name = "orders"
endpoints = ["/orders.v1.Orders/*", "GET /v1/orders/*"]
each = true
enforcement = "enforce"
queue = { concurrency = 16 }

[[rules]]
endpoint = "/orders.v1.Orders/*"
caller = "checkout"
criticality = 1
enforcement = "off"
"#;

#[test]
fn every_key_is_understood() {
    use plimsoll_shedding::policy::{CallerSource, Trust};
    let loaded = parse(EVERY_KEY).unwrap();
    let policy = loaded.table.policy();
    assert_eq!(policy.enforcement, Enforcement::DryRun);
    assert_eq!(policy.concurrency, Auto::Fixed(64));
    let header = CallerSource::Header("x-service".to_owned());
    assert_eq!(policy.caller_from, [header, CallerSource::Certificate]);
    assert_eq!(policy.trust, Trust { criticality: false, cohort: false, deadline: false });
    assert_eq!((policy.bypass.len(), policy.bypass_health), (1, false));
    let endpoint = loaded.table.endpoint("/orders.v1.Orders/Get");
    let queue = endpoint.queue_settings();
    assert_eq!((queue.concurrency, queue.max_queue), (Auto::Fixed(16), 500));
    assert_eq!((queue.target, queue.interval), (Auto::Fixed(Duration::from_millis(5)), Auto::Auto));
    assert_eq!((queue.min_concurrency, queue.max_concurrency), (Some(2), 200));
    assert_eq!((queue.max_queue_bytes, queue.reserve), (1 << 20, 0.1));
    assert_eq!(queue.newest_first_after, Duration::from_millis(50));
    assert_eq!(queue.critical_patience, Duration::from_millis(1_500));
    assert_eq!((queue.caller_cap, queue.never_drop_critical), (Some(20), true));
    let class = endpoint.classify(Some("checkout"));
    assert_eq!((class.level.level(), class.enforcement), (1, Enforcement::Off));
    assert_eq!(endpoint.classify(None).enforcement, Enforcement::Enforce);
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_what_was_meant() {
    let rule = "[[rules]]\ncaller = \"x\"\ncriticality = 1\n";
    for (text, line, reason) in [
        ("a = ", 1, "expected"),
        (
            "\nenforcment = \"off\"",
            2,
            "there is no \"enforcment\" here; did you mean \"enforcement\"?",
        ),
        (
            "colour = 1",
            1,
            "there is no \"colour\" here; there are enforcement, default_criticality",
        ),
        ("enforcement = \"dryrun\"", 1, "did you mean \"dry-run\"?"),
        ("[queue]\n\ntarget = \"5\"", 3, "\"auto\" or a duration such as"),
        ("[queue]\ncritical_patience = \"5\"", 2, "a duration such as"),
        ("[queue]\ntargt = \"5ms\"", 2, "did you mean \"target\"?"),
        ("[queue]\nmax_queue = -1", 2, "u32"),
        ("[queue]\nmax_queue = 0", 1, "queue: max_queue is 1 to 1000000"),
        ("[queue]\nconcurrency = \"many\"", 2, "\"auto\" or a number"),
        ("concurrency = 0", 1, "at least 1"),
        ("caller_from = [\"X-Caller\"]", 1, "lower case"),
        ("bypass = [\n\"/a\",\n\"b\"]", 3, "names no endpoint"),
        ("ignore_headers = [\"cohrt\"]", 1, "did you mean \"cohort\"?"),
        ("[[groups]]\nendpoints = [\"/a\"]", 1, "missing field `name`"),
        (
            "[[groups]]\nname = \"g\"\nendpoints = [\"/a\"]\nqueue = { reserve = 2.0 }",
            1,
            "group 1: reserve is 0 to 0.5",
        ),
        (
            &format!("{rule}{rule}"),
            4,
            "rule 2: rule 1 would decide the same requests and neither is more specific; \
             remove one, or make one narrower (line 1)",
        ),
        ("[[rules]]\ncriticality = 1", 1, "neither an endpoint nor a caller"),
        ("[[rules]]\ncaller = \"x\"\ncriticality = 0", 3, "1, 2, 3 or 4"),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!(error.line(), Some(line), "{text}\n{error}");
        assert!(error.to_string().contains(reason), "{text}\n{error}");
        assert!(error.to_string().starts_with(&format!("policy.toml:{line}: ")), "{error}");
    }
}

#[test]
fn the_version_is_of_the_text_alone() {
    assert_eq!(version(""), "cbf29ce484222325");
    assert_eq!(version("a"), "af63dc4c8601ec8c");
    assert_eq!(parse(EVERY_KEY).unwrap().version, version(EVERY_KEY));
}
