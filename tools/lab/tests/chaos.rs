//! The short version of `lab chaos`: a whole system of real processes, broken
//! in the ways that matter most, with the oracle's verdict. Nightly runs break it
//! in all ways: `cargo run --release -p lab -- chaos`.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::process::Command;
use std::sync::Mutex;

/// Chosen so that every kind of process dies, stands still and is cut off once.
const FAULTS: &str =
    "kill-leader,stop-leader,stop-executor,cut-executor-server,kill-etcd,roll-servers";

/// Twenty processes at a time are enough.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn run(options: &[&str]) -> serde_json::Value {
    let _one = ONE_AT_A_TIME.lock();
    let lab = Command::new(env!("CARGO_BIN_EXE_lab"))
        .args(["chaos", "--seed", "4", "--json"])
        .args(options)
        .output()
        .unwrap();
    let (said, told) = (String::from_utf8_lossy(&lab.stdout), String::from_utf8_lossy(&lab.stderr));
    assert!(lab.status.success(), "{told}\n{said}");
    serde_json::from_str(&said).unwrap()
}

#[test]
fn no_shard_has_two_owners_whatever_dies_stands_still_or_is_cut_off() {
    let report = run(&["--minutes", "0.8", "--faults", FAULTS]);
    let figure = |name: &str| report[name].as_u64().unwrap();
    // A run in which nothing happened would prove nothing.
    assert!(figure("faults") >= 3 && figure("checks") > 10_000, "{report}");
    assert!(figure("answered") > 1_000, "{report}");
}

#[test]
fn nor_where_links_can_only_be_cut_by_relays() {
    let report = run(&["--minutes", "0.1", "--faults", "cut-executor-server", "--links", "relays"]);
    let figure = |name: &str| report[name].as_u64().unwrap();
    assert!(report["ground"].as_str().unwrap().contains("relays"), "{report}");
    assert!(figure("faults") >= 1 && figure("checks") > 5_000, "{report}");
}
