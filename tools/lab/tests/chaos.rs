//! The short version of `lab chaos`: a whole system of real processes, broken
//! in the ways that matter most, with the oracle's verdict. Nightly runs break it
//! in all ways: `cargo run --release -p lab -- chaos`.

use std::process::Command;

/// Chosen so that every kind of process dies, stands still and is cut off once.
const FAULTS: &str =
    "kill-leader,stop-leader,stop-executor,cut-executor-server,kill-etcd,roll-servers";

#[test]
fn no_shard_has_two_owners_whatever_dies_stands_still_or_is_cut_off() {
    let lab = Command::new(env!("CARGO_BIN_EXE_lab"))
        .args(["chaos", "--minutes", "0.6", "--seed", "4", "--faults", FAULTS, "--json"])
        .output()
        .unwrap();
    let (said, told) = (String::from_utf8_lossy(&lab.stdout), String::from_utf8_lossy(&lab.stderr));
    assert!(lab.status.success(), "{told}\n{said}");
    let report: serde_json::Value = serde_json::from_str(&said).unwrap();
    let figure = |name: &str| report[name].as_u64().unwrap();
    // A run in which nothing happened would prove nothing.
    assert!(figure("faults") >= 3 && figure("checks") > 10_000, "{said}");
    assert!(figure("answered") > 1_000, "{said}");
}
