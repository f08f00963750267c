//! The compiled table against the plainest reading of the same policy.

use proptest::prelude::*;
use proptest::sample::select;

use super::glob::tests::naive;
use super::*;

fn compile(policy: &Policy) -> Table {
    Table::compile(policy).unwrap()
}

fn rule(endpoint: &str, caller: &str, criticality: u8) -> Rule {
    let named = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Rule {
        endpoint: named(endpoint),
        caller: named(caller),
        criticality: Criticality::from_level(criticality),
        enforcement: None,
    }
}

fn group(name: &str, endpoints: &[&str]) -> Group {
    Group {
        name: name.to_owned(),
        endpoints: endpoints.iter().map(|&it| it.to_owned()).collect(),
        each: false,
        enforcement: None,
        queue: QueueOverrides::default(),
    }
}

fn with_rules(rules: Vec<Rule>) -> Policy {
    Policy { rules, ..Policy::default() }
}

fn level(table: &Table, endpoint: &str, caller: Option<&str>) -> u8 {
    table.endpoint(endpoint).classify(caller).level.level()
}

#[test]
fn nothing_said_protects_everybody_at_level_3_and_lets_health_through() {
    let table = Table::default();
    let endpoint = table.endpoint("/orders.v1.Orders/Get");
    assert_eq!(endpoint.classify(None).level, Criticality::Feature);
    assert_eq!(endpoint.classify(None).enforcement, Enforcement::Enforce);
    assert_eq!((&**endpoint.queue_name(), endpoint.group()), ("/orders.v1.Orders/Get", None));
    assert!(!endpoint.is_bypassed());
    for health in ["/grpc.health.v1.Health/Check", "GET /healthz", "HEAD /readyz"] {
        assert!(table.endpoint(health).is_bypassed(), "{health}");
    }
}

#[test]
fn an_endpoint_with_a_caller_wins_then_a_caller_then_an_endpoint() {
    let mut rules = vec![rule("/a.B/C", "x", 1), rule("", "x", 2), rule("/a.B/*", "", 4)];
    let table = compile(&with_rules(rules.clone()));
    assert_eq!(level(&table, "/a.B/C", Some("x")), 1);
    assert_eq!(level(&table, "/a.B/D", Some("x")), 2);
    assert_eq!(level(&table, "/a.B/D", Some("y")), 4);
    assert_eq!(level(&table, "/other", None), 3);
    rules.reverse();
    let reversed = compile(&with_rules(rules));
    assert_eq!(level(&reversed, "/a.B/C", Some("x")), 1);
}

#[test]
fn those_without_a_name_can_be_named() {
    let nameless = Rule { caller: Some(String::new()), ..rule("", "", 4) };
    let table = compile(&with_rules(vec![nameless, rule("", "*", 2)]));
    assert_eq!(level(&table, "/x", None), 4);
    assert_eq!(level(&table, "/x", Some("anybody")), 2);
}

#[test]
fn a_level_and_an_enforcement_are_found_apart() {
    let dry = Rule { enforcement: Some(Enforcement::DryRun), ..rule("/a.B/*", "", 0) };
    let class =
        compile(&with_rules(vec![dry, rule("", "x", 1)])).endpoint("/a.B/C").classify(Some("x"));
    assert_eq!(
        (class.level, class.level_by),
        (Criticality::Infrastructure, Source::Rule(RuleIndex(1)))
    );
    assert_eq!(
        (class.enforcement, class.enforcement_by),
        (Enforcement::DryRun, Source::Rule(RuleIndex(0)))
    );
}

#[test]
fn a_rule_wins_over_its_group_and_the_kill_switch_over_all() {
    let enforce = Rule { enforcement: Some(Enforcement::Enforce), ..rule("/a.B/C", "", 0) };
    let orders = Group { enforcement: Some(Enforcement::DryRun), ..group("orders", &["/a.B/*"]) };
    let mut policy = Policy { groups: vec![orders], ..with_rules(vec![enforce]) };
    let enforcement = |policy: &Policy, endpoint: &str| {
        compile(policy).endpoint(endpoint).classify(None).enforcement
    };
    assert_eq!(enforcement(&policy, "/a.B/C"), Enforcement::Enforce);
    assert_eq!(enforcement(&policy, "/a.B/D"), Enforcement::DryRun);
    policy.enforcement = Enforcement::Off;
    assert_eq!(enforcement(&policy, "/a.B/C"), Enforcement::Off);
    assert_eq!(enforcement(&policy, "/a.B/D"), Enforcement::Off);
}

#[test]
fn a_group_shares_a_queue_unless_each_has_its_own() {
    let mut orders = group("orders", &["/a.B/*"]);
    orders.queue.max_queue = Some(7);
    let table = compile(&Policy { groups: vec![orders.clone()], ..Policy::default() });
    let endpoint = table.endpoint("/a.B/C");
    assert_eq!((&**endpoint.queue_name(), endpoint.queue_settings().max_queue), ("orders", 7));
    orders.each = true;
    let table = compile(&Policy { groups: vec![orders], ..Policy::default() });
    let endpoint = table.endpoint("/a.B/C");
    assert_eq!((&**endpoint.queue_name(), endpoint.queue_settings().max_queue), ("/a.B/C", 7));
    assert_eq!(endpoint.group(), Some(GroupIndex(0)));
}

#[test]
fn an_endpoint_is_in_the_group_that_describes_it_best() {
    let groups =
        vec![group("all", &["*"]), group("reads", &["GET /v1/*"]), group("one", &["/v1/x"])];
    let table = compile(&Policy { groups, ..Policy::default() });
    let name = |endpoint: &str| table.endpoint(endpoint).queue_name().to_string();
    assert_eq!([name("GET /v1/x"), name("GET /v1/y"), name("PUT /v1/y")], ["one", "reads", "all"]);
}

#[test]
fn what_a_file_says_of_every_queue_holds_in_groups_too() {
    let mut policy = Policy { groups: vec![group("g", &["/a"])], ..Policy::default() };
    policy.queue.max_queue = Some(5);
    policy.groups[0].queue.reserve = Some(0.1);
    let settings = compile(&policy).endpoint("/a").queue_settings();
    assert_eq!((settings.max_queue, settings.reserve), (5, 0.1));
}

fn refused(policy: &Policy) -> PolicyError {
    Table::compile(policy).unwrap_err()
}

#[test]
fn two_rules_that_tie_are_refused_wherever_they_stand() {
    let error = refused(&with_rules(vec![rule("", "x", 1), rule("", "y", 2), rule("", "x", 3)]));
    assert_eq!(error.place, Place::Rule(2));
    assert_eq!(error.problem, Problem::AmbiguousRules { other: 0 });
    assert!(error.to_string().starts_with("rule 3: rule 1 would decide"), "{error}");
    refused(&with_rules(vec![rule("/a*b", "", 1), rule("/ac*", "", 2)]));
    refused(&with_rules(vec![rule("* /a", "", 1), rule("/a", "", 2)]));
    refused(&with_rules(vec![rule("/a", "x", 1), rule("/b", "x", 2), rule("/a", "x", 3)]));
    compile(&with_rules(vec![rule("/a*b", "", 1), rule("/c*b", "", 2)]));
    compile(&with_rules(vec![rule("GET /a", "", 1), rule("PUT /a", "", 2)]));
}

#[test]
fn two_rules_that_decide_different_things_may_name_the_same() {
    let dry = Rule { enforcement: Some(Enforcement::DryRun), ..rule("", "x", 0) };
    let class =
        compile(&with_rules(vec![dry, rule("", "x", 1)])).endpoint("/a").classify(Some("x"));
    assert_eq!((class.level.level(), class.enforcement), (1, Enforcement::DryRun));
}

#[test]
fn what_makes_no_sense_is_refused_with_its_place() {
    let settings = |change: fn(&mut QueueOverrides)| {
        let mut policy = Policy { groups: vec![group("g", &["/a"])], ..Policy::default() };
        change(&mut policy.groups[0].queue);
        policy
    };
    let too_short = settings(|it| {
        it.target = Some(Auto::Fixed(std::time::Duration::from_millis(30)));
        it.interval = Some(Auto::Fixed(std::time::Duration::from_millis(100)));
    });
    assert!(refused(&too_short).to_string().contains("five times"), "{}", refused(&too_short));
    let groups = |groups: Vec<Group>| Policy { groups, ..Policy::default() };
    for (policy, place) in [
        (settings(|it| it.reserve = Some(0.6)), Place::Group(0)),
        (settings(|it| it.reserve = Some(f64::NAN)), Place::Group(0)),
        (settings(|it| it.max_queue = Some(0)), Place::Group(0)),
        (settings(|it| it.concurrency = Some(Auto::Fixed(0))), Place::Group(0)),
        (
            settings(|it| (it.min_concurrency, it.max_concurrency) = (Some(9), Some(8))),
            Place::Group(0),
        ),
        (groups(vec![group("a b", &["/a"])]), Place::Group(0)),
        (groups(vec![group("a", &["/a"]), group("a", &["/b"])]), Place::Group(1)),
        (groups(vec![group("a", &["/a"]), group("b", &["/a"])]), Place::Group(1)),
        (groups(vec![group("a", &[])]), Place::Group(0)),
        (groups(vec![group("a", &["a"])]), Place::Group(0)),
        (with_rules(vec![rule("", "", 1)]), Place::Rule(0)),
        (with_rules(vec![rule("", "x", 0)]), Place::Rule(0)),
        (with_rules(vec![rule("x", "", 1)]), Place::Rule(0)),
        (with_rules(vec![rule("", " x", 1)]), Place::Rule(0)),
        (with_rules(vec![rule("", "x", 1); 10_001]), Place::Service),
        (Policy { bypass: vec!["x".to_owned()], ..Policy::default() }, Place::Bypass(0)),
        (
            Policy {
                caller_from: vec![CallerSource::Header("X-Caller".to_owned())],
                ..Policy::default()
            },
            Place::CallerFrom(0),
        ),
        (Policy { concurrency: Auto::Fixed(0), ..Policy::default() }, Place::Service),
    ] {
        let error = refused(&policy);
        assert_eq!(error.place, place, "{error}");
    }
}

#[test]
fn a_raw_path_is_named_by_the_pattern_that_describes_it_best() {
    let mut policy = with_rules(vec![rule("*", "x", 1), rule("GET /v1/users/*", "", 2)]);
    policy.groups = vec![group("users", &["/v1/users*"])];
    let table = compile(&policy);
    assert_eq!(table.pattern_of("GET /v1/users/77"), Some("GET /v1/users/*"));
    assert_eq!(table.pattern_of("PUT /v1/users/77"), Some("/v1/users*"));
    assert_eq!(table.pattern_of("GET /grpc.health.v1.Health/x"), Some("/grpc.health.v1.Health/*"));
    assert_eq!(table.pattern_of("GET /v2"), None);
    assert_eq!(table.endpoint("GET /v1/users/*").classify(None).level.level(), 2);
}

#[test]
fn what_can_never_decide_is_found() {
    let dry = Rule { enforcement: Some(Enforcement::DryRun), ..rule("/a", "x", 2) };
    let rules = vec![
        rule("/a", "x*", 1),
        rule("", "x*", 2),
        rule("/b", "", 3),
        rule("/healthz", "", 4),
        rule("", "*", 4),
        dry,
    ];
    let mut policy = with_rules(rules);
    policy.groups = vec![group("idle", &["GET /readyz"]), group("busy", &["/b", "/livez"])];
    let found = compile(&policy).review();
    let by = |it: u32| Matter::Rule(RuleIndex(it));
    let expected = [
        Finding { at: Matter::Group(GroupIndex(0)), because_of: None },
        Finding { at: by(2), because_of: Some(by(4)) },
        Finding { at: by(3), because_of: None },
    ];
    assert_eq!(found, expected);
}

/// How narrow a text with stars is, by the book.
fn narrowness(text: &str) -> (bool, usize, i64) {
    let stars = text.bytes().filter(|&c| c == b'*').count();
    (stars == 0, text.len() - stars, -(stars as i64))
}

/// The rule that sets something for a request, read off the book: no index, no
/// preparation. `None` where two tie.
fn winner<T: Copy>(
    rules: &[Rule],
    (endpoint, caller): (&str, &str),
    sets: impl Fn(&Rule) -> Option<T>,
) -> Option<Option<(T, RuleIndex)>> {
    let fits = |it: &Option<String>, name: &str| {
        it.as_ref().is_none_or(|it| naive(it.as_bytes(), name.as_bytes()))
    };
    let rank = |rule: &Rule| {
        let kind = match (&rule.endpoint, &rule.caller) {
            (Some(_), Some(_)) => 2,
            (None, Some(_)) => 1,
            _ => 0,
        };
        (kind, rule.caller.as_deref().map(narrowness), rule.endpoint.as_deref().map(narrowness))
    };
    let mut best: Vec<(usize, T)> = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        let Some(value) = sets(rule) else { continue };
        if !fits(&rule.endpoint, endpoint) || !fits(&rule.caller, caller) {
            continue;
        }
        match best.first().map(|(it, _)| rank(rule).cmp(&rank(&rules[*it]))) {
            None | Some(std::cmp::Ordering::Greater) => best = vec![(at, value)],
            Some(std::cmp::Ordering::Equal) => best.push((at, value)),
            Some(std::cmp::Ordering::Less) => {}
        }
    }
    match best[..] {
        [] => Some(None),
        [(at, value)] => Some(Some((value, RuleIndex(at as u32)))),
        _ => None,
    }
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let endpoint = proptest::option::of("/[ab*]{0,3}");
    let caller = proptest::option::of("[xy*]{0,3}");
    let level = proptest::option::of(select(Criticality::ALL.to_vec()));
    let enforcement = proptest::option::of(select(vec![Enforcement::Enforce, Enforcement::DryRun]));
    // Stars in a row are one; the book need not know that.
    let single = |text: Option<String>| text.filter(|it| !it.contains("**"));
    (endpoint, caller, level, enforcement).prop_map(
        move |(endpoint, caller, criticality, enforcement)| Rule {
            endpoint: single(endpoint),
            caller: single(caller),
            criticality,
            enforcement,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_table_says_what_the_plainest_reading_says(
        rules in proptest::collection::vec(any_rule(), 0..8),
        endpoint in "/[ab]{0,4}",
        caller in "[xy]{0,4}",
    ) {
        let Ok(table) = Table::compile(&with_rules(rules.clone())) else { return Ok(()) };
        let level = winner(&rules, (&endpoint, &caller), |rule| rule.criticality);
        let enforcement = winner(&rules, (&endpoint, &caller), |rule| rule.enforcement);
        prop_assert!(level.is_some() && enforcement.is_some(), "a tie was compiled");
        let class = table.endpoint(&endpoint).classify(Some(&caller));
        let level = level.flatten().map(|(it, by)| (it, Source::Rule(by)));
        let enforcement = enforcement.flatten().map(|(it, by)| (it, Source::Rule(by)));
        let expected_level = level.unwrap_or((Criticality::Feature, Source::Default));
        let expected_enforcement =
            enforcement.unwrap_or((Enforcement::Enforce, Source::Default));
        prop_assert_eq!((class.level, class.level_by), expected_level);
        prop_assert_eq!((class.enforcement, class.enforcement_by), expected_enforcement);
    }

    #[test]
    fn the_order_of_a_file_decides_nothing(
        rules in proptest::collection::vec(any_rule(), 0..6).prop_shuffle(),
        endpoint in "/[ab]{0,3}",
        caller in "[xy]{0,3}",
    ) {
        let mut reversed = rules.clone();
        reversed.reverse();
        let tables = [Table::compile(&with_rules(rules)), Table::compile(&with_rules(reversed))];
        let [Ok(a), Ok(b)] = tables else { return Ok(()) };
        let [a, b] = [a, b].map(|it| it.endpoint(&endpoint).classify(Some(&caller)));
        prop_assert_eq!((a.level, a.enforcement), (b.level, b.enforcement));
    }

    #[test]
    fn what_the_review_finds_never_decides(
        rules in proptest::collection::vec(any_rule(), 0..6),
        endpoint in "/[ab]{0,3}",
        caller in "[xy]{0,3}",
    ) {
        let Ok(table) = Table::compile(&with_rules(rules)) else { return Ok(()) };
        let class = table.endpoint(&endpoint).classify(Some(&caller));
        for Finding { at, .. } in table.review() {
            let Matter::Rule(rule) = at else { continue };
            prop_assert_ne!(class.level_by, Source::Rule(rule));
            prop_assert_ne!(class.enforcement_by, Source::Rule(rule));
        }
    }
}
