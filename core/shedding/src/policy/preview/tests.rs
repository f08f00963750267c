use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::policy::{Group, Policy, Rule as PolicyRule};
use crate::traffic::Counts;

fn rule(endpoint: Option<&str>, caller: Option<&str>, level: u8) -> PolicyRule {
    PolicyRule {
        endpoint: endpoint.map(str::to_owned),
        caller: caller.map(str::to_owned),
        criticality: Criticality::from_level(level),
        enforcement: None,
    }
}

fn table(rules: Vec<PolicyRule>) -> Table {
    Table::compile(&Policy { rules, ..Policy::default() }).unwrap()
}

fn row(endpoint: &str, caller: &str, level: u8) -> Row {
    let level = Criticality::from_level(level).unwrap();
    Row { endpoint: endpoint.into(), caller: caller.into(), level }
}

fn counts(admitted: u64, shed: u64) -> Figures {
    Figures { counts: Counts { admitted, shed, ..Counts::default() }, ..Figures::default() }
}

fn slice(rows: impl IntoIterator<Item = (Row, Figures)>) -> Traffic {
    let rows = rows.into_iter().collect();
    Traffic { slices: [(7, Slice { rows, ..Slice::default() })].into() }
}

fn would_shed(preview: &Preview) -> [u64; 4] {
    preview.levels.map(|level| level.would_shed)
}

#[test]
fn who_is_made_more_critical_is_spared_at_the_cost_of_others() {
    let before = table(Vec::new());
    let after = table(vec![rule(None, Some("checkout"), 2), rule(None, Some("export"), 4)]);
    let traffic = slice([
        (row("/a", "checkout", 3), counts(400, 100)),
        (row("/a", "export", 3), counts(400, 100)),
        (row("/a", "ads", 3), counts(100, 50)),
    ]);
    let preview = Preview::new(&before, &after, &traffic);
    assert_eq!(would_shed(&preview), [0, 0, 0, 250]);
    let have = preview.levels.map(|level| level.would_have);
    assert_eq!(have, [0, 500, 150, 500]);
    assert_eq!(
        preview.levels[2],
        LevelShed { requests: 1150, shed: 250, would_have: 150, would_shed: 0 }
    );
    let changed: Vec<_> = preview.changes.iter().map(|it| (&*it.caller, it.rate)).collect();
    assert_eq!(changed, [("checkout", 50.0), ("export", 50.0)]);
}

#[test]
fn what_is_shed_from_one_queue_does_not_spare_another() {
    let before = table(Vec::new());
    let traffic =
        || slice([(row("/a", "ads", 3), counts(100, 30)), (row("/b", "batch", 4), counts(100, 0))]);
    let after = vec![rule(None, Some("batch"), 4)];
    let apart = Preview::new(&before, &table(after.clone()), &traffic());
    assert_eq!(would_shed(&apart), [0, 0, 30, 0]);
    let group = Group {
        name: "both".to_owned(),
        endpoints: vec!["/a".to_owned(), "/b".to_owned()],
        each: false,
        enforcement: None,
        queue: Default::default(),
    };
    let policy = Policy { rules: after, groups: vec![group], ..Policy::default() };
    let together = Preview::new(&before, &Table::compile(&policy).unwrap(), &traffic());
    assert_eq!(would_shed(&together), [0, 0, 0, 30]);
}

#[test]
fn a_dry_run_that_is_enforced_sheds_what_it_would_have() {
    let dry = Policy { enforcement: Enforcement::DryRun, ..Policy::default() };
    let dry = Table::compile(&dry).unwrap();
    let mut figures = counts(100, 0);
    figures.counts.would_shed = 20;
    let traffic = slice([(row("/a", "ads", 3), figures)]);
    assert_eq!(would_shed(&Preview::new(&dry, &table(Vec::new()), &traffic)), [0, 0, 20, 0]);
    assert_eq!(would_shed(&Preview::new(&dry, &dry, &traffic)), [0; 4]);
}

#[test]
fn who_asks_for_a_lower_level_goes_on_asking() {
    let (before, after) = (table(Vec::new()), table(vec![rule(None, Some("ads"), 2)]));
    let mut asked = counts(10, 0);
    asked.rule = Rule::Header;
    let traffic = slice([(row("/a", "ads", 4), asked), (row("/a", "ads", 3), counts(10, 0))]);
    let have = Preview::new(&before, &after, &traffic).levels.map(|level| level.would_have);
    assert_eq!(have, [0, 10, 0, 10]);
}

#[test]
fn what_is_bypassed_is_told_and_never_shed() {
    let bypass = Policy { bypass: vec!["/a".to_owned()], ..Policy::default() };
    let after = Table::compile(&bypass).unwrap();
    let traffic = slice([(row("/a", "ads", 4), counts(10, 90))]);
    let preview = Preview::new(&table(Vec::new()), &after, &traffic);
    assert_eq!(would_shed(&preview), [0; 4]);
    assert_eq!(preview.changes[0].to.enforcement_as_str(), "bypass");
}

// === any traffic and any levels ===

const NAMES: [&str; 4] = ["ads", "batch", "checkout", ""];
const ENDPOINTS: [&str; 3] = ["/a", "/b", "GET /c"];

/// Levels of the callers, and of the endpoints for all others.
fn any_table() -> impl Strategy<Value = Table> {
    (vec(1_u8..=4, NAMES.len()), vec(1_u8..=4, ENDPOINTS.len()), 0..=NAMES.len()).prop_map(
        |(callers, endpoints, named)| {
            let callers = NAMES.iter().zip(callers).take(named);
            let callers = callers.map(|(name, level)| rule(None, Some(name), level));
            let endpoints = ENDPOINTS.iter().zip(endpoints);
            let endpoints = endpoints.map(|(name, level)| rule(Some(name), None, level));
            table(callers.chain(endpoints).collect())
        },
    )
}

/// As `before` would have classed it.
fn any_traffic(before: &Table) -> impl Strategy<Value = Traffic> + use<> {
    let levels: Vec<Row> = ENDPOINTS
        .iter()
        .flat_map(|endpoint| NAMES.map(|caller| (*endpoint, caller)))
        .map(|(endpoint, caller)| {
            let level = before.endpoint(endpoint).classify(Some(caller)).level;
            row(endpoint, caller, level.level())
        })
        .collect();
    let figures = (0_u64..1000, 0_u64..500);
    vec(vec(figures, levels.len()), 1..5).prop_map(move |slices| {
        let slice = |figures: Vec<(u64, u64)>| {
            let rows = levels.iter().cloned().zip(figures);
            let rows = rows.map(|(row, (admitted, shed))| {
                // No shedder sheds levels 1 and 2 by policy.
                let shed = if row.level.is_critical() { 0 } else { shed };
                (row, counts(admitted, shed))
            });
            Slice { rows: rows.collect(), ..Slice::default() }
        };
        Traffic { slices: (0..).zip(slices.into_iter().map(slice)).collect() }
    })
}

fn any_case() -> impl Strategy<Value = (Table, Table, Traffic)> {
    (any_table().prop_map(Arc::new), any_table()).prop_flat_map(|(before, after)| {
        let traffic = any_traffic(&before);
        let after = Arc::new(after);
        traffic.prop_map(move |traffic| {
            let copy = |table: &Table| Table::compile(table.policy()).unwrap();
            (copy(&before), copy(&after), traffic)
        })
    })
}

proptest! {
    #[test]
    fn as_much_is_shed_as_was_and_never_what_is_critical((before, after, traffic) in any_case()) {
        let preview = Preview::new(&before, &after, &traffic);
        let [one, two, three, four] = would_shed(&preview);
        prop_assert_eq!((one, two), (0, 0));
        let shed: u64 = preview.levels.iter().map(|level| level.shed).sum();
        prop_assert!(three + four <= shed);
        for level in preview.levels {
            prop_assert!(level.would_shed <= level.would_have);
        }
        let requests: u64 = preview.levels.iter().map(|level| level.requests).sum();
        let have: u64 = preview.levels.iter().map(|level| level.would_have).sum();
        prop_assert_eq!(requests, have);
        // Less is shed only where nothing is left that may be.
        if three + four < shed {
            let critical = preview.levels[0].would_have + preview.levels[1].would_have;
            prop_assert!(critical > 0);
        }
    }

    #[test]
    fn the_same_policy_changes_nothing_but_the_order_within_a_slice(
        (before, _, traffic) in any_case(),
    ) {
        let preview = Preview::new(&before, &before, &traffic);
        prop_assert!(preview.changes.is_empty());
        let shed: u64 = preview.levels.iter().map(|level| level.shed).sum();
        prop_assert_eq!(would_shed(&preview).iter().sum::<u64>(), shed);
        for level in preview.levels {
            prop_assert_eq!(level.requests, level.would_have);
        }
        // Level 4 bears at least as much of it.
        prop_assert!(preview.levels[3].would_shed >= preview.levels[3].shed);
    }

    #[test]
    fn level_3_is_shed_only_where_no_level_4_is_left((before, after, traffic) in any_case()) {
        for (number, slice) in &traffic.slices {
            // Without groups every endpoint is alone in its queue.
            for endpoint in ENDPOINTS {
                let rows = slice.rows.clone().into_iter();
                let rows = rows.filter(|(row, _)| *row.endpoint == *endpoint).collect();
                let slices = [(*number, Slice { rows, ..Slice::default() })].into();
                let preview = Preview::new(&before, &after, &Traffic { slices });
                let [.., three, four] = preview.levels;
                prop_assert!(three.would_shed == 0 || four.would_shed == four.would_have);
            }
        }
    }
}
