//! A first policy from traced calls: one that is looked at, and what holds of all.

use plimsoll_shedding::Criticality;
use plimsoll_shedding::policy::Table;
use plimsoll_shedding::proposal::{Because, Call, Heuristics, Observed, Proposal, Root};
use proptest::prelude::*;

const HOUR: u64 = 3600;

/// A day of a menu service, call by call.
fn day() -> Observed {
    let mut observed = Observed::default();
    let mut add =
        |endpoint: &str, caller: Option<&str>, root: Option<(&str, &str)>, hour: u64, count| {
            observed.add(&Call {
                service: "menu",
                endpoint: Some(endpoint),
                caller,
                root: root.map(|(service, endpoint)| Root { service, endpoint, is_request: true }),
                at: Some(20_000 * 24 * HOUR + hour * HOUR),
                count,
            });
        };
    let (checkout, browse) = (("web", "POST /checkout"), ("web", "GET /restaurants/*"));
    for hour in 0..24 {
        add("GET /items/*", Some("web"), Some(browse), hour, 90);
        add("GET /items/*", Some("web"), Some(checkout), hour, 10);
        add("GET /prices", Some("web"), Some(checkout), hour, 40);
        add("GET /prices", Some("basket"), Some(checkout), hour, 30);
        add("GET /items/*", Some("ads"), None, hour, 50);
        add("GET /items/*", Some("menu-staging"), None, hour, 5);
        add("GET /menu", None, None, hour, 100);
        add("POST /orders", None, None, hour, 20);
        add("GET /internal/healthcheck", None, None, hour, 60);
    }
    add("GET /items/*", Some("warehouse"), None, 2, 4000);
    add("GET /items/*", Some("warehouse"), None, 3, 3000);
    add("GET /items/*", Some("warehouse"), None, 14, 10);
    observed
}

#[test]
fn a_day_of_calls_becomes_a_policy_with_reasons() {
    let proposal = Proposal::of("menu", &day(), &Heuristics::default()).unwrap();
    insta::assert_snapshot!(proposal.text(), @r#"
    # A first policy for "menu", from 16730 traced calls within 23.0 hours.
    # Names, hours and what calls serve were all there was to judge by: correct it,
    # look at what would be shed, then write "enforce".
    enforcement = "dry-run"

    # supervisors ask it: never queued nor refused
    bypass = ["GET /internal/healthcheck"]

    # 480 calls: its name says core flow ("orders")
    [[rules]]
    endpoint = "POST /orders"
    criticality = 2

    # 720 calls: 100 % of its calls serve the core flow POST /checkout of web
    [[rules]]
    caller = "basket"
    criticality = 2

    # 960 calls: 100 % of its calls serve the core flow POST /checkout of web
    [[rules]]
    endpoint = "GET /prices"
    caller = "web"
    criticality = 2

    # 3360 calls: 64 % of its calls serve people, by GET /restaurants/* of web
    [[rules]]
    caller = "web"
    criticality = 3

    # 120 calls: its name says batch, test or report ("staging")
    [[rules]]
    caller = "menu-staging"
    criticality = 4

    # 7010 calls: 99 % of its calls come from 02:00 to 04:00 UTC
    [[rules]]
    caller = "warehouse"
    criticality = 4

    # At the default, level 3; look at these first:
    # endpoint "GET /menu", 2400 calls: no caller was seen: people's requests begin here, or a caller is not traced
    # caller "ads", 1200 calls: nothing tells how much it matters
    "#);
    assert!(Table::compile(&proposal.policy()).unwrap().review().is_empty());
}

#[test]
fn a_service_that_nobody_called_has_no_proposal() {
    assert!(Proposal::of("orders", &day(), &Heuristics::default()).is_none());
}

#[test]
fn the_lists_are_the_users() {
    let heuristics = Heuristics { background: vec!["ads".to_owned()], ..Heuristics::default() };
    let proposal = Proposal::of("menu", &day(), &heuristics).unwrap();
    let of = |caller: &str| {
        let all = proposal.rules.iter().chain(&proposal.unclear);
        all.clone().find(|it| it.caller.as_deref() == Some(caller)).unwrap()
    };
    assert_eq!(of("ads").level, Criticality::Internal);
    assert_eq!(of("menu-staging").because, Because::Unknown);
}

#[test]
fn hours_say_nothing_within_half_a_day() {
    let mut observed = Observed::default();
    for hour in 0..12 {
        let call = Call {
            service: "menu",
            endpoint: Some("GET /a"),
            caller: Some("warehouse"),
            root: None,
            at: Some(hour * HOUR),
            count: if hour == 3 { 1000 } else { 1 },
        };
        observed.add(&call);
    }
    let proposal = Proposal::of("menu", &observed, &Heuristics::default()).unwrap();
    assert_eq!(proposal.unclear[0].because, Because::Unknown);
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{1,2}",
        "(export|checkout|test|orders)-[a-b]",
        "\\PC{0,12}",
        "[*a \"\\\\\n]{0,5}"
    ]
}

fn path() -> impl Strategy<Value = String> {
    prop_oneof![
        "(GET )?(/[ab*]{1,2}){1,3}",
        "/a\\.[AB]/[CD]",
        "GET /(a/)?(healthz|ping)",
        "\\PC{0,12}"
    ]
}

proptest! {
    #[test]
    fn whatever_was_seen_the_policy_is_valid_and_no_call_is_forgotten(
        calls in prop::collection::vec(
            (prop::option::of(path()), prop::option::of(name()), prop::option::of((name(), path())),
             0u64..200, 1u64..50),
            0..60,
        )
    ) {
        let mut observed = Observed::default();
        for (endpoint, caller, root, hour, count) in &calls {
            let root = root.as_ref();
            observed.add(&Call {
                service: "s",
                endpoint: endpoint.as_deref(),
                caller: caller.as_deref(),
                root: root.map(|(service, endpoint)| Root { service, endpoint, is_request: true }),
                at: Some(hour * HOUR),
                count: *count,
            });
        }
        let Some(proposal) = Proposal::of("s", &observed, &Heuristics::default()) else {
            prop_assert!(calls.is_empty());
            return Ok(());
        };
        prop_assert!(Table::compile(&proposal.policy()).is_ok());
        prop_assert_eq!(proposal.calls, calls.iter().map(|it| it.4).sum::<u64>());
        let all: Vec<_> = proposal.rules.iter().chain(&proposal.unclear).collect();
        for caller in observed.callers("s") {
            let health = calls.iter().filter(|it| it.1.as_deref() == Some(caller)).all(|it| {
                it.0.as_deref().is_some_and(|it| it.ends_with("healthz") || it.ends_with("ping"))
            });
            let told = all.iter().any(|it| it.caller.as_deref() == Some(caller));
            prop_assert!(told || health, "{:?} is not told of", caller);
        }
        let lines = proposal.text().lines().filter(|it| !it.starts_with('#')).count();
        prop_assert!(lines > 3 * proposal.rules.len());
    }
}
