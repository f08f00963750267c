//! The commands that the Go tool lacks.

use std::fs;

use crate::fake::Fake;
use crate::harness::{golden, smctl};

#[test]
fn namespaces_are_created_from_flags_and_snapshots() {
    let fake = Fake::plimsoll();
    let run = |name: &str, line: &str| golden(&fake.address, name, line, "");
    run("namespace-create", "namespace create new --type fixed --shards 64 --set a.b=1s --frozen");
    run("namespace-create-ephemeral", "namespace create new --type ephemeral");
    run("namespace-create-exists", "namespace create demo --type fixed --shards 4");
    run("namespace-create-no-shards", "namespace create new --type fixed");
    run("namespace-create-two-truths", "namespace create new --type ephemeral --shards 3");
    run(
        "namespace-create-setting-twice",
        "namespace create n --type ephemeral --set a=1 --set a=2",
    );
    run("namespace-create-no-file", "namespace create n --type fixed --snapshot missing.csv");
}

#[test]
fn a_snapshot_gives_a_new_namespace_its_size_and_owners() {
    let fake = Fake::plimsoll();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("snapshot.csv");
    fs::write(&file, "# hosts=2 shards=3\nshard,load,host\n0,1.5,a\n1,2,\n2,0,b\n").unwrap();
    let line = format!("namespace create new --type fixed --snapshot {}", file.display());
    let run = smctl(&fake.address, &line, "");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("\"ShardNum\": 3") && run.stdout.contains("\"InitialGrants\": 2"));
    let sent = fake.sent().concat();
    assert!(sent.contains("InitialGrant { shard_key: \"2\", executor_id: \"b\" }"), "{sent}");
    fs::write(&file, "shard,load,host\n7,1,a\n").unwrap();
    let run = smctl(&fake.address, &line, "");
    assert!(
        run.stderr.contains("shard \"7\" of the snapshot is none of \"0\" to \"0\""),
        "{run:?}"
    );
}

#[test]
fn namespaces_are_deleted_only_on_purpose() {
    let fake = Fake::plimsoll();
    let run = |name: &str, line: &str, stdin: &str| golden(&fake.address, name, line, stdin);
    run("namespace-delete", "namespace delete demo", "demo\n");
    run("namespace-delete-mismatch", "namespace delete demo", "yes\n");
    run("namespace-delete-yes", "namespace delete demo --yes", "");
    run("namespace-delete-missing", "namespace delete x --yes", "");
}

#[test]
fn namespaces_are_described_and_set_up() {
    let fake = Fake::plimsoll();
    let run = |name: &str, line: &str| golden(&fake.address, name, line, "");
    run("namespace-describe", "-n demo namespace describe");
    run("namespace-describe-well", "-n empty namespace describe");
    run("namespace-describe-json", "-n demo namespace describe --json");
    run("namespace-settings", "-n demo namespace settings");
    run("namespace-settings-set", "-n demo ns settings --set load_balancing_mode=ring --json");
    run("namespace-settings-unknown", "-n demo ns settings --set nonsense=1");
}

#[test]
fn a_namespace_is_written_as_a_snapshot() {
    let fake = Fake::plimsoll();
    golden(&fake.address, "namespace-snapshot", "-n demo namespace snapshot", "");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.csv");
    let run = smctl(&fake.address, &format!("-n demo ns snapshot --output {}", file.display()), "");
    assert_eq!((run.code, run.stdout.as_str()), (0, ""));
    assert!(fs::read_to_string(file).unwrap().starts_with("# hosts=3 shards=3\nshard,load,host\n"));
}

#[test]
fn shards_are_drained_explained_and_remembered() {
    let fake = Fake::plimsoll();
    let run = |name: &str, line: &str| golden(&fake.address, name, line, "");
    run("shard-drain", "-n demo shard drain --shard-key 7 8 --sk 'a,b' --reason 'it crashes'");
    run("shard-undrain", "-n demo shard undrain --shard-key 7 8");
    run("shard-list-drained", "-n demo shard list-drained");
    run("shard-list-drained-json", "-n demo shard list-drained --json");
    run("shard-history", "-n demo shard history --shard-key 7 --limit 3");
    run("shard-history-json", "-n demo shard history --json");
    run("shard-explain", "-n demo shard explain --shard-key 7");
    run("shard-explain-drained", "-n demo shard explain --shard-key drained");
    run("shard-explain-json", "-n demo shard explain --shard-key drained --json");
    run("shard-owner", "-n demo shard owner --shard-key 7");
}

#[test]
fn a_go_server_drains_shards_too_but_keeps_no_reason() {
    let fake = Fake::go();
    let run = |name: &str, line: &str| golden(&fake.address, name, line, "");
    run("go-shard-drain", "-n demo shard drain --shard-key 7 --reason why");
    run("go-shard-undrain", "-n demo shard undrain --shard-key 7");
    run("go-shard-list-drained", "-n demo shard list-drained");
}

#[test]
fn a_command_that_a_go_server_lacks_says_so() {
    let fake = Fake::go();
    golden(&fake.address, "go-unimplemented", "-n demo balance plan", "");
}

#[test]
fn balance_is_frozen_resumed_and_planned() {
    let fake = Fake::plimsoll();
    let run = |name: &str, line: &str| golden(&fake.address, name, line, "");
    run("balance-freeze", "-n demo balance freeze");
    run("balance-resume", "-n demo balance resume");
    run("balance-plan", "-n demo balance plan --mode naive");
    run("balance-plan-nothing", "-n empty balance plan");
    run("balance-plan-json", "-n demo balance plan --json");
}

#[test]
fn top_without_a_terminal_prints_one_picture() {
    let fake = Fake::plimsoll();
    golden(&fake.address, "top", "-n demo top", "");
}

#[test]
fn top_prints_json_once() {
    let fake = Fake::plimsoll();
    golden(&fake.address, "top-json", "-n demo top --once --json", "");
}

#[test]
fn a_drain_waits_until_the_host_is_empty() {
    let fake = Fake::plimsoll();
    let line = "-n demo executor drain --hostname host-1 --reason disk --wait --yes";
    golden(&fake.address, "executor-drain-wait", line, "");
}

#[test]
fn a_drain_that_cannot_end_says_what_it_waits_for() {
    let fake = Fake::plimsoll();
    let line = "-n stuck executor drain --hostname host-1 --wait --yes --timeout 300ms";
    golden(&fake.address, "executor-drain-stuck", line, "");
}

#[test]
fn completions_and_manual_are_generated() {
    for shell in ["bash", "zsh", "fish"] {
        let run = smctl("127.0.0.1:1", &format!("completions {shell}"), "");
        assert!(run.code == 0 && run.stdout.contains("list-drained"), "{shell}");
    }
    let page = smctl("127.0.0.1:1", "man", "");
    assert!(page.code == 0 && page.stdout.contains(".TH smctl 1"), "{page:?}");
    let folder = tempfile::tempdir().unwrap();
    let pages = smctl("127.0.0.1:1", &format!("man --directory {}", folder.path().display()), "");
    assert_eq!(pages.code, 0, "{pages:?}");
    assert!(folder.path().join("smctl-executor-drain.1").exists());
}

#[test]
fn version_is_release_and_commit() {
    let run = smctl("127.0.0.1:1", "--version", "");
    let release = env!("CARGO_PKG_VERSION");
    assert!(run.stdout.starts_with(&format!("smctl {release} (commit ")), "{run:?}");
}
