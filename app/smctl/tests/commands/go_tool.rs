//! Every command of the Go tool: tables, JSON, prompts and errors.

use crate::fake::Fake;
use crate::harness::{golden, smctl, smctl_with_env};

#[test]
fn namespace_commands_print_what_the_go_tool_prints() {
    let fake = Fake::go();
    let run = |name: &str, line: &str, stdin: &str| golden(&fake.address, name, line, stdin);
    run("namespace-list", "namespace list", "");
    run("namespace-list-json", "ns ls -j", "");
    run("namespace-state", "-n demo namespace state", "");
    run("namespace-state-empty", "ns st -n empty", "");
    run("force-reset", "-n demo namespace force-reset", "demo\n");
    run("force-reset-mismatch", "-n demo ns fr", "Demo\n");
    run("force-reset-no-input", "-n demo ns fr", "");
}

#[test]
fn shard_inspect_prints_what_the_go_tool_prints() {
    let fake = Fake::go();
    let run = |name: &str, line: &str| golden(&fake.address, name, line, "");
    run("shard-inspect", "shard inspect --shard-key 7 --namespace demo");
    run("shard-inspect-no-metadata", "sh in --sk plain -n demo");
    run("shard-inspect-gone", "sh in --sk gone -n demo");
    run("shard-inspect-drained", "sh in --sk drained -n demo");
}

#[test]
fn executor_commands_print_what_the_go_tool_prints() {
    let fake = Fake::go();
    let run = |name: &str, line: &str| golden(&fake.address, name, line, "");
    run("executor-list", "-n demo executor list");
    run("executor-list-json", "-n demo ex ls --json");
    run("executor-list-json-empty", "-n empty ex ls --json");
    run("executor-state", "-n demo executor state --executor-id exec-a");
    run("executor-state-missing", "-n demo ex st --eid nobody");
    run("executor-undrain", "-n demo executor undrain --hostname host-9 --hostname host-1");
    run("executor-undrain-none", "-n demo executor undrain --hostname host-1");
    run("executor-list-drained", "-n demo executor list-drained");
    run("executor-list-drained-empty", "-n empty executor list-drained");
}

#[test]
fn a_host_drain_shows_what_it_touches_and_asks() {
    let fake = Fake::go();
    let run = |name: &str, line: &str, stdin: &str| golden(&fake.address, name, line, stdin);
    let drain = "-n demo executor drain --hostname host-1 --reason 'debugging latency'";
    run("executor-drain", drain, "Yes\n");
    run("executor-drain-aborted", drain, "n\n");
    run("executor-drain-no-input", drain, "");
    let everything = "-n demo executor drain --hostname host-1,host-2 --hostname ' host-7 '";
    run("executor-drain-everything", everything, "y\n");
    run("executor-drain-yes", "-n demo executor drain --hostname host-2 --yes", "");
}

#[test]
fn a_drain_that_was_not_confirmed_is_not_sent() {
    let fake = Fake::go();
    smctl(&fake.address, "-n demo executor drain --hostname host-1", "no\n");
    assert!(fake.sent().iter().all(|message| !message.contains("DrainHostsRequest")));
}

#[test]
fn missing_flags_and_failed_calls_exit_1_and_say_why() {
    let fake = Fake::go();
    let run = |name: &str, line: &str| golden(&fake.address, name, line, "");
    run("error-no-namespace", "namespace state");
    run("error-empty-namespace", "--namespace= executor list");
    run("error-no-shard-key", "-n demo shard inspect");
    run("error-no-executor-id", "-n demo executor state");
    run("error-no-hostname", "-n demo executor drain");
    run("error-blank-hostname", "-n demo executor drain --hostname ' '");
    run("error-namespace-not-found", "-n x namespace state");
    run("error-internal", "-n broken namespace state");
    run("error-permission", "-n secret namespace state");
    run("error-deadline", "-n slow --context-timeout 50ms namespace state");
    run("error-transport", "-t tchannel namespace list");
    run("error-timeout-flag", "--ct 10 namespace list");
    run("error-unknown-command", "namespace frobnicate");
}

#[test]
fn every_call_carries_the_headers_a_go_server_insists_on() {
    let fake = Fake::go();
    smctl(&fake.address, "namespace list --ct 2s", "");
    let headers = "[shard-manager-cli shard-distributor proto cli 2000000u]";
    assert_eq!(fake.sent(), [format!("ListNamespacesRequest {headers}")]);
}

#[test]
fn flags_may_come_from_variables_and_the_command_line_wins() {
    let fake = Fake::go();
    let variables = [("SMCTL_ADDRESS", fake.address.as_str()), ("SMCTL_NAMESPACE", "empty")];
    let from_variable = smctl_with_env(&variables, "executor list --json", "");
    assert!(from_variable.stdout.contains("\"namespace\": \"empty\""), "{from_variable:?}");
    let from_flag = smctl_with_env(&variables, "executor list --json -n demo", "");
    assert!(from_flag.stdout.contains("\"namespace\": \"demo\""), "{from_flag:?}");
}

#[test]
fn long_flags_work_with_one_dash_as_in_go_programs() {
    let fake = Fake::go();
    let line = format!("-ad {} -namespace=demo shard inspect -sk plain", fake.address);
    let run = smctl_with_env(&[], &line, "");
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn a_group_without_a_command_prints_its_help_and_exits_0() {
    for line in ["executor", "-n demo executor"] {
        let run = smctl("127.0.0.1:1", line, "");
        assert!(run.code == 0 && run.stdout.contains("list-drained"), "{run:?}");
    }
    let root = smctl("127.0.0.1:1", "", "");
    assert!(root.code == 0 && root.stdout.contains("namespace"), "{root:?}");
}

#[test]
fn drained_by_is_the_user_of_the_operating_system() {
    let fake = Fake::go();
    smctl(&fake.address, "-n demo executor drain --hostname host-1", "y\n");
    let sent = fake.sent();
    let order = sent.iter().find(|message| message.contains("DrainHostsRequest")).unwrap();
    assert!(!order.contains("drained_by: \"\""), "{order}");
}
